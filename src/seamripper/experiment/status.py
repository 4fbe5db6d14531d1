"""status: how the experiments of a store stand."""

from __future__ import annotations

from collections import Counter
from typing import Any

from seamripper.experiment.job import Job
from seamripper.experiment.journal import entries
from seamripper.experiment.store import Store


def status(store: Store) -> dict[str, Any]:
    """Each experiment's jobs by how they stand, what failed and why, the runs, and journals not taken in yet."""
    ledger = store.ledger
    states, claims, living = ledger.states(), ledger.claims(), set(ledger.living())
    experiments, failures = [], []
    for name in ledger.experiments():
        goals = dict(ledger.goals(name))
        ended = Counter(states.get(key, "left") for key in goals)
        running = sum(claims.get(key) in living for key in goals)
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
    did = Counter(run for _, run, *_ in ledger.attempts())
    runs = [{**run, "alive": run["id"] in living, "did": did[run["id"]]} for run in ledger.runs()]
    read = ledger.read()
    # Whole lines: what a writer that was killed has left of its last is nothing to wait for.
    behind = [name for name, path in store.journals().items() if any(True for _ in entries(path, read.get(name, 0)))]
    waiting = [f"the journal {name} has results that wait to be collected" for name in behind if name not in living]
    return {"experiments": experiments, "failures": failures, "runs": runs, "waiting": waiting}


def _failure(store: Store, key: str, labels: dict[str, Any]) -> dict[str, Any]:
    entry = store.ledger.result(key)
    assert entry is not None
    return {"key": key, "job": str(Job(entry.kind, {}, labels)), **entry.record}
