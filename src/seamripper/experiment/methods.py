"""How the figures of a study's jobs were made, for their methods cards."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from seamripper._words import did_you_mean, word_list
from seamripper.cards import MEASURED_ON, Methods, method_record, version_words
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


def study_record(folder: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """What decides the results of a study, for numbers that are read from them; and on what its jobs were run.

    The fingerprint is the sha256 of the keys of its jobs, each of which is the sha256 of all that decides the job.
    """
    with Store(folder) as store:
        keys = sorted({key for key, _ in store.goals(name)})
        runs = {run["id"]: run for run in store.runs.all()}
        made = [
            runs[attempt["run"]] for attempt in store.attempts() if attempt["run"] in runs and attempt["key"] in keys
        ]
    machines = dict.fromkeys(f"{run['machine']}, {run['cores']} cores" for run in made)
    versions = made[-1]["packages"] if made else {}
    return {
        "name": name,
        "jobs": len(keys),
        "fingerprint": hashlib.sha256("\n".join(keys).encode()).hexdigest(),
        MEASURED_ON: word_list(machines) or "a machine that the store does not name",
        "versions": {word: versions[word] for word in _VERSIONS if word in versions},
    }


def study_words(record: Mapping[str, Any]) -> str:
    """A study as a sentence names it.

    >>> study_words({"name": "league", "jobs": 1, "fingerprint": "0123456789abcdef"})
    "the study 'league' (1 job; fingerprint 0123456789ab…)"
    """
    jobs = f"{record['jobs']:,} job{'' if record['jobs'] == 1 else 's'}"
    return f"the study {record['name']!r} ({jobs}; fingerprint {record['fingerprint'][:12]}…)"


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
