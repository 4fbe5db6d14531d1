"""The evidence of single audits, as a report shows it: controls, ranks, distributions, conflicts and mixtures."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.parts.base import by_names, colour_of, cuts_of, groups_of
from seamripper.experiment.parts.control import accuracy_of, colours_of_kinds, controls_section, known_of, looks_of
from seamripper.experiment.result import Result, StudyResults
from seamripper.figures import (
    Figure,
    Grid,
    Histogram,
    Lines,
    Picture,
    Pictures,
    Section,
    Series,
    Sheet,
    Strip,
    png,
    twins,
)

_HISTOGRAMS, _CONFLICTS = 12, 8
"""Of how many audits a report shows the histogram, and what was seen where the cues disagree."""


def evidence_sections(results: StudyResults, audits: Sequence[Result]) -> Iterator[Section]:
    """The evidence of single audits, and the controls around what was observed."""
    yield from controls_section(_controls(results, audit) for audit in audits)
    ranked, distributed, conflicting, mixing = (
        [audit for audit in audits if name in audit.record["verdicts"]]
        for name in ("rank", "distribution", "conflict", "mixing")
    )
    if ranked:
        yield _rank_section(results, ranked)
    if distributed:
        yield _distribution_section(results, distributed)
    if conflicting:
        yield _conflict_section(results, conflicting[:_CONFLICTS])
    if mixing:
        yield _mixing_section(results, mixing[:_CONFLICTS])


def _controls(results: StudyResults, audit: Result) -> Strip:
    """The controls of an audit around the accuracy of the stitched network."""
    points: dict[str, list[Estimate]] = defaultdict(list)
    for outcome in audit.record["outcomes"]:
        points[outcome["control"]].append(accuracy_of(outcome))
    own, stitched = points.pop("sender", []), audit.record["judgement"]["figures"].get("stitched")
    observed = Estimate.from_record(stitched) if stitched else own[0]
    alone = {"receiver alone": Estimate.from_record(audit.record["outcomes"][0]["result"]["receiver_here"])}
    groups = tuple((name, tuple(estimates)) for name, estimates in points.items())
    looks = looks_of(results, str(audit.labels["sender"]), audit.record["outcomes"])
    return Strip(f"{audit.pair} at {audit.cut}", groups, observed, "accuracy", alone, **looks)


def _rank_section(results: StudyResults, audits: Sequence[Result]) -> Section:
    """How many directions the receiver's first layer sees, by cut (Smith et al. 2025, Fig. 2c)."""
    text = (
        "Rank of the activations at the receiver's first layer behind the cut: of its own (native), of the "
        "stitched ones, and of controls. A rank far from the native one says that the receiver is shown something "
        "that it never makes."
    )
    figures = twins(_ranks(results, name, group) for name, group in groups_of(audits, by_names).items())
    return Section("rank", "Rank behind the stitch", text, figures, place=30)


def _ranks(results: StudyResults, name: str, audits: Sequence[Result]) -> Lines:
    ranks: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for audit in audits:
        for who, records in audit.record["verdicts"]["rank"]["figures"]["ranks"].items():
            units = ranks["stitched" if who == "sender" else who][audit.cut]
            units |= {f"{audit.pair}, {k + 1}": float(record["rank"]) for k, record in enumerate(records)}

    def mean(values: dict[str, float], unit: str) -> Estimate:
        return replace(over_seeds(values, unit), note="mean over them") if values else Estimate(math.nan)

    places, series = cuts_of(audits), []
    colours = colours_of_kinds(known_of(outcome for audit in audits for outcome in audit.record["outcomes"]))
    colours |= {
        "stitched": colour_of(results, str(audits[0].labels["sender"])),
        "native": colour_of(results, str(audits[0].labels["receiver"])),
    }
    for who, by_cut in ranks.items():
        native = who == "native"
        points = (mean(by_cut[place], "networks" if native else "stitches") for place in places)
        series.append(Series(who, tuple(points), dashed=native, colour=colours.get(who, "")))
    return Lines(f"Rank by cut, {name}", places, tuple(series), "rank")


def _distribution_section(results: StudyResults, audits: Sequence[Result]) -> Section:
    """OOD AUROC by cut, then the detector's scores of native and of stitched activations (Balogh's Fig. 1c)."""
    places, series = cuts_of(audits), []
    for pair, group in groups_of(audits, by_names).items():
        points = tuple(_auroc([audit for audit in group if audit.cut == place]) for place in places)
        series.append(Series(pair, points, colour=colour_of(results, str(group[0].labels["sender"]))))
    series.append(Series("chance", tuple(Estimate(0.5) for _ in places), dashed=True))
    figures: list[Figure] = [Lines("OOD AUROC by cut", places, tuple(series), "AUROC", bounds=(0.0, 1.0))]
    figures += twins(bins for audit in audits[:_HISTOGRAMS] if (bins := _histogram(audit)) is not None)
    text = (
        "How well a detector tells stitched activations from the receiver's own on the same inputs: an AUROC of 0.5 "
        "means that it cannot, 1 that it always can. Controls with the same information show what a stitch does by "
        "itself."
    )
    title = "Are stitched activations like native ones?"
    return Section("distribution", title, text, tuple(figures), place=50)


def _auroc(audits: Sequence[Result]) -> Estimate:
    """The AUROC of audits of one pair of names: of one with its own interval, of several over training seeds."""
    observed = {a.pair: Estimate.from_record(a.record["verdicts"]["distribution"]["observed"]) for a in audits}
    if len(observed) < 2:
        return next(iter(observed.values()), Estimate(math.nan))
    return over_seeds({pair: auroc.value for pair, auroc in observed.items()}, "pairs of training seeds").as_share


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
    figures: list[Figure] = [*twins(_agreements(results, audit) for audit in audits)]
    figures += [images for audit in audits if (images := _conflict_images(results, audit)) is not None]
    text = (
        "Inputs on which the cues that agree in the data disagree. A stitched network that holds the receiver's "
        "information still gives the receiver's answers there; one that follows another cue does not."
    )
    return Section("conflict", "Where the cues disagree", text, tuple(figures), place=70)


def _agreements(results: StudyResults, audit: Result) -> Strip:
    verdict = audit.record["verdicts"]["conflict"]
    controls = tuple((name, tuple(map(Estimate.from_record, seeds))) for name, seeds in verdict["controls"].items())
    title = f"Agreement with the receiver on the {verdict['figures']['decided_by']}: {audit.pair} at {audit.cut}"
    looks = looks_of(results, str(audit.labels["sender"]), audit.record["outcomes"])
    observed = Estimate.from_record(verdict["observed"])
    return Strip(title, controls, observed, "agreement with the receiver", {}, verdict["sentence"], **looks)


def _conflict_images(results: StudyResults, audit: Result) -> Pictures | None:
    examples = results.tensor(audit, "examples", "examples")
    if examples is None:
        return None
    pictures = []
    answers = (examples[name].tolist() for name in ("labels", "receiver", "stitched"))
    for image, label, receiver, stitched in zip(examples["images"], *answers, strict=True):
        caption = f"true {label}, receiver {receiver}, stitched {stitched}"
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
        captions = {"m": says}
        for name, answer in zip("ab", pair["answers"], strict=True):
            # Stores of older versions have no labels of the two inputs.
            true = f"true {int(tensors[f'{name}_labels'][number])}, " if f"{name}_labels" in tensors else ""
            captions[name] = f"{true}named {answer}"
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
        yield Grid(title, rows, columns, cells, (0.0, 1.0), "share", caption, axes=("row", "column"))


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
        yield Grid(title, tuple(names.values()), columns, cells, (0.0, 1.0), "share", caption, axes=("network", "band"))
