"""[[audit]]: a comparison, its controls, and the judgement."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.expansion import (
    DataSetRef,
    Expansion,
    Net,
    merge_needs,
    merge_where,
    pair_content,
    pair_labels,
)
from seamripper.experiment.identity import AUDITS, CONTROLS, INTERVENTIONS, MIXTURES
from seamripper.experiment.images import as_bytes, is_image
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, Part, Row, cuts_of, figure_row, groups_of, training_cost
from seamripper.experiment.parts.control import accuracy_of, controls_section
from seamripper.experiment.result import Result, StudyResults, plain
from seamripper.experiment.tables import Data, Pairs, Seeds, Some, Study, Word, Words
from seamripper.figures import Figure, Grid, Histogram, Lines, Picture, Pictures, Section, Series, Sheet, Strip, png

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from seamripper.audits import Audited
    from seamripper.cut import Split
    from seamripper.data import Samples
    from seamripper.experiment.worker import Worker

_EXAMPLES, _APART = 12, 8
"""How many examples are kept, and how many of them at most on which receiver and stitched network disagree."""
_HISTOGRAMS, _CONFLICTS = 12, 8
"""Of how many audits a report shows the histogram, and what was seen where the cues disagree."""
FIGURES = {
    "stitched": "accuracy of the stitched network",
    "receiver": "accuracy of the receiver alone",
    "self": "accuracy of the receiver stitched to itself",
    "chance": "chance",
    "own_answers": "the receiver's own answers that the stitched network gives",
    "own_answers_by_chance": "of these by chance",
    "recovered": "recovered of what the receiver does above chance",
    "margin": "margin over the best control that should fail",
    "deciding_audit": "audit that decided",
    "decided_by": "decided by",
    "agreement": "agreement with the receiver there",
    "kept": "kept there of the control's agreement beyond chance",
    "excess": "largest excess of departures on mixtures over the control's",
    "score": "place between nothing learnt (0) and the control (1) where it departs most",
}
"""The figures of a judgement in words, in the order of the argument."""


class AuditPart(Pairs, Part):
    """An audit of every pair at every cut: controls, conflict set or interventions, mixtures, and the judgement.

    `others` names networks trained as the receiver was: of each, those seeds that neither side has.

    The tensor `examples` holds images of the set that decided the audit `conflict`, with their `labels` and the answers
    of the `receiver` and of the `stitched` network of the first seed: where they disagree first. There is none, and
    null in the record, where that audit has no verdict or the inputs are no images. The tensor `mixtures` holds the
    pairs of images that told most in the audit `mixing`, `a` and `b`, and their mixtures `m`; what both networks say of
    them is in its verdict.
    """

    name: ClassVar[str] = "audit"
    rate: ClassVar[float] = 5e-4

    cuts: Some
    matching: Word | None = None
    stitch: Word = "auto"
    freeze: Literal["all", "weights"] = "all"
    conflict: Word | Data | None = None
    interventions: Words | None = None
    mixtures: Words = ("default",)
    others: Words = ()
    controls: Some | None = None
    audits: Some = ("all",)
    seeds: Seeds = (0, 1, 2)

    def size(self, study: Study) -> int:
        """One job for each pair and cut."""
        return self.pairs(study) * len(self.cuts)

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each pair and cut."""
        data = expansion.experiment.samples(self.data, "an [[audit]]")
        fit, test = expansion.splits(data)
        conflict = self._conflict(expansion)
        choices, files = self._choices(expansion)
        others = [net for word in self.others for net in expansion.nets(word)]
        for sender, receiver in expansion.pairs(self):
            apart = [net for net in others if net.ref not in (sender.ref, receiver.ref)]
            nets: tuple[Net, ...] = (sender, receiver, *apart)
            for a, b in expansion.cuts(self.cuts, (sender, receiver), fit.shape):
                content = {
                    **pair_content(sender, receiver, a, b, fit, test),
                    "others": [net.ref for net in apart],
                    "conflict": conflict and conflict.fingerprint,
                    **choices,
                    "seeds": list(self.seeds),
                    "threads": expansion.experiment.threads,
                }
                labels = {
                    **pair_labels(sender, receiver, a, b),
                    "matching": self.matching or "audit's own",
                    "stitch": self.stitch,
                    "freeze": self.freeze,
                    "data": data.name,
                }
                where = {**merge_where(fit, test, conflict, *nets), **files}
                yield Job("audit", content, labels, merge_needs(nets), where)

    def _conflict(self, expansion: Expansion) -> DataSetRef | None:
        if self.conflict is None:
            return None
        return expansion.samples(expansion.experiment.samples(self.conflict, "an [[audit]]"), "test")

    def _choices(self, expansion: Expansion) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is chosen by words, as a content has it, and where users' own files for it are."""
        identities, files = expansion.identities, dict[str, Any]()
        matching, where = self._matching(expansion)
        stitch, place = expansion.stitch(self.stitch)
        files |= where | place

        def words(place: str, given: Sequence[str], groups: Sequence[str] = ()) -> list[str]:
            contents = []
            for word in given:
                content, where = (word, {}) if word in groups else identities.word(place, word, also=groups)
                contents.append(content)
                files.update(where)
            return contents

        def look() -> list[str]:
            from seamripper.audits import DEFAULT_CONTROLS

            return list(DEFAULT_CONTROLS)

        controls = self.controls or identities.remember("default controls", look)
        changes = self.interventions
        return {
            "matching": matching,
            "stitch": stitch,
            "freeze": self.freeze,
            "interventions": None if changes is None else words(INTERVENTIONS, changes, ("default", "none")),
            "mixtures": words(MIXTURES, self.mixtures or ("none",), ("default", "none")),
            "controls": words(CONTROLS, controls),
            "audits": words(AUDITS, self.audits, ("all",)),
        }, files

    def _matching(self, expansion: Expansion) -> tuple[dict[str, Any], dict[str, Any]]:
        """The matching's record, and where a user's file for it is: the audit's own, if none is named."""
        if self.matching is not None:
            return expansion.matching(self.matching)

        def look() -> dict[str, Any]:
            from seamripper.audits import matching_of

            record: dict[str, Any] = plain(matching_of("task").as_record())
            return record

        return expansion.identities.remember("matching of an audit", look), {}

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Audit, and keep the whole record."""
        from seamripper.audits import audit, chosen_audits, deciding_mixtures, deciding_set

        fit, test = worker.samples(content["fit"]), worker.samples(content["test"])
        conflict = None if content["conflict"] is None else worker.samples(content["conflict"])
        receiver = worker.half(content["receiver"], content["receiver_cut"], fit)
        words = content["interventions"]
        changes = None if words is None else list(map(worker.word, words))
        mixtures = list(map(worker.word, content["mixtures"]))
        audits = chosen_audits(map(worker.word, content["audits"]))
        audited = audit(
            worker.half(content["sender"], content["sender_cut"], fit),
            receiver,
            fit,
            test,
            conflict=conflict,
            interventions=changes,
            mixtures=mixtures,
            others=[worker.half(other, content["receiver_cut"], fit) for other in content["others"]],
            matching=worker.matching(content["matching"]),
            stitch=worker.stitch(content["stitch"]),
            freeze=content["freeze"],
            seeds=content["seeds"],
            controls=list(map(worker.word, content["controls"])),
            audits=audits,
            memo=worker.matched,
        )
        decided = deciding_set(audited, test, conflict, audits, changes)
        mixed = deciding_mixtures(audited, test, audits, mixtures)
        return audit_output(audited, receiver, decided, worker.key, worker.keep, mixed=mixed)

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """A stitch for each seed, and about as many for each control."""
        stitch = training_cost(content, content["n"], content["n_test"])
        return stitch * len(content["seeds"]) * (1 + len(content["controls"]))

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """What was observed and its effect, audit by audit; then the judgement, with the figure that it rests on."""
        for name, verdict in record["verdicts"].items():
            answer = {"audit": name, "status": verdict["answer"]}
            yield from figure_row("observed", verdict["observed"], **answer)
            yield from figure_row("effect", verdict["effect"], **answer)
        judgement = record["judgement"]
        recovered = judgement["figures"]["recovered"]
        yield from figure_row("recovered", recovered, audit="rule", status=judgement["conclusion"])

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """What was judged and why, the evidence of the single audits, and the controls around what was observed."""
        audits = results.of(cls.name)
        if not audits:
            return
        yield _judgements_section(audits)
        yield from controls_section(map(_controls, audits))
        ranked, distributed, conflicting, mixing = (
            [audit for audit in audits if name in audit.record["verdicts"]]
            for name in ("rank", "distribution", "conflict", "mixing")
        )
        if ranked:
            yield _rank_section(ranked)
        if distributed:
            yield _distribution_section(distributed)
        if conflicting:
            yield _conflict_section(results, conflicting[:_CONFLICTS])
        if mixing:
            yield _mixing_section(results, mixing[:_CONFLICTS])


def audit_output(
    audited: Audited,
    receiver: Split,
    decided: tuple[str, Samples] | None,
    key: str,
    keep: Callable[[Callable[[Path], None]], str],
    *,
    mixed: tuple[Samples, Samples, Samples] | None = None,
) -> Output:
    """The whole record of an audit, and examples of what decided it; `keep` keeps a file and names it.

    `decided` is the set of the audit `conflict`, `mixed` are the pairs and mixtures of the audit `mixing`.
    """
    from seamripper._files import save_tensors

    examples = None if decided is None else _examples(audited, receiver, *decided)
    files, about = {}, None
    if examples is not None:
        tensors, about = examples
        text = {"key": key, **about}
        files["examples"] = keep(lambda path: save_tensors(path, tensors, text, kind="examples"))
    if mixed is not None and is_image(mixed[0].shape):
        images = {name: as_bytes(_shown(samples), samples) for name, samples in zip("abm", mixed, strict=True)}
        files["mixtures"] = keep(lambda path: save_tensors(path, images, {"key": key}, kind="mixtures"))
    return Output({**plain(audited.as_record()), "examples": about}, files)


def _shown(samples: Samples) -> Tensor:
    """All inputs of samples of images."""
    images = samples.batch(slice(None))
    assert not isinstance(images, dict)
    return images


def _examples(
    audited: Audited, receiver: Split, name: str, samples: Samples
) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Examples of a set as tensors, and what the record says of them; None if they cannot be looked at."""
    import torch

    from seamripper.audits import answers

    match = audited.outcomes[0].match
    if match is None or not isinstance(samples.inputs, torch.Tensor) or not is_image(samples.shape):
        return None
    theirs, ours = answers(receiver, samples), answers(match, samples)
    index = torch.from_numpy(_example_rows(theirs != ours))
    images = samples.batch(index)
    assert isinstance(images, torch.Tensor)
    tensors = {
        "images": as_bytes(images, samples),
        "labels": samples.labels[index],
        "receiver": torch.from_numpy(theirs)[index],
        "stitched": torch.from_numpy(ours)[index],
    }
    return tensors, {"set": name, "n": len(index), "disagree": float((theirs != ours).mean())}


def _example_rows(apart: NDArray[Any]) -> NDArray[Any]:
    """The numbers of the samples that are kept: the first that are apart, then the first that are not.

    >>> import numpy as np
    >>> _example_rows(np.array([False, True, False, True])).tolist()
    [1, 3, 0, 2]
    """
    import numpy as np

    first = np.flatnonzero(apart)[:_APART]
    return np.concatenate([first, np.flatnonzero(~apart)[: _EXAMPLES - len(first)]])


# ---- sections: judgements


def _judgements_section(audits: Sequence[Result]) -> Section:
    """A row for each audit, and a row for each figure that it rests on."""
    known = any("known" in audit.labels for audit in audits)
    columns = ("audit", "judged", *(["what is known"] if known else []), "accuracy", "agreement where cues disagree")
    settings = dict.fromkeys("; ".join(setting(audit.record["record"])) for audit in audits)
    caption = " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in settings)
    figures = (
        Sheet(
            "1 judgement" if len(audits) == 1 else f"{len(audits)} judgements",
            columns,
            tuple(_judgement_row(audit, known) for audit in audits),
            caption,
        ),
        Sheet("Why", ("audit", "reason", "what would change it", "not done"), tuple(map(_reasons, audits))),
        Sheet(
            "What they rest on",
            ("audit", "figure", "value", "low", "high", "n", "of"),
            tuple(row for audit in audits for row in _figure_rows(audit)),
        ),
    )
    text = "One rule judges every audit, in one of five answers, with its reason and what would change it."
    return Section("judgements", "What was judged, and why", text, figures, place=10)


def cues_of(record: Mapping[str, Any]) -> str:
    """How an audit has set cues that agree in the data against each other."""
    ways = ["a conflict set"] if "conflict" in record["record"]["data"] else []
    ways += ["interventions"] if record["record"]["interventions"] else []
    ways += ["mixtures"] if "mixing" in record["verdicts"] else []
    return f"with {' and '.join(ways)}" if ways else "with nothing on which cues disagree"


def _title(audit: Result) -> str:
    return f"{audit.pair} at {audit.cut}, {cues_of(audit.record)}"


def _judgement_row(audit: Result, known: bool) -> tuple[Any, ...]:
    judgement, conflict = audit.record["judgement"], audit.record["verdicts"].get("conflict")
    accuracy = Estimate.from_record(judgement["figures"].get("stitched"))
    agreement = Estimate.from_record(conflict and conflict["observed"])
    truth = (audit.labels.get("known") or "",) if known else ()
    return _title(audit), judgement["conclusion"], *truth, str(accuracy), str(agreement)


def _reasons(audit: Result) -> tuple[str, ...]:
    judgement, skipped = audit.record["judgement"], audit.record["skipped"]
    not_done = " ".join(f"{name}: {why}" for name, why in skipped.items())
    return _title(audit), judgement["reason"], judgement["experiment"], not_done


def _figure_rows(audit: Result) -> Iterator[tuple[Any, ...]]:
    """Each figure of a judgement, with its interval; the names of controls are figures, too."""
    figures = audit.record["judgement"]["figures"]
    for name in sorted_figures(figures):
        figure, words = figures[name], FIGURES.get(name, f"accuracy of {name}")
        if not isinstance(figure, Mapping):
            figure = {"value": figure, "interval": None, "n": None}
        ends = figure["interval"] or (None, None)
        yield _title(audit), words, figure["value"], *ends, figure["n"], figure.get("unit", "")


def sorted_figures(figures: Mapping[str, Any]) -> list[str]:
    """The names of a judgement's figures in the order of the argument; those of controls last."""
    return [*(name for name in FIGURES if name in figures), *(name for name in figures if name not in FIGURES)]


def setting(record: Mapping[str, Any]) -> Iterator[str]:
    """What was compared on what, and how, in phrases; `record` is what an audit says of itself."""
    data = {role: f"{samples['n']:,} samples of {samples['name']}" for role, samples in record["data"].items()}
    yield f"fitted on {data['fit']}, scored on {data['test']}"
    against = [f"conflict set: {data['conflict']}"] if "conflict" in data else []
    against += [f"interventions: {', '.join(record['interventions'])}"] if record["interventions"] else []
    yield "; ".join(against) or "neither a conflict set nor interventions"
    if record.get("mixtures"):
        yield f"mixtures: {', '.join(record['mixtures'])}"
    yield f"data: {'; '.join(dict.fromkeys(samples['source'] for samples in record['data'].values()))}"
    stitch = record["stitch"] if isinstance(record["stitch"], str) else record["stitch"]["name"]
    matching, training = record["matching"], record["matching"].get("training")
    how = [f"from {matching['init']}"] if matching.get("init") else []
    if training:
        how += [f"epochs {training['epochs']}", f"lr {training['lr']:g}", f"batch {training['batch']}"]
    by = f"matching {matching['name']!r}" + (f" ({', '.join(how)})" if how else "")
    seeds = ", ".join(map(str, record["seeds"]))
    yield f"stitch {stitch!r}, {by}, freeze {record['freeze']!r}, stitch seeds {seeds}"


# ---- sections: the evidence of single audits


def _controls(audit: Result) -> Strip:
    """The controls of an audit around the accuracy of the stitched network."""
    points: dict[str, list[Estimate]] = defaultdict(list)
    for outcome in audit.record["outcomes"]:
        points[outcome["control"]].append(accuracy_of(outcome))
    own, stitched = points.pop("sender", []), audit.record["judgement"]["figures"].get("stitched")
    observed = Estimate.from_record(stitched) if stitched else own[0]
    alone = {"receiver alone": Estimate.from_record(audit.record["outcomes"][0]["result"]["receiver_here"])}
    groups = tuple((name, tuple(estimates)) for name, estimates in points.items())
    return Strip(f"{audit.pair} at {audit.cut}", groups, observed, "accuracy", alone)


def _rank_section(audits: Sequence[Result]) -> Section:
    """How many directions the receiver's first layer sees, by cut (Smith et al. 2025, Fig. 2c)."""
    groups = groups_of(audits, lambda audit: f"{audit.labels['sender']} → {audit.labels['receiver']}")
    text = (
        "Rank of the activations at the receiver's first layer behind the cut: of its own (native), of the "
        "stitched ones, and of controls. A rank far from the native one says that the receiver is shown something "
        "that it never makes."
    )
    figures = tuple(_ranks(name, group) for name, group in groups.items())
    return Section("rank", "Rank behind the stitch", text, figures, place=30)


def _ranks(name: str, audits: Sequence[Result]) -> Lines:
    ranks: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for audit in audits:
        for who, records in audit.record["verdicts"]["rank"]["figures"]["ranks"].items():
            ranks["stitched" if who == "sender" else who][audit.cut] += [float(record["rank"]) for record in records]

    def mean(values: list[float], unit: str) -> Estimate:
        return replace(over_seeds(values, unit), note="mean over them") if values else Estimate(math.nan)

    places, series = cuts_of(audits), []
    for who, by_cut in ranks.items():
        native = who == "native"
        points = (mean(by_cut[place], "networks" if native else "stitches") for place in places)
        series.append(Series(who, tuple(points), dashed=native))
    return Lines(f"Rank by cut, {name}", places, tuple(series), "rank")


def _distribution_section(audits: Sequence[Result]) -> Section:
    """OOD AUROC by cut, then the detector's scores of native and of stitched activations (Balogh's Fig. 1c)."""
    places, series = cuts_of(audits), []
    for pair, group in groups_of(audits, lambda audit: audit.pair).items():
        observed = {audit.cut: audit.record["verdicts"]["distribution"]["observed"] for audit in group}
        series.append(Series(pair, tuple(Estimate.from_record(observed.get(place)) for place in places)))
    series.append(Series("chance", tuple(Estimate(0.5) for _ in places), dashed=True))
    figures: list[Figure] = [Lines("OOD AUROC by cut", places, tuple(series), "AUROC", bounds=(0.0, 1.0))]
    figures += [bins for audit in audits[:_HISTOGRAMS] if (bins := _histogram(audit)) is not None]
    text = (
        "How well a detector tells stitched activations from the receiver's own on the same inputs: an AUROC of 0.5 "
        "means that it cannot, 1 that it always can. Controls with the same information show what a stitch does by "
        "itself."
    )
    title = "Are stitched activations like native ones?"
    return Section("distribution", title, text, tuple(figures), place=50)


def _histogram(audit: Result) -> Histogram | None:
    bins = audit.record["verdicts"]["distribution"]["figures"].get("histogram")
    if not bins:
        return None
    counts = {name: tuple(bins[name]) for name in ("native", "stitched")}
    caption = f"Score: {bins['score']}, the first seed; what lies beyond the ends is in the outermost bins."
    title = f"{bins['score']}, native against stitched: {audit.pair} at {audit.cut}"
    # Scores of a classifier are of several folds, brought to one scale.
    unit = "energy" if bins["score"] == "energy" else f"{bins['score']}, in native standard deviations"
    return Histogram(title, tuple(bins["edges"]), counts, unit, caption)


def _conflict_section(results: StudyResults, audits: Sequence[Result]) -> Section:
    """Agreement where the cues disagree, and images of that: the input, and what both networks say."""
    figures: list[Figure] = []
    for audit in audits:
        figures.append(_agreements(audit))
        images = _conflict_images(results, audit)
        figures += [images] if images is not None else []
    text = (
        "Inputs on which the cues that agree in the data disagree. A stitched network that holds the receiver's "
        "information still gives the receiver's answers there; one that follows another cue does not."
    )
    return Section("conflict", "Where the cues disagree", text, tuple(figures), place=70)


def _agreements(audit: Result) -> Strip:
    verdict = audit.record["verdicts"]["conflict"]
    controls = tuple((name, tuple(map(Estimate.from_record, seeds))) for name, seeds in verdict["controls"].items())
    title = f"Agreement with the receiver on the {verdict['figures']['decided_by']}: {audit.pair} at {audit.cut}"
    observed = Estimate.from_record(verdict["observed"])
    return Strip(title, controls, observed, "agreement with the receiver", {}, verdict["sentence"])


def _conflict_images(results: StudyResults, audit: Result) -> Pictures | None:
    examples = results.tensor(audit, "examples", "examples")
    if examples is None:
        return None
    pictures = []
    answers = (examples[name].tolist() for name in ("labels", "receiver", "stitched"))
    for image, label, receiver, stitched in zip(examples["images"], *answers, strict=True):
        caption = f"receiver {receiver}, stitched {stitched}"
        alt = f"An input of class {label}: the receiver says {receiver}, the stitched network {stitched}"
        pictures.append(Picture(png(image.numpy()), caption, alt, apart=receiver != stitched))
    about = audit.record.get("examples") or {}
    share = about.get("disagree")
    caption = "" if share is None else f"They disagree on {share:.1%} of the set; shown are first those where they do."
    title = f"The {about.get('set', 'set')}: {audit.pair} at {audit.cut}"
    return Pictures(title, (("what is shown", tuple(pictures)),), caption)


def _mixing_section(results: StudyResults, audits: Sequence[Result]) -> Section:
    """What was named where two inputs are mixed: all looks, the pairs that told most, and where each listens."""
    figures: list[Figure] = []
    for audit in audits:
        figures.append(_looks(audit))
        images = _mixed_images(results, audit)
        figures += [images] if images is not None else []
        figures += [*_places(audit), *_bands(audit)]
    text = (
        "Two inputs with different answers are mixed. Where the receiver is sure of one of the two, a stitched network "
        "that holds its information believes in the same one; one that follows another cue believes in the other. A "
        "departure is the share of the other one. The control shows how much networks of the same information depart."
    )
    return Section("mixing", "Where two inputs are mixed", text, tuple(figures), place=75)


def _looks(audit: Result) -> Sheet:
    verdict = audit.record["verdicts"]["mixing"]
    columns = (
        *("mixture", "pairs", "departure", "of the control", "excess", "low", "high"),
        *("receiver follows it", "stitched network follows it"),
    )
    rows = []
    for look in verdict["figures"]["looks"].values():
        ends = look["excess"]["interval"] or (None, None)
        follows = look["follows"]["receiver"], look["follows"]["stitched"]
        words = look["mixes"], look["pairs"], look["departure"], look["control"]
        rows.append((*words, look["excess"]["value"], *ends, *follows))
    title = f"What is taken from the other input, and who follows it: {audit.pair} at {audit.cut}"
    return Sheet(title, columns, tuple(rows), verdict["sentence"])


def _mixed_images(results: StudyResults, audit: Result) -> Pictures | None:
    tensors = results.tensor(audit, "mixtures", "mixtures")
    if tensors is None:
        return None
    rows: dict[str, list[Picture]] = {"a": [], "b": [], "m": []}
    verdict = audit.record["verdicts"]["mixing"]
    for number, pair in enumerate(verdict["figures"]["pairs"]):
        says = f"receiver {pair['receiver']}, stitched {pair['stitched']}"
        captions = {"a": f"named {pair['answers'][0]}", "b": f"named {pair['answers'][1]}", "m": says}
        for name, caption in captions.items():
            apart = name == "m" and pair["receiver"] != pair["stitched"]
            rows[name].append(Picture(png(tensors[name][number].numpy()), caption, caption, apart=apart))
    names = {"a": "an input", "b": "another", "m": "their mixture"}
    part = verdict["figures"]["looks"][verdict["figures"]["decided_by"]]["mixes"]
    title = f"The pairs that told most, {part} from the other input: {audit.pair} at {audit.cut}"
    return Pictures(title, tuple((names[name], tuple(pictures)) for name, pictures in rows.items()))


def _places(audit: Result) -> Iterator[Grid]:
    """Where each of the two networks listens."""
    places = audit.record["verdicts"]["mixing"]["figures"].get("places") or {}
    for who in ("receiver", "stitched"):
        if who not in places:
            continue
        cells = tuple(tuple(Estimate(math.nan if x is None else x) for x in row) for row in places[who])
        rows, columns = (tuple(str(k + 1) for k in range(size)) for size in (len(cells), len(cells[0])))
        caption = "How much the other input is followed if this place comes from there."
        title = (
            f"Where the {'receiver' if who == 'receiver' else 'stitched network'} listens: {audit.pair} at {audit.cut}"
        )
        yield Grid(title, rows, columns, cells, (0.0, 1.0), caption=caption, axes=("row", "column"))


def _bands(audit: Result) -> Iterator[Grid]:
    """Which frequencies each of the two networks listens to."""
    bands = audit.record["verdicts"]["mixing"]["figures"].get("frequencies") or {}
    if bands:
        names = {"receiver": "receiver", "stitched": "stitched network"}
        # Records sort their keys.
        columns = tuple(sorted(bands["receiver"], key=("low", "middle", "high").index))
        shares = ([bands[who][band] for band in columns] for who in names)
        cells = tuple(tuple(Estimate(math.nan if x is None else x) for x in row) for row in shares)
        caption = "How much the other input is followed if these frequencies come from there."
        title = f"Which frequencies each listens to: {audit.pair} at {audit.cut}"
        yield Grid(title, tuple(names.values()), columns, cells, (0.0, 1.0), caption=caption, axes=("network", "band"))
