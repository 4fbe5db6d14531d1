"""The first screen: the question, the verdict in a sentence, three figures, the strongest reason to doubt it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.report.figures import Point, as_point
from seamripper.report.sections.base import audited_point, over, samples_of, score_point
from seamripper.report.sections.judgements import cues_of

_BLIND = ("random_sender", "clustered_noise", "input")
"""Controls that have learnt nothing of the receiver's information."""
_TELLS = 0.05
"""Accuracies whose difference is not known to within so much are not compared in words."""
_NAMES = 8
"""More names than this are counted, not listed."""


@dataclass(frozen=True)
class Headline:
    """What a reader is to know who reads no further."""

    question: str
    verdict: str
    figures: tuple[tuple[str, Point], ...]
    doubt: str


def headline(run: Reading) -> Headline:
    """From audits where there are any, else from stitches, comparisons, or whatever was found."""
    if run.of("audit"):
        return _audited(run, run.of("audit"))
    if run.of("stitch"):
        return _stitched(run, run.of("stitch"))
    if run.of("compare"):
        return _compared(run, run.of("compare"))
    return _else(run)


# ---- names


def _joined(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> _joined(["“a”"]), _joined(["“a”", "“b”", "“c”"])
    ('“a”', '“a”, “b” and “c”')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _by_name(results: Sequence[Result], role: str) -> dict[str, list[Result]]:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[str(result.labels[role])].append(result)
    return groups


def _receivers(results: Sequence[Result]) -> str:
    names = [f"“{name}”" for name in _by_name(results, "receiver")]
    return _joined(names) if len(names) <= _NAMES else f"{len(names)} receivers"


def _senders(results: Sequence[Result]) -> str:
    """The senders; one that goes by its receiver's name is told from it by its training seed."""
    names = []
    for name, each in _by_name(results, "sender").items():
        same = {
            one.labels.get("sender_seed") == one.labels.get("receiver_seed")
            for one in each
            if str(one.labels["receiver"]) == name
        }
        which = {(True,): " itself", (False,): " from another seed", (False, True): " from the same and other seeds"}
        names.append(f"“{name}”{which.get(tuple(sorted(same)), '')}")
    return _joined(names) if len(names) <= _NAMES else f"{len(names)} senders"


def _pair_of_names(result: Result) -> str:
    return f"{result.labels['sender']} → {result.labels['receiver']}"


def _does(results: Sequence[Result]) -> str:
    return "Does" if len(_by_name(results, "sender")) == 1 else "Do"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


# ---- audits


def _audited(run: Reading, audits: Sequence[Result]) -> Headline:
    worst = min(audits, key=lambda one: _share(one.record["judgement"]["figures"].get("agreement")))
    record, place = worst.record, f"{worst.pair} at {worst.cut}" if len(audits) > 1 else ""
    accuracy = audited_point(
        record, record["judgement"]["figures"]["stitched"], record["outcomes"][0]["result"]["n"], place
    )
    figures = [("accuracy of the stitched network", accuracy)]
    conflict = record["verdicts"].get("conflict")
    if conflict is not None:
        note = f"{worst.pair} at {worst.cut}, {conflict['figures']['decided_by']}"
        agreement = audited_point(record, conflict["observed"], samples_of(conflict, record), note)
        figures.append(("agreement with the receiver where the cues disagree", agreement))
    blind = _best_blind(record["outcomes"])
    alone = as_point(record["outcomes"][0]["result"]["receiver_here"], place, unit="samples")
    figures.append(blind if blind is not None else ("accuracy of the receiver alone", alone))
    return Headline(_same_thing(audits), _conclusions(audits), tuple(figures), _doubt_audits(run, audits))


def _same_thing(audits: Sequence[Result]) -> str:
    # The receiver's: noise is cut nowhere.
    cuts = list(dict.fromkeys(str(one.labels["receiver_cut"]) for one in audits))
    where = f"at {cuts[0]}" if len(cuts) == 1 else f"at {len(cuts)} cuts"
    senders, receivers = _by_name(audits, "sender"), _by_name(audits, "receiver")
    if len(senders) == len(receivers) == 1 and senders.keys() != receivers.keys():
        return f"Do {_senders(audits)} and {_receivers(audits)} represent the same thing {where}?"
    return f"{_does(audits)} {_senders(audits)} represent the same thing as {_receivers(audits)} {where}?"


def _share(estimate: Any) -> float:
    return math.inf if not estimate or estimate["value"] is None else float(estimate["value"])


def _conclusions(audits: Sequence[Result]) -> str:
    """What was concluded of each pair of names; apart for each way in which the cues were set against each other."""
    ways: dict[str, list[Result]] = defaultdict(list)
    for audit in audits:
        ways[cues_of(audit.record)].append(audit)
    if len(ways) == 1:
        return f"{_capital(_concluded(audits))}."
    same: dict[str, list[str]] = defaultdict(list)
    for way, each in ways.items():
        same[_concluded(each)].append(way)
    return " ".join(f"{_capital(_joined(by))}: {conclusion}." for conclusion, by in same.items())


def _concluded(audits: Sequence[Result]) -> str:
    """The conclusions, each with the pairs that it is about, by how many audits said what."""
    by_pair: dict[str, Counter[str]] = defaultdict(Counter)
    for audit in audits:
        by_pair[_pair_of_names(audit)][audit.record["judgement"]["conclusion"]] += 1
    if len(by_pair) == 1:
        return _counted(*by_pair.values())
    short = len(_by_name(audits, "receiver")) == 1
    pairs: dict[str, list[str]] = defaultdict(list)
    for pair, conclusions in by_pair.items():
        pairs[_counted(conclusions)].append(f"“{pair.partition(' → ')[0]}”" if short else pair)
    return "; ".join(f"{_joined(names)}: {conclusion}" for conclusion, names in pairs.items())


def _counted(conclusions: Counter[str]) -> str:
    total = sum(conclusions.values())
    (first, n), *rest = conclusions.most_common()
    if not rest:
        return first + (f", in {'both' if total == 2 else f'all {total}'} audits" if total > 1 else "")
    others = "; ".join(f"{conclusion} in {k}" for conclusion, k in rest)
    return f"{first} in {n} of {total} audits ({others})"


def _best_blind(outcomes: Sequence[Mapping[str, Any]]) -> tuple[str, Point] | None:
    points = [
        (as_point(one["result"]["top1"], f"{one['label']}, seed {one['seed']}", unit="samples"), one["control"])
        for one in outcomes
        if one["control"] in _BLIND
    ]
    known = [(point, name) for point, name in points if not math.isnan(point.value)]
    if not known:
        return None
    point, name = max(known, key=lambda pair: pair[0].value)
    return f"accuracy of the best that has learnt nothing ({name})", point


def _doubt_audits(run: Reading, audits: Sequence[Result]) -> str:
    torn = _disagreement(audits)
    if torn:
        return torn
    for audit in audits:
        leaks = (audit.record["verdicts"].get("margin") or {"figures": {}})["figures"].get("leaks")
        if leaks:
            return f"{audit.pair} at {audit.cut}: {leaks.removeprefix('But ')}"
    undecided = [one for one in audits if one.record["judgement"]["conclusion"].endswith(("unknown", "no conclusion"))]
    if undecided:
        judgement = undecided[0].record["judgement"]
        whose = f"{undecided[0].pair} at {undecided[0].cut}: " if len(audits) > 1 else ""
        return f"{whose}{judgement['reason']} What would decide: {judgement['experiment']}"
    few = _unfinished(run) or _few_networks(audits)
    return few or f"What would change it: {audits[0].record['judgement']['experiment']}"


def _disagreement(audits: Sequence[Result]) -> str:
    """Whether audits of one pair of names come to different conclusions, and what else differs between them."""
    by_pair: dict[str, list[Result]] = defaultdict(list)
    for audit in audits:
        by_pair[_pair_of_names(audit)].append(audit)
    torn = {
        pair: each for pair, each in by_pair.items() if len({one.record["judgement"]["conclusion"] for one in each}) > 1
    }
    if not torn:
        return ""
    differ = [
        words
        for words, what in (
            ("the cut", _cut),
            ("the training seeds", _seeds),
            ("how cues are set against each other", _cues),
        )
        if any(len({what(one) for one in each}) > 1 for each in torn.values())
    ]
    by = f", depending on {_joined(differ)}" if differ else " when it is audited again"
    names = list(torn)
    which = _joined(names) if len(names) <= _NAMES else f"{len(names)} pairs"
    are = "is" if len(names) == 1 else "are"
    return f"The audits do not agree: {which} {are} judged differently{by}. See the judgements."


def _cut(result: Result) -> Hashable:
    return result.cut


def _seeds(result: Result) -> Hashable:
    return result.labels.get("sender_seed"), result.labels.get("receiver_seed")


def _cues(result: Result) -> Hashable:
    return cues_of(result.record)


# ---- what is missing


def _unfinished(run: Reading) -> str:
    """What failed, or is not there."""
    missing = run.asked - len(run.results)
    failed = sum(one.state == "failed" for one in run.results)
    if failed:
        more = f", and {missing} more have no result" if missing else ""
        return f"{failed} of {run.asked} jobs failed{more}: see the table at the end."
    if missing:
        return f"The study is not finished: {missing} of {run.asked} results are missing."
    return ""


def _few_networks(results: Sequence[Result]) -> str:
    """What too few trained networks leave open: counted for each pair of names, as each has a verdict of its own."""
    seeds: dict[str, set[Hashable]] = defaultdict(set)
    for result in results:
        seeds[_pair_of_names(result)].add(_seeds(result))
    least = min(len(each) for each in seeds.values())
    few = [pair for pair, each in seeds.items() if len(each) == least]
    if len(seeds) == 1:
        rests = "It rests"
    elif len(few) == len(seeds):
        rests = "Each verdict rests"
    else:
        rests = f"The verdict on {few[0]} rests"
    if least < 2:
        return f"{rests} on one pair of trained networks: another training seed may differ, and intervals do not say."
    if least < 5:
        return f"{rests} on {least} pairs of training seeds: intervals over so few say little."
    return ""


# ---- stitches


def _stitched(run: Reading, stitches: Sequence[Result]) -> Headline:
    fronts = "the front of" if len(_by_name(stitches, "sender")) == 1 else "fronts of"
    question = f"{_does(stitches)} {fronts} {_senders(stitches)} work with the back of {_receivers(stitches)}?"
    scored = [one for one in stitches if (one.record["result"]["top1"] or {}).get("value") is not None]
    if not scored:
        return Headline(question, "No stitched network has an accuracy.", (), "See the table for what there is.")
    readable = [one for one in scored if not one.record["result"].get("unreadable")]
    if not readable:
        return _unreadable(run, question, scored)
    settings: dict[Hashable, list[Result]] = defaultdict(list)
    for stitch in readable:
        settings[_setting(stitch)].append(stitch)
    alike = max(settings.values(), key=lambda each: math.fsum(map(_top1, each)) / len(each))
    # Of several stitch seeds the median, as the best of them is the best by luck.
    best = sorted(alike, key=_top1)[(len(alike) - 1) // 2]
    verdict, works = _compared_with_receiver(best, seeds=len(alike), several=len(settings) > 1)
    verdict += " Whether both use the same information, accuracy does not tell, and there is no audit here."
    figures = [
        (f"accuracy, {best.pair} at {best.cut}", over(alike, "top1")),
        ("accuracy of the receiver alone", over(alike, "receiver_here")),
    ]
    beside = [one for one in run.of("control") if _setting(one) == _setting(best)]
    blind = _best_blind([outcome for one in beside for outcome in one.record["outcomes"]])
    figures.append(blind if blind is not None else ("agreement with the receiver", over(alike, "agreement")))
    doubt = "A stitch that works is no evidence of the same information; add an [[audit]] with a conflict set."
    if not works:
        doubt = (
            "A stitch that fails may be at fault itself: another stitch or matching, or more training, may do better."
        )
    elif blind is not None and blind[1].value >= 0.8 * figures[0][1].value:
        doubt = f"{_capital(blind[0])} is {blind[1].value:.3g}: what works for nothing proves nothing."
    doubt = f"{doubt} {_unfinished(run)}".rstrip()
    return Headline(question, verdict, tuple(figures), doubt)


def _unreadable(run: Reading, question: str, stitches: Sequence[Result]) -> Headline:
    """What is left to say where the receiver is at chance on the labels: how far its own answers are given."""
    best = max(stitches, key=lambda stitch: float(stitch.record["result"]["agreement"]["value"]))
    result, who = best.record["result"], f"{best.pair} at {best.cut}"
    agreement = as_point(result["agreement"], unit="samples")
    verdict = (
        f"Accuracy is unreadable: {result['unreadable']}. What can be read is how far the receiver's own answers are "
        f"given: {who} gives them on {agreement.value:.0%} of the samples, {result['agreement_chance']:.0%} by chance."
    )
    figures = [(f"agreement with the receiver, {who}", agreement)]
    for name, what in (("top5_overlap", "overlap of the first five classes"), ("kl", "divergence KL, nats")):
        if result.get(name) is not None:
            figures.append((what, as_point(result[name], unit="samples")))
    doubt = f"The labels of {result['data']} may not be those of the receiver's task. {_unfinished(run)}"
    return Headline(question, verdict, tuple(figures), doubt.rstrip())


def _top1(stitch: Result) -> float:
    return float(stitch.record["result"]["top1"]["value"])


def _compared_with_receiver(best: Result, *, seeds: int, several: bool) -> tuple[str, bool]:
    """How the best stitched network does beside the receiver alone, and whether it works."""
    result = best.record["result"]
    penalty, relative = (as_point(result[name], unit="samples") for name in ("penalty", "relative_accuracy"))
    lost, works = f"{100 * penalty.value:.1f} percentage points", relative.value >= 0.8
    who = f"{best.pair} at {best.cut}" + (f" (the median of {seeds} stitch seeds)" if seeds > 1 else "")
    if str(best.record.get("status", "")).startswith("diverged"):
        return f"The stitch of {who} has diverged, so that its scores tell nothing of the two networks.", False
    if math.isnan(relative.value) or not penalty.has_interval:
        accuracy = as_point(result["top1"], unit="samples").short
        return f"{who} reaches {accuracy}; there is no accuracy of the receiver to compare it with.", True
    if penalty.high - penalty.low > 2 * _TELLS and penalty.low <= 0 <= penalty.high:
        few = f"{result['n']:,} samples are too few to tell {who}"
        return f"{few}{', the best of them,' if several else ''} from the receiver alone.", True
    if penalty.low > 0:
        answer, does = "Nearly" if works else "Hardly", f"loses {lost} against the receiver alone"
    else:
        better = (
            "better than the receiver alone"
            if penalty.high < 0
            else "as well as the receiver alone, within the interval"
        )
        answer, does = "Yes", f"does {better}"
    return f"{answer}{', the best of them' if several else ''}: {who} {does}.", works


def _setting(one: Result) -> tuple[Any, ...]:
    """All but the seed of the stitch."""
    return one.pair, one.cut, *(one.labels.get(name) for name in ("matching", "freeze", "stitch", "data"))


# ---- comparisons, and the rest


def _compared(run: Reading, comparisons: Sequence[Result]) -> Headline:
    first = comparisons[0]
    measure, matrix = next(iter(first.record["matrices"].items()))
    known = [
        (score["value"], i, j, score)
        for i, row in enumerate(matrix["scores"])
        for j, score in enumerate(row)
        if score is not None and score["value"] is not None
    ]
    question = f"Which layers of {_senders(comparisons)} and {_receivers(comparisons)} are alike?"
    if not known:
        sentence = f"{measure} could not be computed for any two layers of {first.pair}."
        return Headline(question, sentence, (), "See the table for the reasons.")
    order = sorted(known, key=lambda cell: cell[:3], reverse=matrix["direction"] == "similarity")
    names = first.record["senders"], first.record["receivers"]
    shared = [cell for cell in known if names[0][cell[1]] == names[1][cell[2]]]
    hits = sum(_is_best(cell, known, matrix["direction"]) for cell in shared)
    (_, i, j, best), (_, a, b, worst) = order[0], order[-1]
    verdict = f"By {measure} the most alike are {names[0][i]} and {names[1][j]}"
    verdict += (
        f"; of {len(shared)} layers with the same name, {hits} {'is' if hits == 1 else 'are'} most alike to their own"
        if shared
        else ""
    )
    verdict += f" ({first.pair}, the first of {len(comparisons)} comparisons)." if len(comparisons) > 1 else "."
    figures = [(f"{measure}, most alike: {names[0][i]} × {names[1][j]}", score_point(best, first.record))]
    if len(order) > 1:
        figures.append((f"{measure}, least alike: {names[0][a]} × {names[1][b]}", score_point(worst, first.record)))
    if len(order) > 2:
        _, i, j, middle = order[len(order) // 2]
        figures.append((f"{measure}, in the middle: {names[0][i]} × {names[1][j]}", score_point(middle, first.record)))
    # The verdict is of the first comparison alone.
    return Headline(question, verdict, tuple(figures), _unfinished(run) or _few_networks([first]))


def _is_best(cell: Any, known: Sequence[Any], direction: str) -> bool:
    row = [one[0] for one in known if one[1] == cell[1]]
    return bool(cell[0] == (max(row) if direction == "similarity" else min(row)))


def _else(run: Reading) -> Headline:
    done = sum(one.state == "done" for one in run.results)
    kinds = Counter(one.kind for one in run.results if one.state == "done")
    counts = ", ".join(f"{n} of the kind {kind}" for kind, n in kinds.most_common()) or "nothing yet"
    doubt = _unfinished(run) or "These are figures of single jobs; the table has all of them."
    return Headline(
        run.description.get("about") or f"What did {run.name} find?",
        f"{done} of {run.asked} jobs are done: {counts}.",
        (),
        doubt,
    )
