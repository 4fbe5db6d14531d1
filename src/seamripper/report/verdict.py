"""The first screen: the question, the verdict in a sentence, three figures, the strongest reason to doubt it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seamripper._words import word_list
from seamripper.estimate import TELLING, Estimate
from seamripper.experiment.parts.audit_judgements import PairVerdict, cues_of, pair_verdicts
from seamripper.experiment.parts.base import by_names, groups_of, over
from seamripper.experiment.parts.compare import score_of
from seamripper.experiment.parts.control import accuracy_of
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result

_NAMES = 8
"""More names than this are counted, not listed."""


@dataclass(frozen=True)
class Headline:
    """What a reader should know who reads no further."""

    question: str
    verdict: str
    figures: tuple[tuple[str, Estimate], ...]
    doubt: str
    pairs: tuple[PairVerdict, ...] = ()
    """A verdict for each pair of names, if there are audits."""


def headline(run: Reading) -> Headline:
    """The headline of a run: from its audits if it has any, else from its stitches, its comparisons, or its counts."""
    if run.of("audit"):
        return _of_audits(run, run.of("audit"))
    if run.of("stitch"):
        return _of_stitches(run, run.of("stitch"))
    if run.of("compare"):
        return _of_comparisons(run, run.of("compare"))
    return _counts(run)


# ---- names


def _names(results: Sequence[Result], role: str) -> list[str]:
    return list(dict.fromkeys(str(result.labels[role]) for result in results))


def _short_list(names: Sequence[str], what: str) -> str:
    return word_list(names, quote="") if len(names) <= _NAMES else f"{len(names)} {what}"


def _receivers(results: Sequence[Result]) -> str:
    return _short_list([f"“{name}”" for name in _names(results, "receiver")], "receivers")


def _senders(results: Sequence[Result]) -> str:
    """The senders; one with the name of its receiver is named with how their training seeds compare."""
    which = {(True,): " itself", (False,): " from another seed", (False, True): " from the same and other seeds"}
    names = []
    for name, group in groups_of(results, lambda result: str(result.labels["sender"])).items():
        own = [_seeds(result) for result in group if str(result.labels["receiver"]) == name]
        names.append(f"“{name}”{which.get(tuple(sorted({a == b for a, b in own})), '')}")
    return _short_list(names, "senders")


def _seeds(result: Result) -> tuple[Any, Any]:
    return result.labels.get("sender_seed"), result.labels.get("receiver_seed")


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


# ---- audits


def _of_audits(run: Reading, audits: Sequence[Result]) -> Headline:
    worst = min(audits, key=lambda audit: _share(audit.record["judgement"]["figures"].get("agreement")))
    record, place = worst.record, f"{worst.pair} at {worst.cut}" if len(audits) > 1 else ""
    accuracy = Estimate.from_record(record["judgement"]["figures"]["stitched"])
    figures = [("accuracy of the stitched network", _with_note(accuracy, place))]
    conflict = record["verdicts"].get("conflict")
    if conflict is not None:
        note = f"{worst.pair} at {worst.cut}, {conflict['figures']['decided_by']}"
        agreement = _with_note(Estimate.from_record(conflict["observed"]), note)
        figures.append(("agreement with the receiver where the cues disagree", agreement))
    alone = Estimate.from_record(record["outcomes"][0]["result"]["receiver_here"], note=place)
    figures.append(_best_nothing(record["outcomes"]) or ("accuracy of the receiver alone", alone))
    doubt, pairs = _doubt_audits(run, audits), pair_verdicts(audits)
    return Headline(_same_thing(audits), _conclusions(audits), tuple(figures), doubt, pairs)


def _with_note(estimate: Estimate, note: str) -> Estimate:
    """The estimate with a note before its own."""
    return replace(estimate, note="; ".join(filter(None, (note, estimate.note))))


def _same_thing(audits: Sequence[Result]) -> str:
    # The receiver's: noise is cut nowhere.
    cuts, senders, receivers = (_names(audits, role) for role in ("receiver_cut", "sender", "receiver"))
    where = f"at {cuts[0]}" if len(cuts) == 1 else f"at {len(cuts)} cuts"
    if len(senders) == len(receivers) == 1 and senders != receivers:
        return f"Do {_senders(audits)} and {_receivers(audits)} represent the same thing {where}?"
    does = "Does" if len(senders) == 1 else "Do"
    return f"{does} {_senders(audits)} represent the same thing as {_receivers(audits)} {where}?"


def _share(estimate: Any) -> float:
    return math.inf if not estimate or estimate["value"] is None else float(estimate["value"])


def _conclusions(audits: Sequence[Result]) -> str:
    """The conclusion on each pair of names, apart for each way in which the cues were set against each other."""
    ways: dict[str, list[str]] = defaultdict(list)
    for way, group in groups_of(audits, lambda audit: cues_of(audit.record)).items():
        ways[_conclusion(group)].append(way)
    if sum(map(len, ways.values())) == 1:
        return f"{_capital(next(iter(ways)))}."
    return " ".join(f"{_capital(word_list(by, quote=''))}: {conclusion}." for conclusion, by in ways.items())


def _conclusion(audits: Sequence[Result]) -> str:
    """The conclusions, each with the pairs that it is about, by how many audits said what."""
    by_pair = groups_of(audits, by_names)
    short = len(_names(audits, "receiver")) == 1
    pairs: dict[str, list[str]] = defaultdict(list)
    for pair, group in by_pair.items():
        conclusions = Counter(audit.record["judgement"]["conclusion"] for audit in group)
        pairs[_frequencies(conclusions)].append(f"“{pair.partition(' → ')[0]}”" if short else pair)
    if len(by_pair) == 1:
        return next(iter(pairs))
    return "; ".join(f"{word_list(names, quote='')}: {conclusion}" for conclusion, names in pairs.items())


def _frequencies(conclusions: Counter[str]) -> str:
    total = sum(conclusions.values())
    (first, n), *rest = conclusions.most_common()
    if not rest:
        return first + (f", in {'both' if total == 2 else f'all {total}'} audits" if total > 1 else "")
    others = "; ".join(f"{conclusion} in {k}" for conclusion, k in rest)
    return f"{first} in {n} of {total} audits ({others})"


def _best_nothing(outcomes: Sequence[Mapping[str, Any]]) -> tuple[str, Estimate] | None:
    """The best accuracy of a control that is known to have learnt nothing."""
    nothing = [(accuracy_of(outcome), outcome["control"]) for outcome in outcomes if outcome.get("known") == "nothing"]
    known = [(accuracy, name) for accuracy, name in nothing if not math.isnan(accuracy.value)]
    if not known:
        return None
    accuracy, name = max(known, key=lambda pair: pair[0].value)
    return f"accuracy of the best that has learnt nothing ({name})", accuracy


def _doubt_audits(run: Reading, audits: Sequence[Result]) -> str:
    torn = _disagreement(audits)
    if torn:
        return torn
    for audit in audits:
        leaks = (audit.record["verdicts"].get("margin") or {"figures": {}})["figures"].get("leaks")
        if leaks:
            return f"{audit.pair} at {audit.cut}: {leaks.removeprefix('But ')}"
    open_ends = ("unknown", "no conclusion")
    undecided = [audit for audit in audits if audit.record["judgement"]["conclusion"].endswith(open_ends)]
    if undecided:
        judgement = undecided[0].record["judgement"]
        whose = f"{undecided[0].pair} at {undecided[0].cut}: " if len(audits) > 1 else ""
        return f"{whose}{judgement['reason']} What would decide: {judgement['experiment']}"
    few = _unfinished_note(run) or _few_networks(audits)
    return few or f"What would change it: {audits[0].record['judgement']['experiment']}"


_DIFFER: tuple[tuple[str, Callable[[Result], Hashable]], ...] = (
    ("the cut", lambda audit: audit.cut),
    ("the training seeds", _seeds),
    ("how cues are set against each other", lambda audit: cues_of(audit.record)),
)
"""In what audits of one pair of names may differ."""


def _disagreement(audits: Sequence[Result]) -> str:
    """Whether audits of one pair of names come to different conclusions, and what else differs between them."""
    torn = {
        pair: group
        for pair, group in groups_of(audits, by_names).items()
        if len({audit.record["judgement"]["conclusion"] for audit in group}) > 1
    }
    if not torn:
        return ""
    differ = [words for words, of in _DIFFER if any(len(set(map(of, group))) > 1 for group in torn.values())]
    by = f", depending on {word_list(differ, quote='')}" if differ else " when it is audited again"
    which = f"{_short_list(list(torn), 'pairs')} {'is' if len(torn) == 1 else 'are'}"
    return f"The audits do not agree: {which} judged differently{by}. See the judgements."


# ---- what is missing


def _unfinished_note(run: Reading) -> str:
    """What failed, or is not there."""
    missing = run.asked - len(run.results)
    failed = sum(result.state == "failed" for result in run.results)
    if failed:
        more = f", and {missing} more have no result" if missing else ""
        return f"{failed} of {run.asked} jobs failed{more}: see the table at the end."
    if missing:
        return f"The study is not finished: {missing} of {run.asked} results are missing."
    return ""


def _few_networks(results: Sequence[Result]) -> str:
    """What too few trained networks leave open: counted for each pair of names, as each has a verdict of its own."""
    seeds = {pair: len(set(map(_seeds, group))) for pair, group in groups_of(results, by_names).items()}
    least = min(seeds.values())
    few = [pair for pair, n in seeds.items() if n == least]
    rests = "Each verdict rests" if len(few) == len(seeds) else f"The verdict on {few[0]} rests"
    rests = "It rests" if len(seeds) == 1 else rests
    if least < 2:
        return (
            f"{rests} on one pair of trained networks: another training seed may differ, and the intervals do not "
            "cover that."
        )
    if least < 5:
        return f"{rests} on {least} pairs of training seeds: intervals over so few say little."
    return ""


# ---- stitches


def _of_stitches(run: Reading, stitches: Sequence[Result]) -> Headline:
    fronts = "Does the front of" if len(_names(stitches, "sender")) == 1 else "Do fronts of"
    question = f"{fronts} {_senders(stitches)} work with the back of {_receivers(stitches)}?"
    scored = [stitch for stitch in stitches if (stitch.record["result"]["top1"] or {}).get("value") is not None]
    if not scored:
        return Headline(question, "No stitched network has an accuracy.", (), "See the table for what there is.")
    readable = [stitch for stitch in scored if not stitch.record["result"].get("unreadable")]
    if not readable:
        return _unreadable(run, question, scored)
    settings = groups_of(readable, _setting)
    alike = max(settings.values(), key=lambda group: math.fsum(map(_top1, group)) / len(group))
    # Of several stitch seeds the median, as the best of them is the best by luck.
    best = sorted(alike, key=_top1)[(len(alike) - 1) // 2]
    verdict, works = _compared_with_receiver(best, seeds=len(alike), several=len(settings) > 1)
    verdict += " Accuracy does not show whether both use the same information, and there is no audit here."
    figures = [
        (f"accuracy, {best.pair} at {best.cut}", over(alike, "top1")),
        ("accuracy of the receiver alone", over(alike, "receiver_here")),
    ]
    beside = [control for control in run.of("control") if _setting(control) == _setting(best)]
    nothing = _best_nothing([outcome for control in beside for outcome in control.record["outcomes"]])
    figures.append(nothing or ("agreement with the receiver", over(alike, "agreement")))
    doubt = "A stitch that works is no evidence of the same information; add an [[audit]] with a conflict set."
    if not works:
        doubt = "The stitch itself may be at fault: another stitch or matching, or more training, may do better."
    elif nothing is not None and nothing[1].value >= 0.8 * figures[0][1].value:
        doubt = f"{_capital(nothing[0])} is {nothing[1].value:.3g}: what works for nothing proves nothing."
    doubt = f"{doubt} {_unfinished_note(run)}".rstrip()
    return Headline(question, verdict, tuple(figures), doubt)


def _unreadable(run: Reading, question: str, stitches: Sequence[Result]) -> Headline:
    """What is left to say where the receiver is at chance on the labels: how far its own answers are given."""
    best = max(stitches, key=lambda stitch: float(stitch.record["result"]["agreement"]["value"]))
    result, who = best.record["result"], f"{best.pair} at {best.cut}"
    agreement = Estimate.from_record(result["agreement"])
    verdict = (
        f"Accuracy is unreadable: {result['unreadable']}. What can be read is how often the receiver's own answers are "
        f"given: {who} gives them on {agreement.value:.0%} of the samples, {result['agreement_chance']:.0%} by chance."
    )
    figures = [(f"agreement with the receiver, {who}", agreement)]
    for name, what in (("top5_overlap", "overlap of the first five classes"), ("kl", "divergence KL, nats")):
        if result.get(name) is not None:
            figures.append((what, Estimate.from_record(result[name])))
    doubt = f"The labels of {result['data']} may not be those of the receiver's task. {_unfinished_note(run)}"
    return Headline(question, verdict, tuple(figures), doubt.rstrip())


def _top1(stitch: Result) -> float:
    return float(stitch.record["result"]["top1"]["value"])


def _compared_with_receiver(best: Result, *, seeds: int, several: bool) -> tuple[str, bool]:
    """How the best stitched network does beside the receiver alone, and whether it works."""
    result = best.record["result"]
    penalty, relative = (Estimate.from_record(result[name]) for name in ("penalty", "relative_accuracy"))
    lost, works = f"{100 * penalty.value:.1f} percentage points", relative.value >= 0.8
    who = f"{best.pair} at {best.cut}" + (f" (the median of {seeds} stitch seeds)" if seeds > 1 else "")
    if str(best.record.get("status", "")).startswith("diverged"):
        return f"The stitch of {who} has diverged, so its scores say nothing about the two networks.", False
    if math.isnan(relative.value) or not penalty.has_interval:
        accuracy = Estimate.from_record(result["top1"]).describe(note=False)
        return f"{who} reaches {accuracy}; there is no accuracy of the receiver to compare it with.", True
    if penalty.high - penalty.low > 2 * TELLING and penalty.low <= 0 <= penalty.high:
        few = f"{result['n']:,} samples are too few to tell {who}"
        return f"{few}{', the best of them,' if several else ''} from the receiver alone.", True
    if penalty.low > 0:
        answer, does = "Nearly" if works else "Hardly", f"loses {lost} against the receiver alone"
    elif penalty.high < 0:
        answer, does = "Yes", "does better than the receiver alone"
    else:
        answer, does = "Yes", "does as well as the receiver alone, within the interval"
    return f"{answer}{', the best of them' if several else ''}: {who} {does}.", works


def _setting(result: Result) -> tuple[Any, ...]:
    """All but the seed of the stitch."""
    return result.pair, result.cut, *(result.labels.get(name) for name in ("matching", "freeze", "stitch", "data"))


# ---- comparisons, and the rest


def _of_comparisons(run: Reading, comparisons: Sequence[Result]) -> Headline:
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
    most_alike = max if matrix["direction"] == "similarity" else min
    hits = sum(cell[0] == most_alike(other[0] for other in known if other[1] == cell[1]) for cell in shared)
    verdict = f"By {measure} the most alike are {names[0][order[0][1]]} and {names[1][order[0][2]]}"
    if shared:
        are = "is" if hits == 1 else "are"
        verdict += f"; of {len(shared)} layers with the same name, {hits} {are} most alike to their own"
    verdict += f" ({first.pair}, the first of {len(comparisons)} comparisons)." if len(comparisons) > 1 else "."
    chosen = {"most alike": 0, "least alike": len(order) - 1, "in the middle": len(order) // 2}
    figures = []
    for (what, k), _ in zip(chosen.items(), order, strict=False):
        _, i, j, score = order[k]
        figures.append((f"{measure}, {what}: {names[0][i]} × {names[1][j]}", score_of(score, first.record)))
    # The verdict is of the first comparison alone.
    return Headline(question, verdict, tuple(figures), _unfinished_note(run) or _few_networks([first]))


def _counts(run: Reading) -> Headline:
    done = sum(result.state == "done" for result in run.results)
    kinds = Counter(result.kind for result in run.results if result.state == "done")
    counts = ", ".join(f"{n} of the kind {kind}" for kind, n in kinds.most_common()) or "nothing yet"
    doubt = _unfinished_note(run) or "These are figures of single jobs; the table has all of them."
    question = run.description.get("about") or f"What did {run.name} find?"
    return Headline(question, f"{done} of {run.asked} jobs are done: {counts}.", (), doubt)
