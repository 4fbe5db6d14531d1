"""What audits have judged, as a report tells it: a verdict for each pair, a scorecard of all audits, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.parts.base import by_names, groups_of
from seamripper.experiment.result import Result
from seamripper.figures import Answer, Section, Sheet

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
_TONES = {"same information": "good", "different information": "bad", "not stitchable": "none"}
"""What a conclusion that begins so means for the sender; all others leave it open."""
_AGAINST = {"distribution": "yes"}
"""The answer of an audit that speaks against the sender, if it is not "no"."""


def conclusion_of(conclusion: str) -> Answer:
    """A conclusion, coloured by what it means."""
    return Answer(conclusion, next((tone for start, tone in _TONES.items() if conclusion.startswith(start)), "open"))


# ---- a verdict for each pair


@dataclass(frozen=True)
class PairVerdict:
    """What the audits of one pair of names come to, and the figure that decided."""

    pair: str
    answer: Answer
    how: str
    """In which of how many audits, if there are several."""
    figure: str
    estimate: Estimate
    known: str = ""


def pair_verdicts(audits: Sequence[Result]) -> tuple[PairVerdict, ...]:
    """A verdict for each pair of names; the figure is the median of the audits that came to it."""
    return tuple(_pair_verdict(pair, group) for pair, group in groups_of(audits, by_names).items())


def _pair_verdict(pair: str, audits: Sequence[Result]) -> PairVerdict:
    counts = Counter(audit.record["judgement"]["conclusion"] for audit in audits)
    (conclusion, most), *others = counts.most_common()
    agreeing = [audit for audit in audits if audit.record["judgement"]["conclusion"] == conclusion]
    order = sorted(agreeing, key=lambda audit: (_deciding(audit)[0], _deciding(audit)[1].value))
    median = order[(len(order) - 1) // 2]
    figure, estimate = _deciding(median)
    known = "; ".join(dict.fromkeys(str(audit.labels.get("known") or "") for audit in audits))
    answer = conclusion_of(conclusion)
    how = f"all {len(audits)} audits" if len(audits) > 2 else "both audits" if len(audits) == 2 else ""
    if others:
        rest = "; ".join(f"{other} in {n}" for other, n in others)
        answer, how = Answer(conclusion, "open"), f"{most} of {len(audits)} audits; {rest}"
    return PairVerdict(pair, answer, how, f"{figure}, at {median.cut}", estimate, known)


def _deciding(audit: Result) -> tuple[str, Estimate]:
    """The figure that a judgement rests on, in words and as a number."""
    judgement = audit.record["judgement"]
    figures, by = judgement["figures"], judgement["figures"].get("deciding_audit")
    if by == "conflict":
        return f"agreement with the receiver, {figures['decided_by']}", Estimate.from_record(figures["agreement"])
    if by == "mixing":
        return f"departures beyond the control's, {figures['decided_by']}", Estimate.from_record(figures["excess"])
    if judgement["conclusion"].startswith("not stitchable"):
        return FIGURES["recovered"], Estimate.from_record(figures["recovered"])
    rivals = {name: Estimate.from_record(figures[name]) for name in figures if name not in FIGURES}
    if judgement["conclusion"].startswith("interchangeable, but") and rivals:
        best = max(rivals, key=lambda name: rivals[name].value)
        return f"accuracy of {best}, which has learnt nothing", rivals[best]
    return FIGURES["stitched"], Estimate.from_record(figures.get("stitched"))


# ---- the scorecard


def judgements_section(audits: Sequence[Result]) -> Section:
    """A row for each comparison with every answer; then each answer with its reason; then the figures."""
    known = any("known" in audit.labels for audit in audits)
    names = list(dict.fromkeys(name for audit in audits for name in _answers(audit)))
    titled = list(zip(_titles(audits), audits, strict=True))
    settings = dict.fromkeys("; ".join(setting(audit.record["record"])) for audit in audits)
    caption = " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in settings)
    columns = ("comparison", "judged", *(["what is known"] if known else []), *names)
    card = Sheet(
        "Scorecard", columns, tuple((title, *_card_row(audit, names, known)) for title, audit in titled), caption
    )
    reasons = Sheet(
        "Every answer, and why",
        ("comparison", "audit", "answer", "reason, or why it was not done", "effect", "p", "what would change this"),
        tuple((title, *row) for title, audit in titled for row in _reason_rows(audit)),
        "An effect is the difference that an audit looks at, with its 95 % interval. Not every audit has a p-value.",
    )
    rest = Sheet(
        "What the judgements rest on",
        ("comparison", "figure", "value", "low", "high", "n", "of"),
        tuple((title, *row) for title, audit in titled for row in _figure_rows(audit)),
    )
    text = (
        "One rule judges every comparison from the answers of all audits, in one of five conclusions. Where an audit "
        "was not done, the reason is given below."
    )
    return Section("judgements", "What was judged, and why", text, (card, reasons, rest), place=10)


def _answers(audit: Result) -> dict[str, Answer]:
    """The answer of every audit, also of those that were not done."""
    answers = {}
    for name, verdict in audit.record["verdicts"].items():
        against = _AGAINST.get(name, "no")
        tone = "open" if verdict["answer"] == "unknown" else "bad" if verdict["answer"] == against else "good"
        answers[name] = Answer(verdict["answer"], tone)
    not_done = [name for name in audit.record["skipped"] if name not in _controls(audit)]
    return answers | dict.fromkeys(not_done, Answer("not done", "none"))


def _controls(audit: Result) -> set[str]:
    return {control["name"] for control in audit.record["record"]["controls"]}


def cues_of(record: Mapping[str, Any]) -> str:
    """How an audit has set cues that agree in the data against each other."""
    ways = ["a conflict set"] if "conflict" in record["record"]["data"] else []
    ways += ["interventions"] if record["record"]["interventions"] else []
    ways += ["mixtures"] if "mixing" in record["verdicts"] else []
    return f"with {' and '.join(ways)}" if ways else "with nothing on which cues disagree"


def _titles(audits: Sequence[Result]) -> list[str]:
    """What each audit is called: by pair and cut, and by its cues where audits differ in them."""
    several = len({cues_of(audit.record) for audit in audits}) > 1
    return [f"{a.pair} at {a.cut}{f', {cues_of(a.record)}' if several else ''}" for a in audits]


def _card_row(audit: Result, names: Sequence[str], known: bool) -> tuple[Any, ...]:
    answers = _answers(audit)
    truth = (audit.labels.get("known") or "",) if known else ()
    conclusion = conclusion_of(audit.record["judgement"]["conclusion"])
    return conclusion, *truth, *(answers.get(name, "") for name in names)


def _reason_rows(audit: Result) -> Iterator[tuple[Any, ...]]:
    """The judgement first, then every audit with its reason; what would change a judgement stands in its row."""
    judgement, answers = audit.record["judgement"], _answers(audit)
    reason, change = judgement["reason"], judgement["experiment"]
    yield "judgement", conclusion_of(judgement["conclusion"]), reason, "", None, change
    for name, verdict in audit.record["verdicts"].items():
        effect = Estimate.from_record(verdict["effect"])
        yield name, answers[name], verdict["sentence"], str(effect), verdict["p"], ""
    for name, why in audit.record["skipped"].items():
        words = f"the control {name}" if name in _controls(audit) else name
        yield words, Answer("not done", "none"), why, "", None, ""


def _figure_rows(audit: Result) -> Iterator[tuple[Any, ...]]:
    """Each figure of a judgement, with its interval; the names of controls are figures, too."""
    figures = audit.record["judgement"]["figures"]
    for name in sorted_figures(figures):
        figure, words = figures[name], FIGURES.get(name, f"accuracy of {name}")
        if not isinstance(figure, Mapping):
            figure = {"value": figure, "interval": None, "n": None}
        ends = figure["interval"] or (None, None)
        yield words, figure["value"], *ends, figure["n"], figure.get("unit", "")


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
