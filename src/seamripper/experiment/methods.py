"""How the figures of a study's jobs were made, for their methods cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper._words import did_you_mean
from seamripper.cards import Methods, method_record, version_words
from seamripper.errors import StoreError
from seamripper.experiment.results import rows_of
from seamripper.experiment.store import Store

_NOT_LABELS = ("value", "low", "high", "n", "unit", "status", "p", "threshold", "calibrated", "sampling")
"""Columns of a job's rows that do not name a figure."""
_VERSIONS = ("seamripper", "torch")


def job_methods(store: Store, key: str, experiment: str | None = None) -> Methods:
    """How all figures of a job were made; `key` is its key, or how that begins.

    The studies of the store are looked through in their order, unless `experiment` names one.
    """
    for name, description in store.experiments().items():
        goals = dict(reversed(store.goals(name)))
        whole = [known for known in goals if known.startswith(key)] if experiment in (None, name) and key else []
        if not whole:
            continue
        if len(whole) > 1:
            raise StoreError(f"{len(whole)} jobs have a key that begins with {key!r}: give more of it.")
        if description.get("single"):
            raise StoreError(f"{name!r} was made without a study: its cards are in the methods.json that came with it.")
        return _methods(store, name, description, whole[0], goals[whole[0]])
    known = [key for name in store.experiments() for key, _ in store.goals(name)]
    raise StoreError(
        f"{store.folder} has no job {key!r}: {did_you_mean(key, [k[:16] for k in known])} Keys are in the column `key` "
        f"of `seamripper results {store.folder} --json`."
    )


def _methods(store: Store, name: str, description: Mapping[str, Any], key: str, labels: Mapping[str, Any]) -> Methods:
    result = store.result(key)
    if result is None or result.state != "done":
        raise StoreError(f"The job {key[:16]} of {name!r} has no figures: it is not done, or has failed.")
    rows = rows_of(result.kind, result.record, key)
    content = store.contents(name)[key]
    axes = tuple(dict.fromkeys(column for row in rows for column in row if column not in _NOT_LABELS))
    run = next((run for run in store.runs.all() if run["id"] == result.run), {})
    method = method_record(
        "seamripper.run",
        study=dict(description),
        job={"kind": result.kind, "fingerprint": key},
        cut={word: content[word] for word in content if "cut" in word} or None,
        n=content.get("n_test", content.get("n")),
        sampling=content.get("rule", {}).get("sampling"),
        pooling=None,
        mask="tokens that are padding are left out",
        estimator=dict(content),
        null=content.get("null"),
        versions={word: run["packages"][word] for word in _VERSIONS} if run else {},
    )
    words = ", ".join(f"{word} {value}" for word, value in labels.items() if value is not None)
    text = (
        f"It is a figure of the job {result.kind!r} ({words}) of the study {name!r}, whose key is {key[:16]}…, the "
        "sha256 of all that decides it: networks, samples, cuts, choices and seeds. The study as a whole is in the "
        f"JSON; networks that it trains are trained again. {version_words(method['versions'])}"
    )
    filled = tuple({**dict.fromkeys(axes, ""), **row} for row in rows)
    return Methods("job", axes, method, text, {}, filled)
