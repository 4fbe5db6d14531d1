"""[[functional]]: what every sender's cut stitched into every receiver's cut can do, and how strange it looks there."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper._files import plain
from seamripper.errors import DataError, ExperimentError, SeamripperError
from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.expansion import Expansion, merge_needs, merge_where, pair_labels
from seamripper.experiment.identity import AUDITS
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, Part, Row, at_rest, figure_row, groups_of, training_cost
from seamripper.experiment.result import Result, StudyResults
from seamripper.experiment.tables import Pairs, Seed, Some, Study, Word, Words
from seamripper.figures import Figure, Grid, Histogram, Section

if TYPE_CHECKING:
    from torch import Tensor

    from seamripper.audits import DetectorAtCut
    from seamripper.cut import Split
    from seamripper.data import Paired, Samples
    from seamripper.experiment.worker import Worker
    from seamripper.matching import Match

_AUDIT = "distribution"
_ENERGY = 25_000
"""About how many samples the training of an energy detector is shown."""
_HISTOGRAMS = 12
"""How many histograms a report shows."""
NATIVE = "native"
"""What errors call the receiver's own activations."""
_BATCH = 256
_ACCURACY, _NAMES = "relative_accuracy", {"relative_accuracy": "relative accuracy"}


class FunctionalPart(Pairs, Part):
    """Stitches from every cut of the sender into every cut of the receiver, by each matching, for every pair.

    A cell is the accuracy of the stitched network relative to the receiver's own, on the test samples. `ood` asks for
    detectors, in words of the audit `distribution`, one of a kind: the AUROC of each for stitched against the
    receiver's own activations. By default networks are cut behind each of their blocks, and the stitch is "auto", which
    fits between any two cuts.

    `errors` asks how far apart activations are at the receiver's cut: its own, and what each matching makes of the test
    samples (EV, ES and SV of Hernandez et al. 2022). The error of one sample is the mean over the elements of the
    squared difference; there are its mean, smallest, largest and standard deviation over samples, for every two.

    There is one job for each pair and receiver's cut. Its stitches into that cut share the receiver's tail (see
    `match_many`), the sender's activations at all cuts come from one pass, and a detector serves all of them.
    """

    name: ClassVar[str] = "functional"
    rate: ClassVar[float] = 3e-4

    matchings: Some = ("direct", "task")
    cuts: Words = ()
    sender_cuts: Words = ()
    receiver_cuts: Words = ()
    stitch: Word = "auto"
    ood: Words = ()
    errors: bool = False
    seed: Seed = 0

    def size(self, study: Study) -> int:
        """One job for each pair and receiver's cut that is named; names with `*`, or none, count as one."""
        return self.pairs(study) * max(1, len(self.receiver_cuts or self.cuts))

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each pair and receiver's cut."""
        data = expansion.experiment.samples(self.data, "a [[functional]]")
        fit, test = expansion.splits(data)
        matchings = {word: expansion.matching(word) for word in self.matchings}
        stitch, files = expansion.stitch(self.stitch)
        files |= {key: path for _, where in matchings.values() for key, path in where.items()}
        # Only where they differ from what every study had before there was a choice, so that its results still count.
        chosen = {**({} if stitch == "auto" else {"stitch": stitch}), **({"errors": True} if self.errors else {})}
        for word, (record, _) in matchings.items():
            if record.get("augment", "none") != "none":
                raise ExperimentError(
                    f"Expected the matchings of a [[functional]] to take samples as they are, but {word!r} augments "
                    "them, and the senders' activations are computed once. Use augment=none, or a [[stitch]]."
                )
        ood = self._detectors(expansion)
        for pair in expansion.pairs(self):
            sides = (self.sender_cuts or self.cuts, self.receiver_cuts or self.cuts)
            senders, receivers = (
                expansion.identities.cut_names(net.cuts_decided_by, net.spec, list(words) or None, fit.shape)
                for net, words in zip(pair, sides, strict=True)
            )
            for cut in receivers:
                content = {
                    "sender": pair[0].ref,
                    "sender_cuts": senders,
                    "receiver": pair[1].ref,
                    "receiver_cut": cut,
                    "fit": fit.fingerprint,
                    "test": test.fingerprint,
                    "n": fit.n,
                    "n_test": test.n,
                    "matchings": [[word, record] for word, (record, _) in matchings.items()],
                    "ood": ood,
                    **chosen,
                    "seed": self.seed,
                    "threads": expansion.experiment.threads,
                }
                labels = {**pair_labels(*pair), "receiver_cut": cut, "seed": self.seed, "data": data.name}
                where = {**merge_where(fit, test, *pair), **files}
                yield Job("functional", content, labels, merge_needs(pair), where)

    def _detectors(self, expansion: Expansion) -> dict[str, str]:
        """The words of the detectors by their kind, with the options that are not as they are by default."""
        detectors: dict[str, str] = {}
        for word in self.ood:
            if word.partition("?")[0] != _AUDIT:
                raise ExperimentError(
                    f"Expected `ood` of a [[functional]] to hold words of the audit {_AUDIT!r}, such as "
                    f"'{_AUDIT}' or '{_AUDIT}?detector=energy', but got {word!r}."
                )
            said, _ = expansion.identities.word(AUDITS, word)
            kind = expansion.identities.fact(AUDITS, word, "detector")
            if kind in detectors:
                raise ExperimentError(
                    f"Expected `ood` of a [[functional]] to hold one detector of each kind, but {word!r} is another "
                    f"{kind!r} one: put it into a [[functional]] of its own."
                )
            detectors[kind] = said
        return detectors

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Stitch every sender's cut into the receiver's by each matching; score and look at all of them."""
        from seamripper.matching import match_many, right_of

        fit, test = worker.samples(content["fit"]), worker.samples(content["test"])
        receiver = worker.half(content["receiver"], content["receiver_cut"], fit)
        alone = worker.answers(content["receiver"], receiver, test)
        senders = _senders(content, worker, fit, test)
        detectors = {
            kind: worker.detector(content["receiver"], receiver, fit, test, word)
            for kind, word in content["ood"].items()
        }
        look = _Look(alone, detectors)
        for word, record in content["matchings"]:
            matching = worker.matching(record)
            outcomes = match_many(
                [sender.half for sender in senders],
                receiver,
                [sender.fit for sender in senders],
                stitch=worker.stitch(content.get("stitch", "auto")),
                matching=matching,
                # Residuals of what solves for its stitch are then of the test samples, and no other need be held out.
                held_out=[sender.test for sender in senders] if matching.holds_out else None,
                seed=content["seed"],
            )
            for sender, outcome in zip(senders, outcomes, strict=True):
                look.at(word, sender, outcome)
        errors = _errors(look.matches, senders, receiver, test) if content.get("errors") else []
        record = {
            "receiver_cut": content["receiver_cut"],
            "receiver_accuracy": right_of(alone, test).as_record(),
            "unreadable": look.unreadable,
            "cells": look.cells,
            "detectors": {kind: _worth(detector) for kind, detector in detectors.items()},
            "histograms": look.histograms(),
            **({"errors": errors} if errors else {}),
        }
        return Output(plain(record))

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """Samples shown to the tail by every stitch, forwards and backwards, and to detectors."""
        n, n_test = content["n"], content["n_test"]
        stitches = sum(training_cost({"matching": record}, n, n_test) for _, record in content["matchings"])
        detectors = sum(_ENERGY if kind == "energy" else n + n_test for kind in content["ood"])
        return len(content["sender_cuts"]) * stitches + detectors

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """One row for each cell and figure; then errors, and what each detector is worth."""
        unreadable = {"status": f"unreadable: {record['unreadable']}"} if record["unreadable"] else {}
        for cell in record["cells"]:
            names = ("sender_cut", "matching", "status")
            place = {"receiver_cut": record["receiver_cut"], **{name: cell[name] for name in names}}
            if cell["top1"] is None:
                yield {**place, "figure": _ACCURACY}
                continue
            for name in (_ACCURACY, "top1"):
                yield from figure_row(name, cell[name], **{**place, **unreadable})
            for kind, auroc in cell["ood"].items():
                yield from figure_row(f"ood_{kind}", auroc, **place)
            if "falling" in cell["figures"]:
                rest = at_rest(cell["figures"]["falling"], cell["figures"]["loss_end"])
                yield {**place, "figure": "at_rest", "value": float(rest)}
        for error in record.get("errors", ()):
            names = ("sender_cut", "matching", "against")
            place = {"receiver_cut": record["receiver_cut"], **{name: error[name] for name in names}}
            for name in ("error", "error_min", "error_max", "error_std"):
                yield from figure_row(name, error[name], **place)
        for kind, worth in record["detectors"].items():
            place = {"receiver_cut": record["receiver_cut"], "detector": kind}
            for name in ("native", "auxiliary"):
                yield from figure_row(f"detector_{name}", worth[name], **place)

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """The matrices of every pair and matching on one scale, and energies (Balogh & Jelasity 2025, Fig. 1 and 2)."""
        columns = results.of(cls.name)
        groups = groups_of(columns, lambda result: (result.pair, result.labels["data"], result.labels["seed"]))
        top = _top(columns)
        grids, details = list[Figure](), dict[str, dict[str, Any]]()
        for number, group in enumerate(groups.values()):
            matrix = _Matrix(number, group)
            grids += [matrix.grid(word, figure, top) for word in matrix.words for figure in matrix.figures]
            details |= matrix.details()
        switches = {
            name: tuple(dict.fromkeys(grid.tags[name] for grid in grids if isinstance(grid, Grid)))
            for name in ("pair", "matching", "figure")
        }
        histograms = [figure for column in columns for figure in _histograms(column)]
        text = (
            "Each cell is a stitch from a cut of the sender (row) into one of the receiver (column). The relative "
            "accuracy is that of the stitched network over the receiver's own on the same test samples: 1 is no loss. "
            "An OOD AUROC says how well a detector tells the stitched activations from the receiver's own: 0.5 means "
            "that it cannot, 1 that it always can. All matrices share one scale; bright cells work well, or look "
            "native. Intervals are over samples: they say nothing about other training seeds. Choose a cell to see "
            "everything about it."
        )
        title = "What stitches between all layers can do"
        if columns:
            figures = (*grids, *histograms[:_HISTOGRAMS])
            yield Section("functional", title, text, figures, switches, details, place=45)

    @classmethod
    def energies(cls, results: StudyResults) -> Iterator[Histogram]:
        """Energies at every receiver's cut that has an energy detector: from every sender's cut, by matching."""
        for column in results.of(cls.name):
            bins = column.record["histograms"]
            matchings = dict.fromkeys(kind["matching"] for kind in bins["stitched"]) if bins else ()
            for word in matchings:
                kinds = [kind for kind in bins["stitched"] if kind["matching"] == word]
                stitched = {f"from {kind['sender_cut']}": tuple(kind["counts"]) for kind in kinds}
                yield _histogram(column, f"every cut by {word}", stitched)


# ---- a job


@dataclass(frozen=True, eq=False)
class _Sender:
    """A cut of the sender, with what it shows of the samples computed already."""

    cut: str
    half: Split
    fit: Paired
    test: Paired


def _senders(content: Mapping[str, Any], worker: Worker, fit: Samples, test: Samples) -> list[_Sender]:
    """Every cut of the sender, from one pass over the samples to fit on and one over those to score on."""
    from seamripper.activations import collect_cuts, replay
    from seamripper.cut import heads

    names, model = content["sender_cuts"], worker.model(content["sender"])

    def collect() -> list[_Sender]:
        every = heads(model, names, model.example(2, input=model.present(fit).shape))
        senders = []
        for name, shown, scored in zip(names, collect_cuts(every, fit), collect_cuts(every, test), strict=True):
            half = worker.half(content["sender"], name, fit)
            (replayed, pair), (_, others) = replay(half, fit, shown), replay(half, test, scored)
            senders.append(_Sender(name, replayed, pair, others))
        return senders

    # The jobs of a pair, one for each cut of the receiver, follow each other.
    return worker.again(("senders", content["sender"], names, fit.fingerprint, test.fingerprint), collect)


class _Look:
    """Scores stitches into one cut, and keeps what detectors say of them."""

    def __init__(self, alone: Any, detectors: Mapping[str, DetectorAtCut]) -> None:
        self.alone, self.detectors = alone, detectors
        self.cells: list[dict[str, Any]] = []
        self.matches: dict[str, dict[str, Match]] = defaultdict(dict)
        """By the sender's cut and the matching, those that have figures."""
        self.unreadable: str | None = None
        self._energies: dict[int, Any] = {}

    def at(self, word: str, sender: _Sender, outcome: Match | SeamripperError) -> None:
        """One more cell: its figures, or the reason why it has none."""
        cell = {"sender_cut": sender.cut, "matching": word}
        if not isinstance(outcome, SeamripperError):
            try:
                self.cells.append({**cell, **self._figures(outcome, sender)})
                self.matches[sender.cut][word] = outcome
                return
            except DataError as e:
                # Stitched activations that are not finite.
                outcome = e
        nothing: dict[str, Any] = {"top1": None, _ACCURACY: None, "ood": {}, "figures": {}}
        self.cells.append({**cell, "status": f"failed: {outcome}", **nothing})

    def _figures(self, match: Match, sender: _Sender) -> dict[str, Any]:
        from seamripper.matching import evaluate

        result = evaluate(match, sender.test, receiver=self.alone)
        scores = {kind: detector.scores(match, sender.test) for kind, detector in self.detectors.items()}
        self.unreadable = result.unreadable
        if "energy" in scores:
            self._energies[len(self.cells)] = scores["energy"]
        return {
            "status": match.status,
            "top1": result.top1.as_record(),
            _ACCURACY: result.relative_accuracy.as_record(),
            "ood": {kind: self.detectors[kind].auroc(score).as_record() for kind, score in scores.items()},
            "figures": dict(match.figures),
        }

    def histograms(self) -> dict[str, Any] | None:
        """Energies of native, auxiliary and stitched activations in common bins; None without an energy detector."""
        if "energy" not in self.detectors:
            return None
        bins = self.detectors["energy"].histograms(list(self._energies.values()))
        cells = [self.cells[number] for number in self._energies]
        stitched = [
            {"sender_cut": cell["sender_cut"], "matching": cell["matching"], "counts": counts}
            for cell, counts in zip(cells, bins["stitched"], strict=True)
        ]
        return {"score": "energy", **bins, "stitched": stitched}


def _errors(
    matches: Mapping[str, Mapping[str, Match]], senders: Sequence[_Sender], receiver: Split, test: Samples
) -> list[dict[str, Any]]:
    """The errors between every two of the receiver's own activations and those of each matching, cut by cut."""
    from seamripper.activations import collect

    native = collect(receiver, test).values
    errors = []
    for sender in senders:
        for (against, matching), values in _sample_errors(matches[sender.cut], sender.test, native).items():
            errors.append({"sender_cut": sender.cut, "matching": matching, "against": against, **error_record(values)})
    return errors


def _sample_errors(matches: Mapping[str, Match], test: Paired, native: Tensor) -> Mapping[tuple[str, str], list[float]]:
    """The mean squared difference of each sample between every two of the native and the stitched activations."""
    import torch

    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    start = 0
    with torch.no_grad():
        for given, inputs in test.batches(_BATCH):
            shown = {NATIVE: native[start : start + _BATCH]}
            shown |= {word: match.activations(inputs, given) for word, match in matches.items()}
            for (a, x), (b, y) in itertools.combinations(shown.items(), 2):
                errors[a, b] += (x.double() - y.double()).square().flatten(1).mean(1).tolist()
            start += _BATCH
    return errors


def error_record(values: Sequence[float]) -> dict[str, Any]:
    """The mean of errors with its interval over samples, and the smallest, the largest and the standard deviation.

    >>> {name: figure["value"] for name, figure in error_record([1.0, 3.0]).items()}
    {'error': 2.0, 'error_min': 1.0, 'error_max': 3.0, 'error_std': 1.0}
    """
    n = len(values)
    mean = over_seeds(values, "samples")
    deviation = math.sqrt(math.fsum((value - mean.value) ** 2 for value in values) / n)
    others = {"error_min": min(values), "error_max": max(values), "error_std": deviation}
    plain_figures = {name: Estimate(value, n=n, unit="samples").as_record() for name, value in others.items()}
    return {"error": mean.as_record(), **plain_figures}


def _worth(detector: DetectorAtCut) -> dict[str, Any]:
    auxiliary = detector.auxiliary
    return {
        "native": detector.native.as_record(),
        "auxiliary": None if auxiliary is None else auxiliary.as_record(),
        "about": dict(detector.about),
    }


# ---- sections


def _top(columns: Sequence[Result]) -> float:
    """The upper end of the scale that all matrices share: 1, or the largest relative accuracy."""
    cells = (cell[_ACCURACY] for column in columns for cell in column.record["cells"])
    return max([1.0, *(float(accuracy["value"]) for accuracy in cells if accuracy and accuracy["value"] is not None)])


class _Matrix:
    """The columns of one pair: cells by sender's cut, receiver's cut and matching."""

    def __init__(self, number: int, columns: Sequence[Result]) -> None:
        self.number, self.pair, self.data = number, columns[0].pair, columns[0].labels["data"]
        self.cells = {
            (cell["matching"], cell["sender_cut"], column.record["receiver_cut"]): cell
            for column in columns
            for cell in column.record["cells"]
        }
        words, senders, receivers = (tuple(dict.fromkeys(key[i] for key in self.cells)) for i in range(3))
        self.words, self.senders, self.receivers = words, senders, receivers
        detectors = dict.fromkeys(kind for column in columns for kind in column.record["detectors"])
        self.figures = (_ACCURACY, *detectors)

    def grid(self, word: str, figure: str, top: float) -> Grid:
        """One figure of all cells by one matching."""
        name = _NAMES.get(figure, f"OOD AUROC ({figure})")
        rows = tuple(tuple(self._estimate(word, a, b, figure) for b in self.receivers) for a in self.senders)
        direction = "similarity" if figure == _ACCURACY else "distance"
        tags = {"pair": self.pair, "matching": word, "figure": name}
        title, caption = f"{name}, {word}: {self.pair}", f"{name} by the matching {word}, test samples of {self.data}"
        return Grid(
            title, self.senders, self.receivers, rows, (0.0, top), direction, caption, tags, f"functional{self.number}"
        )

    def details(self) -> dict[str, dict[str, Any]]:
        """For each pair of cuts all figures of all matchings: what opens when a cell is chosen."""
        details = {}
        for i, a in enumerate(self.senders):
            for j, b in enumerate(self.receivers):
                rows = [
                    [word, _NAMES.get(figure, f"OOD AUROC ({figure})"), self._sentence(word, a, b, figure)]
                    for word in self.words
                    for figure in self.figures
                ]
                details[f"functional{self.number}-{i}-{j}"] = {"title": f"{self.pair}: {a} × {b}", "rows": rows}
        return details

    def _estimate(self, word: str, a: str, b: str, figure: str) -> Estimate:
        cell = self.cells.get((word, a, b))
        record = cell and (cell[_ACCURACY] if figure == _ACCURACY else cell["ood"].get(figure))
        return Estimate.from_record(record, unit="samples")

    def _sentence(self, word: str, a: str, b: str, figure: str) -> str:
        cell, estimate = self.cells.get((word, a, b)), self._estimate(word, a, b, figure).describe()
        return estimate if cell is None or cell["status"] == "ok" else f"{estimate}; {cell['status']}"


def _histograms(column: Result) -> Iterator[Histogram]:
    """Energies at one receiver's cut: native, auxiliary, and stitched from the same cut or the first, by matching."""
    bins = column.record["histograms"]
    if not bins or not bins["stitched"]:
        return
    cut, cuts = column.record["receiver_cut"], [kind["sender_cut"] for kind in bins["stitched"]]
    sender = cut if cut in cuts else cuts[0]
    stitched = {kind["matching"]: tuple(kind["counts"]) for kind in bins["stitched"] if kind["sender_cut"] == sender}
    yield _histogram(column, sender, stitched)


def _histogram(column: Result, senders: str, stitched: Mapping[str, tuple[int, ...]]) -> Histogram:
    """Energies of the receiver's own activations at a cut, of auxiliary ones, and of stitched ones."""
    bins, cut = column.record["histograms"], column.record["receiver_cut"]
    counts = {name: tuple(bins[name]) for name in ("native", "auxiliary") if bins[name]} | dict(stitched)
    title = f"Energies of native, auxiliary and stitched activations at {cut}: {column.pair}, from {senders}"
    caption = "The detector gives native activations low energies; what lies beyond the ends is in the outermost bins."
    return Histogram(title, tuple(bins["edges"]), counts, "energy", caption)
