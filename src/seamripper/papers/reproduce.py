"""reproduce: run the items of a paper, and decide its claims by the results."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from seamripper._files import atomic
from seamripper._frames import Row
from seamripper.cards import MEASURED_ON, WithMethods
from seamripper.errors import DataError, ExperimentError, MissingExtraError, ModelError
from seamripper.experiment import Engine, FunctionalPart, PicturesPart, Standing, Store, Summary, run, table
from seamripper.experiment.methods import study_record
from seamripper.experiment.reading import Reading
from seamripper.experiment.runs import provenance
from seamripper.experiment.store import is_store
from seamripper.figures import Figure
from seamripper.papers.decisions import DecidedClaim
from seamripper.papers.items import Item, ItemReading, Paper, numbers_in
from seamripper.papers.methods import AXES, item_method, item_rows, item_sentences, time_row
from seamripper.papers.profiles import PROFILES
from seamripper.papers.results import Hits, Results, Select

RECORD = "reproduction.json"
_LAYER_PAIR = ("sender", "sender_seed", "sender_cut", "receiver", "receiver_seed", "receiver_cut", "data")


def _ignore(_: Any) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Listener:
    """What is called while a paper is reproduced: with each line, each change of the standing, and each item's end."""

    announce: Callable[[str], None] = _ignore
    watch: Callable[[Standing], None] = _ignore
    end: Callable[[ItemReport], None] = _ignore


@dataclass(frozen=True, eq=False)
class ItemReport(WithMethods):
    """An item, what its results say, and how long its runs took; without a reading, the trouble that prevented it."""

    kind: ClassVar[str] = "item"
    axes: ClassVar[tuple[str, ...]] = AXES
    item: Item
    reading: ItemReading | None
    seconds: float
    jobs: int
    trouble: str = ""
    minutes: float | None = None
    """What all of its jobs take, with those that another item did first, here or by the paper's record."""
    layer_pairs: int = 0
    """How many pairs of a sender's cut and a receiver's cut it has results for."""
    made_from: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All that decides its numbers, as their methods cards have it."""
    findings: Mapping[str, Select] = field(default_factory=dict, repr=False)
    """What the findings of the paper select of its results, by name."""

    def rows(self) -> list[Row]:
        """One row per number of its claims, gates, tables, plots and matrices, and one with what all jobs took."""
        rows = [] if self.reading is None else item_rows(self.item, self.reading, self.findings)
        machine = self.method()["study"][MEASURED_ON]
        return [*rows, time_row(self.seconds, machine)] if self.seconds else rows

    def method(self) -> dict[str, Any]:
        """All that decides its numbers."""
        if not self.made_from:
            raise ExperimentError(f"The item {self.item.name!r} was not run, so it has no numbers.")
        return dict(self.made_from)

    def sentences(self) -> list[str]:
        """How its numbers were made."""
        return item_sentences(self.made_from)

    def figure_sentences(self) -> dict[str, str]:
        """What each claim is held to, and what came of it."""
        return {claim.says: f"{claim.rule} Here: {claim.status}." for claim in self.claims}

    @property
    def cost(self) -> str:
        """The number of its jobs, how long they took, and the share of a layer pair in that."""
        words = f"{self.jobs} jobs, {self.seconds / 60:.1f} min"
        if not (self.layer_pairs and self.seconds):
            return words
        return f"{words}; {self.layer_pairs:,} layer pairs, {self.seconds / self.layer_pairs:.2g} s each"

    @property
    def claims(self) -> tuple[DecidedClaim, ...]:
        """The claims that could be decided, or left open."""
        return () if self.reading is None else self.reading.claims

    def as_record(self) -> dict[str, Any]:
        """The report as JSON has it."""
        return {
            "item": self.item.name,
            "covers": list(self.item.covers),
            "seconds": round(self.seconds, 1),
            "jobs": self.jobs,
            "layer_pairs": self.layer_pairs,
            "claims": [claim.as_record(self.minutes) for claim in self.claims],
            "trouble": self.trouble or None,
        }


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What came of a paper, or of some of its items."""

    paper: Paper
    profile: str
    folder: Path
    reports: tuple[ItemReport, ...]
    made: Mapping[str, Any] = field(repr=False, default_factory=dict)
    """By which versions, on which machine, from which commits."""

    @property
    def counts(self) -> Counter[str]:
        """How many of the paper's claims ended how."""
        return Counter(claim.status for report in self.reports for claim in report.claims if not claim.beyond)

    @property
    def findings(self) -> tuple[str, ...]:
        """The sentences of the paper's findings that these items are about."""
        about = [claim for report in self.reports for claim in report.item.claims]
        decided = [claim for report in self.reports for claim in report.claims]
        readings = {report.item.name: report.reading for report in self.reports}
        results = {name: reading.results for name, reading in readings.items() if reading and reading.results}
        return tuple(f.sentence(decided, results) for f in self.paper.findings if any(map(f.is_about, about)))

    @property
    def seconds(self) -> float:
        """What all the runs took."""
        return sum(report.seconds for report in self.reports)

    def as_record(self) -> dict[str, Any]:
        """The reproduction as JSON has it."""
        return {
            "paper": self.paper.name,
            "profile": self.profile,
            "store": str(self.folder),
            "claims": dict(self.counts),
            "findings": list(self.findings),
            "seconds": round(self.seconds, 1),
            "items": [report.as_record() for report in self.reports],
            "made": dict(self.made),
        }

    @property
    def measured(self) -> dict[str, Any]:
        """The record of how long the items took, as a paper ships it."""
        minutes = {report.item.name: round(report.seconds / 60, 1) for report in self.reports}
        commits = [str(code)[:12] for code in self.made.get("revisions", ())]
        return {"profile": self.profile, "cores": self.made.get("cores"), "commits": commits, "minutes": minutes}


def folder_of(paper: Paper, profile: str) -> Path:
    """Where the results of a paper are kept unless something else is said: runs/PAPER-PROFILE."""
    return Path("runs") / f"{paper.name}-{profile}"


def reproduce(
    paper: Paper,
    items: Sequence[Item],
    *,
    profile: str = "quick",
    store: str | os.PathLike[str] | None = None,
    engine: Engine | str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    retry_failed: bool = False,
    listener: Listener = Listener(),  # noqa: B008
) -> Reproduction:
    """Run the items one after the other in one store, and read them. It may be stopped and started again.

    Jobs that items share are done once. An item whose data or weights are not to be had here is reported as such, and
    does not stop the others. `device` and `dtype` are those of `run`.
    """
    if profile not in PROFILES:
        raise ExperimentError(f"Expected profile to be one of {', '.join(PROFILES)}, but got {profile!r}.")
    folder = folder_of(paper, profile) if store is None else Path(store)
    before = _seconds_before(folder)
    reports = []
    for item in items:
        spent, started = before.get(item.name, 0.0), time.monotonic()
        try:
            summary = run(
                paper.experiment(item, profile),
                folder,
                engine=engine,
                device=device,
                dtype=dtype,
                retry_failed=retry_failed,
                announce=listener.announce,
                watch=listener.watch,
            )
        except KeyboardInterrupt:
            if is_store(folder):
                _remember(folder, item.name, spent + time.monotonic() - started)
            raise
        except (DataError, ModelError, MissingExtraError) as e:
            report = ItemReport(item, None, spent, 0, str(e))
        else:
            spent += time.monotonic() - started if summary.did else 0.0
            report = _report(paper, item, profile, folder, summary, spent)
            _remember(folder, item.name, spent)
        reports.append(report)
        listener.end(report)
    return Reproduction(paper, profile, folder, tuple(reports), _provenance(folder))


def _provenance(folder: Path) -> dict[str, Any]:
    """What it was made with: the versions of now, and the commits of this package at which the runs were made."""
    revisions: list[str] = []
    if is_store(folder):
        with Store(folder) as store:
            revisions = [str(row["code"]) for row in store.runs.all() if row.get("code")]
    return {**provenance(), "revisions": list(dict.fromkeys(revisions))}


def _report(paper: Paper, item: Item, profile: str, folder: Path, summary: Summary, seconds: float) -> ItemReport:
    name = summary.experiment
    with Store(folder) as store:
        _, rows = table(store, name)
        hits = _hits(store, {str(row["key"]) for row in rows if row.get("figure") == "top1"})
        jobs = len(store.goals(name))
        # In the table are results that were asked for; a job that only helps may have failed, too.
        results = [result for key in summary.failed if (result := store.result(key)) is not None]
    errors = [str(row["error"]) for row in rows if row["state"] == "failed"]
    errors += [f"{result.record['error']}: {result.record['message']}" for result in results]
    failed = list(dict.fromkeys(errors))[:3]
    made = item_method(paper.name, profile, item, study_record(folder, name))
    shown = tuple(_own_figures(Reading.open(folder, experiment=name))) if item.pictures else ()
    try:
        reading = paper.read(item, Results(rows, shown, hits), profile)
    except ExperimentError as e:
        return ItemReport(item, None, seconds, jobs, "; ".join([str(e), *failed]), made_from=made)
    pairs = {tuple(row.get(label) for label in _LAYER_PAIR) for row in rows if row.get("sender_cut")}
    minutes = _minutes(paper, item, profile, _seconds_before(folder) | {item.name: seconds})
    selected = {
        name: select for finding in paper.findings for name, (of, select) in finding.numbers.items() if of == item.name
    }
    return ItemReport(item, reading, seconds, jobs, "; ".join(failed), minutes, len(pairs), made, selected)


def _own_figures(results: Reading) -> Iterator[Figure]:
    """What jobs have to show beside their numbers: images, and energies of the activations at a cut."""
    for section in PicturesPart.sections(results):
        yield from section.figures
    yield from FunctionalPart.energies(results)


def _minutes(paper: Paper, item: Item, profile: str, spent: Mapping[str, float]) -> float | None:
    """What all jobs of an item take: here, by the seconds that items have spent, or by the paper's record."""
    items = [other for other in paper.items if other.name in paper.sharing(item, profile)]
    here = sum(spent.get(other.name, 0.0) for other in items)
    return (here or sum(paper.seconds(other, profile) or 0.0 for other in items)) / 60 or None


def _hits(store: Store, keys: Iterable[str]) -> dict[str, Hits]:
    """Which samples the networks of these jobs get right, of jobs that keep it."""
    results = {key: store.result(key) for key in keys}
    return {key: r.record["hits"] for key, r in results.items() if r is not None and "hits" in r.record}


def _seconds_before(folder: Path) -> dict[str, float]:
    """What the items of this store have taken so far, in runs that were stopped too."""
    return numbers_in(folder / RECORD, "seconds", "Remove it, and run this again; no result is lost with it.")


def _remember(folder: Path, item: str, seconds: float) -> None:
    known = _seconds_before(folder) | {item: seconds}
    with atomic(folder / RECORD) as file:
        file.write(json.dumps({"seconds": known}, indent=1).encode())
