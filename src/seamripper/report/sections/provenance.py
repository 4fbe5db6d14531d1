"""Provenance: versions, seeds, commands, data and time."""

from __future__ import annotations

import shlex
import time
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.report.figures import Figure, Sheet
from seamripper.report.sections.base import Section


def provenance(run: Reading) -> Section | None:
    """Who made this, with what, when and how."""
    runs = [one for one in run.standing["runs"] if one["experiment"] == run.name]
    figures: list[Figure] = [
        Sheet(
            "Runs", ("started", "took", "host", "engine", "jobs", "git", "command"), tuple(_run(one) for one in runs)
        ),
        Sheet("Versions", ("package", "version"), tuple(sorted(_versions(runs).items()))),
        Sheet("Data", ("fingerprint", "as"), tuple(_data(run))),
        Sheet("Seeds", ("of", "seeds"), tuple(_seeds(run))),
    ]
    text = f"The store {run.folder.name}: {len(run.results)} of {run.asked} results that were asked for are there."
    return Section("provenance", "Provenance", text, tuple(figures))


def _run(one: dict[str, Any]) -> tuple[Any, ...]:
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one["started"]))
    took = (
        "under way"
        if one["alive"]
        else "was killed"
        if one["ended"] is None
        else f"{one['ended'] - one['started']:.0f} s"
    )
    git = (one.get("git") or "–")[:13]
    return started, took, one["host"], one["engine"], one["did"], git, shlex.join(one["command"])


def _versions(runs: list[dict[str, Any]]) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for one in runs:
        for name, version in {"python": one["python"], **one["packages"]}.items():
            found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(versions)) for name, versions in found.items()}


def _data(run: Reading) -> list[tuple[str, str]]:
    """The fingerprints of the samples, by what they served as."""
    found: dict[str, set[str]] = {}
    for content in run.contents.values():
        for role in ("fit", "test", "own", "conflict", "data"):
            if content.get(role):
                found.setdefault(content[role], set()).add(role)
    return [(print_, ", ".join(sorted(roles))) for print_, roles in found.items()]


def _seeds(run: Reading) -> list[tuple[str, str]]:
    found: dict[str, set[int]] = {}
    for one in run.results:
        for name, what in (("sender_seed", "senders"), ("receiver_seed", "receivers"), ("seed", one.kind)):
            if isinstance(one.labels.get(name), int):
                found.setdefault(what, set()).add(one.labels[name])
    return [(what, ", ".join(map(str, sorted(seeds)))) for what, seeds in found.items()]
