"""Single: an audit or a comparison that was made without a study, kept in a store as the results of a study are.

So `seamripper report`, `results`, `status` and `serve` know it, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamripper._files import plain
from seamripper.errors import StoreError
from seamripper.experiment.job import Graph, Job, digest
from seamripper.experiment.parts.base import Output
from seamripper.experiment.result import Result
from seamripper.experiment.runs import new_run, provenance
from seamripper.experiment.store import Store, make_store
from seamripper.experiment.tensors import Tensors

if TYPE_CHECKING:
    from seamripper.audits import Audited
    from seamripper.comparing import Comparison
    from seamripper.cut import Split
    from seamripper.data import Samples


@dataclass(frozen=True, eq=False)
class Single:
    """The output of a job that no study has asked for. The content of the job names the output itself."""

    job: Job
    output: Output


def audit_result(
    folder: str | os.PathLike[str],
    audited: Audited,
    receiver: Split,
    decided: tuple[str, Samples] | None,
    *,
    mixed: tuple[Samples, Samples, Samples] | None = None,
    names: tuple[str, str] | None = None,
    known: str | None = None,
) -> Single:
    """An audit as the job `audit` keeps it, with examples of the set that decided it in the store at `folder`.

    `mixed` are the pairs and mixtures that told most. `names` are those of sender and receiver, if not where they came
    from; `known` is what is known of the sender.
    """
    from seamripper.experiment.parts.audit import audit_output

    record, tensors = audited.record, Tensors(Path(folder))
    prints = {role: data["fingerprint"] for role, data in record["data"].items()}
    content = {
        **{role: {"loaded": record[role]["fingerprint"]} for role in ("sender", "receiver")},
        **{f"{role}_cut": record[role]["cut"]["name"] for role in ("sender", "receiver")},
        **{role: prints.get(role) for role in ("fit", "test", "conflict")},
        "seeds": list(record["seeds"]),
        "result": digest(plain(audited.as_record())),
    }
    labels = {
        **_pair(names or _names(record)),
        **{f"{role}_cut": content[f"{role}_cut"] for role in ("sender", "receiver")},
        "matching": record["matching"]["name"],
        "stitch": record["stitch"] if isinstance(record["stitch"], str) else record["stitch"]["name"],
        "freeze": record["freeze"],
        "data": record["data"]["test"]["name"],
        **({} if known is None else {"known": known}),
    }
    job = Job("audit", content, labels)
    return Single(job, audit_output(audited, receiver, decided, job.key, tensors.put, mixed=mixed))


def comparison_result(comparison: Comparison) -> Single:
    """A comparison as the job `compare` keeps it."""
    record = plain(comparison.as_record())
    # Of the surroundings, and no part of the result.
    record["record"].pop("seconds", None)
    made = record["record"]
    content = {
        **{role: {"loaded": made[role]["fingerprint"]} for role in ("sender", "receiver")},
        "sender_cuts": record["senders"],
        "receiver_cuts": record["receivers"],
        "data": made["data"]["fingerprint"],
        "rule": made["rule"],
        "result": digest(record),
    }
    labels = {**_pair(_names(made)), "seed": made["rule"]["seed"], "data": made["data"]["name"]}
    return Single(Job("compare", content, labels), Output(record))


def keep(
    folder: str | os.PathLike[str], name: str, results: Sequence[Single], *, started: float, about: str = ""
) -> None:
    """Enter results into the store at `folder`, which is made if there is none, as all that the experiment asks for.

    What `keep` has put there under this name before is replaced; studies and other files of the folder stay.
    """
    make_store(Path(folder))
    with Store(folder, write=True, name=new_run(name)) as store:
        earlier = store.experiments().get(name)
        if earlier is not None and not earlier.get("single"):
            raise StoreError(
                f"The store {folder} already has a study called {name!r}, which is not replaced: choose another folder."
            )
        description = {"name": name, "about": about, "single": True}
        store.runs.begin(name, {**provenance(), "engine": "this process"}, started=started)
        try:
            for single in results:
                job, output = single.job, single.output
                store.enter(
                    Result(job.key, job.kind, "done", output.record, output.tensors, started=started, run=store.name)
                )
            store.remember(name, description, Graph.of([single.job for single in results]))
        finally:
            store.runs.end()


def _pair(names: tuple[str, str]) -> dict[str, Any]:
    sender, receiver = names
    return {"sender": sender, "sender_seed": None, "receiver": receiver, "receiver_seed": None}


def _names(record: Mapping[str, Any]) -> tuple[str, str]:
    """What sender and receiver are called: files by their names alone, unless both have the same.

    >>> _names({"sender": {"source": "a/colour.safetensors"}, "receiver": {"source": "zoo:lenet"}})
    ('colour', 'zoo:lenet')
    """
    sources = tuple(str(record[role]["source"]) for role in ("sender", "receiver"))
    sender, receiver = (Path(text).stem if text.endswith(".safetensors") else text for text in sources)
    if sender == receiver and sources[0] != sources[1]:
        return sources[0], sources[1]
    return sender, receiver
