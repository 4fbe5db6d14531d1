"""Provenance: versions, seeds, commands, data and time."""

from __future__ import annotations

import shlex
import time
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.figures import Figure, Sheet
from seamripper.report.sections.base import Section


def provenance(run: Reading) -> Section | None:
    """Who made this, with what, when and how."""
    runs = [made for made in run.standing["runs"] if made["experiment"] == run.name]
    figures: list[Figure] = [
        Sheet(
            "Runs", ("started", "took", "host", "engine", "jobs", "git", "command"), tuple(_run(made) for made in runs)
        ),
        Sheet("Versions", ("package", "version"), tuple(sorted(_versions(runs).items()))),
        Sheet("Data", ("fingerprint", "as"), tuple(_data(run))),
        Sheet("Seeds", ("of", "seeds"), tuple(_seeds(run))),
    ]
    text = f"The store {run.folder.name}: {len(run.results)} of {run.asked} results that were asked for are there."
    return Section("provenance", "Provenance", text, tuple(figures))


def _run(made: dict[str, Any]) -> tuple[Any, ...]:
    started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(made["started"]))
    took = (
        "under way"
        if made["alive"]
        else "was killed"
        if made["ended"] is None
        else f"{made['ended'] - made['started']:.0f} s"
    )
    git = (made.get("git") or "–")[:13]
    return started, took, made["host"], made["engine"], made["did"], git, shlex.join(made["command"])


def _versions(runs: list[dict[str, Any]]) -> dict[str, str]:
    versions_of: dict[str, set[str]] = {}
    for made in runs:
        for name, version in {"python": made["python"], **made["packages"]}.items():
            versions_of.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(versions)) for name, versions in versions_of.items()}


def _data(run: Reading) -> list[tuple[str, str]]:
    """The fingerprints of the samples, by what they served as."""
    roles_of: dict[str, set[str]] = {}
    for content in run.contents.values():
        for role in ("fit", "test", "own", "conflict", "data"):
            if content.get(role):
                roles_of.setdefault(content[role], set()).add(role)
    return [(print_, ", ".join(sorted(roles))) for print_, roles in roles_of.items()]


def _seeds(run: Reading) -> list[tuple[str, str]]:
    seeds_of: dict[str, set[int]] = {}
    for result in run.results:
        for name, what in (("sender_seed", "senders"), ("receiver_seed", "receivers"), ("seed", result.kind)):
            if isinstance(result.labels.get(name), int):
                seeds_of.setdefault(what, set()).add(result.labels[name])
    return [(what, ", ".join(map(str, sorted(seeds)))) for what, seeds in seeds_of.items()]
