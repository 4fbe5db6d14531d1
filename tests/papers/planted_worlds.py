"""Results of a paper's items as they might have come out: tables of planted figures, and nothing that was run.

The rows are those of the results table: an item's experiment is expanded into its jobs, and each kind of job makes the
rows of its record. The record alone is planted, by a world: what every figure of a job is.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from seamripper.experiment import Experiment, parts
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Job
from seamripper.experiment.plan import expand
from seamripper.papers import Item, Paper

Row = dict[str, Any]
Labels = Mapping[str, Any]
World = Callable[[str, Labels], Mapping[str, float]]
"""From a kind of job and its labels to its figures."""

_SHAPES = {"cifar10": [3, 32, 32], "speech": [3, 64, 64], "mnist": [3, 28, 28], "fashion": [3, 28, 28]}
_CLASSES = {"speech": 8, "imagenet": 1000}
_STEP = 5e-4
"""By how much figures differ from seed to seed; ranks by whole numbers."""


class Named(Identities):
    """Identities that look at no data and load no weights: fingerprints are names, cuts of the zoo are looked up."""

    def data(self, name: str, split: str, n: int | None, seed: int) -> dict[str, Any]:
        family = name.partition("?")[0].partition("/")[0]
        classes = int(name.partition("classes=")[2] or _CLASSES.get(family, 10))
        shape = [3, 32, 32] if "size=32" in name else _SHAPES.get(family, [3, 28, 28])
        size = n or (60_000 if split == "train" else 10_000)
        return {"fingerprint": f"{name} {split} {n} {seed}", "shape": shape, "classes": classes, "n": size}

    def loaded_model(self, spec: str) -> dict[str, Any]:
        return {"fingerprint": spec}

    def made_for(self, spec: str) -> dict[str, Any]:
        return {"input": [3, 224, 224]}

    def classes(self, model: dict[str, Any], spec: str, shape: list[int]) -> int:
        return _CLASSES.get(spec.partition(":")[0], 10)

    def require_cuts(self, model: dict[str, Any], spec: str, cuts: Iterable[str], shape: list[int]) -> None:
        # A VGG19 of full width takes seconds to make, and has the cuts of a narrow one.
        if not spec.startswith("imagenet:") and not ("vgg19" in spec and "width=0" not in spec):
            super().require_cuts(model, spec, cuts, shape)


JOBS: dict[str, list[tuple[Job, dict[str, Any]]]] = {}
MEMO: dict[str, Any] = {}
"""Cuts that were found to be there, for all items."""


def jobs_of(experiment: Experiment, identities: Identities | None = None) -> list[tuple[Job, dict[str, Any]]]:
    """The jobs that an experiment asks for, each with its labels; those of a study that was seen before are known."""
    key = "" if identities else experiment.model_dump_json()
    if key not in JOBS or not key:
        graph = expand(experiment, identities or Named(MEMO))
        JOBS[key] = [(graph.jobs[name], dict(labels)) for name, labels in graph.goals]
    return JOBS[key]


def rows_of(paper: Paper, item: Item, profile: str, world: World) -> list[Row]:
    """The results table of an item in a world."""
    rows: list[Row] = []
    for job, labels in jobs_of(paper.experiment(item, profile)):
        first = {"experiment": item.name, "kind": job.kind, "state": "done"}
        figures = parts[job.kind].rows(_record(job, labels, world))
        rows += [{**first, **labels, **row, "key": job.key[:16]} for row in figures]
    return rows


def _record(job: Job, labels: Labels, world: World) -> dict[str, Any]:
    """The record of a job, of the kind's own form."""
    values = world(job.kind, labels)

    def figure(name: str) -> dict[str, Any] | None:
        return None if name not in values else _estimate(_jittered(values[name], name, labels))

    def rank(name: str) -> dict[str, Any]:
        return {"rank": round(_jittered(values[name], name, labels)), "effective": 9.5, "n": 2000}

    functional = {name: figure(name) for name in _FUNCTIONAL}
    ranks = {name: rank(name) for name in ("rank", "rank_native")} if job.content.get("rank") else {}
    course = {"figures": {"falling": values.get("falling", 0.0), "loss_end": 0.5}}
    if job.kind == "train":
        return {"accuracy": figure("accuracy"), "losses": [0.1], "n": 1000}
    if job.kind == "stitch":
        alone = {"here": figure("receiver_unadapted"), "own": figure("own_unadapted")}
        adapted = {"unadapted": alone} if job.content["freeze"] == "weights" else {}
        return {"result": functional, "status": "converged", **course, **ranks, **adapted}
    if job.kind == "noise":
        ranks.pop("rank_native", None)
        return {"status": "converged", "top1": figure("top1"), "top5": figure("top5"), **course, **ranks}
    if job.kind == "control":
        return {"outcomes": [{"label": job.content["control"], "result": functional}], "skipped": None}
    if job.kind == "audit":
        verdict = {"answer": "same information", "observed": figure("observed"), "effect": figure("effect")}
        judged = {"figures": {"recovered": figure("recovered")}, "conclusion": "interchangeable"}
        return {"verdicts": dict.fromkeys(job.content["audits"], verdict), "judgement": judged}
    assert job.kind == "pictures"
    return {"error": None, "status": "converged", "judged": {name: figure(name) for name in _JUDGED if name in values}}


_FUNCTIONAL = ("top1", "top5", "penalty", "relative_accuracy", "agreement", "receiver_here", "receiver_own")
_JUDGED = (
    *("judged_as_paired", "judge_confidence", "judge_confidence_own"),
    *("nearest", "nearest_own", "nearest_input", "contrast", "contrast_own"),
    *("variety", "reconstructs"),
)


def _estimate(value: float) -> dict[str, Any]:
    return {"value": value, "interval": [value - 0.002, value + 0.002], "n": 2000}


def _jittered(value: float, name: str, labels: Labels) -> float:
    """The figure of one seed: another for each, and another pattern for each figure, so that intervals have a width."""
    seeds = [labels.get(key) for key in ("receiver_seed", "sender_seed", "seed")]
    unit = next((seed for seed in seeds if seed is not None), 0)
    step = 1.0 if name.startswith("rank") else _STEP
    return value + step * ((3 * unit + zlib.crc32(name.encode())) % 5 - 2) / 2
