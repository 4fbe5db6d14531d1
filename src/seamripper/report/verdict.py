"""The first screen: the question, the verdict in a sentence, three figures, the strongest reason to doubt it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.report.figures import Point, as_point
from seamripper.report.reading import Reading, Result
from seamripper.report.sections.base import cuts_of, over

_BLIND = ("random_sender", "clustered_noise", "input")
"""Controls that have learnt nothing of the receiver's information."""


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


def _names(results: Sequence[Result], role: str) -> str:
    """The models of a role, in words."""
    names = [f"“{name}”" for name in dict.fromkeys(str(one.labels[role]) for one in results)]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# ---- audits


def _audited(run: Reading, audits: Sequence[Result]) -> Headline:
    cuts = cuts_of(audits)
    where = f"at {cuts[0]}" if len(cuts) == 1 else f"at {len(cuts)} cuts"
    question = f"Do {_names(audits, 'sender')} and {_names(audits, 'receiver')} represent the same thing {where}?"
    worst = min(audits, key=lambda one: _share(one.record["judgement"]["figures"].get("agreement")))
    figures = [("accuracy of the stitched network", as_point(worst.record["judgement"]["figures"]["stitched"]))]
    conflict = worst.record["verdicts"].get("conflict")
    if conflict is not None:
        agreement = as_point(conflict["observed"], f"{worst.pair} at {worst.cut}, {conflict['figures']['decided_by']}")
        figures.append(("agreement with the receiver where the cues disagree", agreement))
    blind = _best_blind(worst.record["outcomes"])
    figures.append(blind if blind is not None else ("accuracy of the receiver alone", _alone(worst)))
    return Headline(question, _conclusions(audits), tuple(figures[:3]), _doubt_audits(run, audits))


def _share(estimate: Any) -> float:
    return math.inf if not estimate or estimate["value"] is None else float(estimate["value"])


def _alone(one: Result) -> Point:
    return as_point(one.record["outcomes"][0]["result"]["receiver_here"])


def _conclusions(audits: Sequence[Result]) -> str:
    """One sentence for each pair of names, by how many audits said what."""
    by_pair: dict[str, Counter[str]] = {}
    for one in audits:
        pair = f"{one.labels['sender']} → {one.labels['receiver']}"
        by_pair.setdefault(pair, Counter())[one.record["judgement"]["conclusion"]] += 1
    if len(by_pair) == 1:
        (said,) = by_pair.values()
        return _told(said)
    return " ".join(f"{pair}: {_told(said)}" for pair, said in by_pair.items())


def _told(said: Counter[str]) -> str:
    total = sum(said.values())
    (first, n), *rest = said.most_common()
    start = f"{first[0].upper()}{first[1:]}"
    if not rest:
        return f"{start}{f', in all {total} audits' if total > 1 else ''}."
    others = "; ".join(f"{conclusion} in {k}" for conclusion, k in rest)
    return f"{start} in {n} of {total} audits ({others})."


def _best_blind(outcomes: Sequence[dict[str, Any]]) -> tuple[str, Point] | None:
    found = [
        (as_point(one["result"]["top1"], one["label"]), one["control"]) for one in outcomes if one["control"] in _BLIND
    ]
    if not found:
        return None
    point, name = max(found, key=lambda pair: pair[0].value)
    return f"accuracy of the best that has learnt nothing ({name})", point


def _doubt_audits(run: Reading, audits: Sequence[Result]) -> str:
    conclusions = {
        (one.labels["sender"], one.labels["receiver"], one.record["judgement"]["conclusion"]) for one in audits
    }
    pairs = {(sender, receiver) for sender, receiver, _ in conclusions}
    if len(conclusions) > len(pairs):
        return (
            "The audits do not agree: cuts or training seeds of the same pair are judged differently. See the controls."
        )
    leaks = [one for one in audits if (one.record["verdicts"].get("margin") or {"figures": {}})["figures"].get("leaks")]
    if leaks:
        return f"{leaks[0].record['verdicts']['margin']['figures']['leaks']} ({leaks[0].pair} at {leaks[0].cut})."
    undecided = [one for one in audits if "unknown" in one.record["judgement"]["conclusion"]]
    if undecided:
        judgement = undecided[0].record["judgement"]
        return f"{judgement['reason']} What would decide: {judgement['experiment']}"
    return _few(run, audits) or f"What would change it: {audits[0].record['judgement']['experiment']}"


def _few(run: Reading, results: Sequence[Result]) -> str:
    """What too few units leave open."""
    if len(run.results) < run.asked:
        return f"The study is not finished: {run.asked - len(run.results)} of {run.asked} results are missing."
    failed = sum(one.state == "failed" for one in run.results)
    if failed:
        return f"{failed} of {run.asked} jobs failed: see the table at the end."
    seeds = {(one.labels.get("sender_seed"), one.labels.get("receiver_seed")) for one in results}
    if len(seeds) < 2:
        return "It rests on one pair of trained networks: another training seed may differ, and intervals do not say."
    if len(seeds) < 5:
        return f"It rests on {len(seeds)} pairs of training seeds: intervals over so few say little."
    return ""


# ---- stitches


def _stitched(run: Reading, stitches: Sequence[Result]) -> Headline:
    question = f"Do fronts of {_names(stitches, 'sender')} work with the back of {_names(stitches, 'receiver')}?"
    best = max(stitches, key=lambda one: one.record["result"]["top1"]["value"])
    alike = [one for one in stitches if one.pair == best.pair and one.cut == best.cut and _way(one) == _way(best)]
    relative = as_point(best.record["result"]["relative_accuracy"])
    does = (
        "as well as the receiver alone"
        if relative.high >= 1
        else f"{relative.value:.0%} of what the receiver alone does"
    )
    verdict = (
        f"Yes, the best of them: {best.pair} at {best.cut} does {does}."
        if relative.value >= 0.8
        else (f"Hardly: the best of them, {best.pair} at {best.cut}, does {does}.")
    )
    verdict += " Whether both use the same information, accuracy does not tell, and no audit was run."
    figures = [
        (f"accuracy, {best.pair} at {best.cut}", over(alike, "top1")),
        ("the receiver alone", over(alike, "receiver_here")),
    ]
    beside = [
        outcome
        for one in run.of("control")
        if one.pair == best.pair and one.cut == best.cut and _way(one) == _way(best)
        for outcome in one.record["outcomes"]
    ]
    blind = _best_blind(beside)
    figures.append(blind if blind is not None else ("agreement with the receiver", over(alike, "agreement")))
    if blind is not None and blind[1].value >= 0.8 * figures[0][1].value:
        doubt = (
            f"{blind[0][0].upper()}{blind[0][1:]} reaches {blind[1].value:.3g}: what works for nothing proves nothing."
        )
    else:
        doubt = "A stitch that works is no evidence of the same information; add an [[audit]] with a conflict set."
    return Headline(question, verdict, tuple(figures), doubt)


def _way(one: Result) -> tuple[Any, ...]:
    return one.labels.get("matching"), one.labels.get("freeze"), one.labels.get("stitch")


# ---- comparisons, and the rest


def _compared(run: Reading, found: Sequence[Result]) -> Headline:
    one = found[0]
    measure, matrix = next(iter(one.record["matrices"].items()))
    known = [
        (score["value"], i, j, score)
        for i, row in enumerate(matrix["scores"])
        for j, score in enumerate(row)
        if score is not None
    ]
    question = f"Which layers of {_names(found, 'sender')} and {_names(found, 'receiver')} are alike?"
    if not known:
        return Headline(
            question, f"{measure} could not be computed for any pair.", (), "See the table for the reasons."
        )
    order = sorted(known, key=lambda cell: cell[:3], reverse=matrix["direction"] == "similarity")
    _, i, j, best = order[0]
    names = one.record["senders"], one.record["receivers"]
    shared = [cell for cell in known if names[0][cell[1]] == names[1][cell[2]]]
    hits = sum(_is_best(cell, known, matrix["direction"]) for cell in shared)
    verdict = f"By {measure} the most alike are {names[0][i]} and {names[1][j]}"
    verdict += f"; of {len(shared)} layers with the same name, {hits} are most alike to their own." if shared else "."
    figures = [(f"{measure}, {names[0][i]} × {names[1][j]}", _score_point(best))]
    _, a, b, worst = order[-1]
    figures.append((f"{measure}, least alike: {names[0][a]} × {names[1][b]}", _score_point(worst)))
    middle = order[len(order) // 2]
    figures.append((f"{measure}, in the middle", _score_point(middle[3])))
    few = _few(run, found)
    doubt = few or "Nothing with a known answer was compared: a high score may tell of the data alone."
    return Headline(question, verdict, tuple(figures), doubt)


def _is_best(cell: Any, known: Sequence[Any], direction: str) -> bool:
    row = [one[0] for one in known if one[1] == cell[1]]
    return bool(cell[0] == (max(row) if direction == "similarity" else min(row)))


def _score_point(score: dict[str, Any]) -> Point:
    low, high = score["interval"] or (math.nan, math.nan)
    return Point(score["value"], low, high, score["n"])


def _else(run: Reading) -> Headline:
    done = sum(one.state == "done" for one in run.results)
    kinds = Counter(one.kind for one in run.results if one.state == "done")
    told = ", ".join(f"{n} of the kind {kind}" for kind, n in kinds.most_common()) or "nothing yet"
    doubt = _few(run, run.results) or "These are figures of single jobs; the table has all of them."
    return Headline(
        run.description.get("about") or f"What did {run.name} find?",
        f"{done} of {run.asked} jobs are done: {told}.",
        (),
        doubt,
    )
