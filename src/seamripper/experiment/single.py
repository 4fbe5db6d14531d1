"""Single: an audit or a comparison that was made without a study, kept in a store as a study's results are.

So `seamripper report`, `results`, `status` and `serve` know it, too.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamripper.errors import StoreError
from seamripper.experiment._processes import born
from seamripper.experiment.job import Graph, Job, digest
from seamripper.experiment.journal import Entry
from seamripper.experiment.kinds.base import Found, plain
from seamripper.experiment.provenance import provenance
from seamripper.experiment.store import DAMAGED, JOURNALS, TENSORS, Store
from seamripper.experiment.tensors import Tensors

if TYPE_CHECKING:
    from seamripper.audits import Audit, Audited
    from seamripper.audits.interventions import Intervention
    from seamripper.comparing import Comparison
    from seamripper.cut import Split
    from seamripper.data import Samples


@dataclass(frozen=True, eq=False)
class Single:
    """A result that is there, and the job that would have made it. Its content names the result itself."""

    job: Job
    found: Found


def audit_result(
    folder: str | os.PathLike[str],
    audited: Audited,
    receiver: Split,
    test: Samples,
    conflict: Samples | None,
    *,
    audits: Sequence[Audit],
    interventions: Sequence[Intervention | str] | None = None,
    names: tuple[str, str] | None = None,
    known: str | None = None,
) -> Single:
    """An audit as the job `audit` keeps it, with its examples in the store at `folder`.

    `names` are those of sender and receiver, if not where they came from; `known` is what is known of the sender.
    """
    from seamripper.experiment.kinds.audit import result_of

    record, tensors = audited.record, Tensors(Path(folder) / TENSORS, Path(folder) / DAMAGED)
    prints = {role: one["fingerprint"] for role, one in record["data"].items()}
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
    found = result_of(
        audited,
        receiver,
        test,
        conflict,
        audits=audits,
        interventions=interventions,
        key=job.key,
        keep=tensors.put,
    )
    return Single(job, found)


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
    return Single(Job("compare", content, labels), Found(record))


def keep(
    folder: str | os.PathLike[str], name: str, results: Sequence[Single], *, started: float, about: str = ""
) -> None:
    """Enter results into the store at `folder`, which is made if there is none, as all that the experiment asks for.

    What `keep` has put there under this name before is replaced; studies and other files of the folder stay.
    """
    folder = Path(folder)
    try:
        # It makes this a store, whatever else is in the folder already.
        (folder / JOURNALS).mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StoreError(f"The store {folder} cannot be made: {e.strerror or e}.") from e
    run = f"{name}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{secrets.token_hex(3)}"
    with Store(folder, write=True) as store:
        there = store.ledger.experiments().get(name)
        if there is not None and not there.get("single"):
            raise StoreError(f"The store {folder} has a study called {name!r}, which stays: choose another folder.")
        description = {"name": name, "about": about, "single": True}
        store.ledger.remember(name, description, Graph.of([one.job for one in results]))
        with store.journal(run) as journal:
            for one in results:
                done = (one.job.key, one.job.kind, "done", one.found.record, one.found.tensors)
                store.enter(journal, Entry(*done, started=started, run=run))  # type: ignore[arg-type]
        store.ledger.note(
            run,
            time.time(),
            experiment=name,
            host=socket.gethostname(),
            pid=os.getpid(),
            born=born(os.getpid()),
            started=started,
            provenance={**provenance(), "engine": "this process"},
        )


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
