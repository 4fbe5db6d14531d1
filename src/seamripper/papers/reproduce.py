"""reproduce: run the items of a paper, read what came of them, and write it down beside the paper's own numbers."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamripper._files import atomic
from seamripper.errors import DataError, ExperimentError, FileError, MissingExtraError, ModelError
from seamripper.experiment import Engine, Standing, Store, Summary, run, table
from seamripper.experiment.provenance import provenance
from seamripper.experiment.reading import Reading
from seamripper.experiment.store import is_store
from seamripper.papers.base import Finding, Item, Paper, Profile
from seamripper.papers.cells import Cells
from seamripper.report.sections.pictures import pictures

RECORD = "reproduction.json"


@dataclass(frozen=True, eq=False)
class Outcome:
    """An item, what came of it, and how long its runs took; without a finding, why there is none."""

    item: Item
    finding: Finding | None
    seconds: float
    jobs: int
    trouble: str = ""

    def as_record(self) -> dict[str, Any]:
        """The outcome as JSON has it."""
        claims = [] if self.finding is None else [claim.as_record() for claim in self.finding.claims]
        return {
            "item": self.item.name,
            "covers": list(self.item.covers),
            "seconds": round(self.seconds, 1),
            "jobs": self.jobs,
            "claims": claims,
            "trouble": self.trouble or None,
        }


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What came of a paper, or of some of its items."""

    paper: Paper
    profile: Profile
    folder: Path
    outcomes: tuple[Outcome, ...]
    made: Mapping[str, Any] = field(repr=False, default_factory=dict)
    """By which versions, on which machine, from which commit."""

    @property
    def counts(self) -> Counter[str]:
        """How many of the paper's claims ended how."""
        claims = [one for outcome in self.outcomes if outcome.finding for one in outcome.finding.claims]
        return Counter(claim.status for claim in claims if not claim.beyond)

    @property
    def seconds(self) -> float:
        """What all the runs took."""
        return sum(outcome.seconds for outcome in self.outcomes)

    def as_record(self) -> dict[str, Any]:
        """The reproduction as JSON has it."""
        return {
            "paper": self.paper.name,
            "profile": self.profile,
            "store": str(self.folder),
            "claims": dict(self.counts),
            "seconds": round(self.seconds, 1),
            "items": [outcome.as_record() for outcome in self.outcomes],
            "made": dict(self.made),
        }


def folder_of(paper: Paper, profile: Profile) -> Path:
    """Where the results of a paper are kept unless something else is said: runs/PAPER-PROFILE."""
    return Path("runs") / f"{paper.name}-{profile}"


def reproduce(
    paper: Paper,
    items: Sequence[Item],
    *,
    profile: Profile = "quick",
    store: str | os.PathLike[str] | None = None,
    engine: Engine | None = None,
    retry_failed: bool = False,
    announce: Callable[[str], None] = lambda _: None,
    watch: Callable[[Item], Callable[[Standing], None]] = lambda _: lambda _: None,
    told: Callable[[Outcome], None] = lambda _: None,
) -> Reproduction:
    """Run the items one after the other in one store, and read them. It may be stopped and started again.

    `told` hears of each item as it ends. Jobs that items share are done once. An item whose data or weights are not to
    be had here is told as such, and does not stop the others.
    """
    folder = folder_of(paper, profile) if store is None else Path(store)
    before = _seconds_before(folder)
    outcomes = []
    for item in items:
        taken, started = before.get(item.name, 0.0), time.monotonic()
        try:
            summary = run(
                item.experiment(profile),
                folder,
                engine=engine,
                retry_failed=retry_failed,
                announce=announce,
                watch=watch(item),
            )
        except KeyboardInterrupt:
            if is_store(folder):
                _remember(folder, item.name, taken + time.monotonic() - started)
            raise
        except (DataError, ModelError, MissingExtraError) as e:
            outcome = Outcome(item, None, taken, 0, str(e))
        else:
            taken += time.monotonic() - started if summary.did else 0.0
            outcome = _read(item, profile, folder, summary, taken)
            _remember(folder, item.name, taken)
        outcomes.append(outcome)
        told(outcome)
    return Reproduction(paper, profile, folder, tuple(outcomes), _made(folder))


def _made(folder: Path) -> dict[str, Any]:
    """What it was made with: of now, and the revisions of this package at which the runs were made."""
    revisions: list[str] = []
    if is_store(folder):
        with Store(folder) as store:
            revisions = [str(one["code"]) for one in store.runs.all() if one.get("code")]
    return {**provenance(), "revisions": list(dict.fromkeys(revisions))}


def _read(item: Item, profile: Profile, folder: Path, summary: Summary, seconds: float) -> Outcome:
    name = summary.experiment
    with Store(folder) as store:
        _, rows = table(store, name)
        jobs = len(store.goals(name))
        # In the table are results that were asked for; a job that only helps may have failed, too.
        results = [result for key in summary.failed if (result := store.result(key)) is not None]
    errors = [str(row["error"]) for row in rows if row["state"] == "failed"]
    errors += [f"{result.record['error']}: {result.record['message']}" for result in results]
    failed = list(dict.fromkeys(errors))
    section = pictures(Reading.open(folder, experiment=name))
    shown = () if section is None else section.figures
    try:
        finding = item.read(Cells(rows, shown), profile)  # type: ignore[arg-type]
    except ExperimentError as e:
        return Outcome(item, None, seconds, jobs, "; ".join([str(e), *failed[:3]]))
    except Exception as e:
        # Where results are missing a reader may trip over anything. With all of them there, the fault is its own.
        if not failed:
            raise
        return Outcome(item, None, seconds, jobs, "; ".join([f"{type(e).__name__}: {e}", *failed[:3]]))
    return Outcome(item, finding, seconds, jobs, "; ".join(failed[:3]))


def _seconds_before(folder: Path) -> dict[str, float]:
    """What the items of this store have taken so far, in runs that were stopped too."""
    path = folder / RECORD
    if not path.is_file():
        return {}
    try:
        return {str(name): float(value) for name, value in json.loads(path.read_text())["seconds"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise FileError(f"{path} is damaged: {e}. Remove it, and run this again; no result is lost with it.") from e


def _remember(folder: Path, item: str, seconds: float) -> None:
    known = _seconds_before(folder) | {item: seconds}
    with atomic(folder / RECORD) as file:
        file.write(json.dumps({"seconds": known}, indent=1).encode())
