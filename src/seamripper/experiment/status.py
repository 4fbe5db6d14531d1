"""status: how the experiments of a store stand."""

from __future__ import annotations

from collections import Counter
from typing import Any

from seamripper.experiment.job import Job
from seamripper.experiment.store import Store


def status(store: Store) -> dict[str, Any]:
    """Each experiment's jobs by how they stand, what failed and why, the runs, and damaged lines of the journals."""
    states, claims, living = store.states(), store.runs.claims(), set(store.runs.living())
    experiments, failures = [], []
    for name in store.experiments():
        goals = dict(store.goals(name))
        ended = Counter(states.get(key, "left") for key in goals)
        running = sum(key in claims and key not in states for key in goals)
        experiments.append(
            {
                "name": name,
                "goals": len(goals),
                "done": ended["done"],
                "failed": ended["failed"],
                "running": running,
                "left": ended["left"] - running,
            }
        )
        failures += [_failure(store, key, goals[key]) for key in goals if states.get(key) == "failed"]
    did = Counter(attempt["run"] for attempt in store.attempts())
    runs = [{**run, "alive": run["id"] in living, "did": did[run["id"]]} for run in store.runs.all()]
    return {"experiments": experiments, "failures": failures, "runs": runs, "damage": store.damage}


def _failure(store: Store, key: str, labels: dict[str, Any]) -> dict[str, Any]:
    result = store.result(key)
    assert result is not None
    return {"key": key, "job": str(Job(result.kind, {}, labels)), **result.record}
