"""What each audit came to, why, what would change it, and the figures that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Figure, Sheet
from seamripper.report.sections.base import Section

FIGURES = {
    "stitched": "accuracy of the stitched network",
    "receiver": "accuracy of the receiver alone",
    "self": "accuracy of the receiver stitched to itself",
    "chance": "chance",
    "own_answers": "the receiver's own answers that the stitched network gives",
    "own_answers_by_chance": "of these by chance",
    "recovered": "recovered of what the receiver does above chance",
    "margin": "margin over the best control that should fail",
    "decided_by": "decided by",
    "agreement": "agreement with the receiver there",
    "kept": "kept there of the control's agreement beyond chance",
    "score": "place between nothing learnt (0) and the control (1) where it departs most",
}
"""The figures of a judgement in words, in the order of the argument."""


def judgements(run: Reading) -> Section | None:
    """A row for each audit, and a row for each figure."""
    audits = run.of("audit")
    if not audits:
        return None
    known = any("known" in audit.labels for audit in audits)
    columns = ("audit", "judged", *(["what is known"] if known else []), "accuracy", "agreement where cues disagree")
    why = ("audit", "reason", "what would change it", "not done")
    rests = ("audit", "figure", "value", "low", "high", "n", "of")
    settings = dict.fromkeys(f"{_capital('; '.join(setting(audit.record['record'])))}." for audit in audits)
    title = "1 judgement" if len(audits) == 1 else f"{len(audits)} judgements"
    figures: list[Figure] = [
        Sheet(title, columns, tuple(_row(audit, known) for audit in audits), " ".join(settings)),
        Sheet("Why", why, tuple(_reasons(audit) for audit in audits)),
        Sheet("What they rest on", rests, tuple(row for audit in audits for row in _figures(audit))),
    ]
    text = "One rule judges every audit, in one of five answers, with its reason and what would change it."
    return Section("judgements", "What was judged, and why", text, tuple(figures))


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def cues_of(record: Mapping[str, Any]) -> str:
    """How an audit has set cues that agree in the data against each other."""
    ways = ["a conflict set"] if "conflict" in record["record"]["data"] else []
    ways += ["interventions"] if record["record"]["interventions"] else []
    return f"with {' and '.join(ways)}" if ways else "with nothing on which cues disagree"


def _row(audit: Result, known: bool) -> tuple[Any, ...]:
    record, judgement = audit.record, audit.record["judgement"]
    conflict = record["verdicts"].get("conflict")
    accuracy = Estimate.from_record(judgement["figures"].get("stitched"))
    agreement = Estimate.from_record(conflict and conflict["observed"])
    truth = (audit.labels.get("known") or "",) if known else ()
    return _audit(audit), judgement["conclusion"], *truth, str(accuracy), str(agreement)


def _reasons(audit: Result) -> tuple[Any, ...]:
    judgement, skipped = audit.record["judgement"], audit.record["skipped"]
    not_done = " ".join(f"{name}: {why}" for name, why in skipped.items())
    return _audit(audit), judgement["reason"], judgement["experiment"], not_done


def _audit(audit: Result) -> str:
    return f"{audit.pair} at {audit.cut}, {cues_of(audit.record)}"


def _figures(audit: Result) -> Iterator[tuple[Any, ...]]:
    """Each figure of a judgement, with its interval; the names of controls are figures, too."""
    figures = audit.record["judgement"]["figures"]
    order = [*(name for name in FIGURES if name in figures), *(name for name in figures if name not in FIGURES)]
    for name in order:
        value, words = figures[name], FIGURES.get(name, f"accuracy of {name}")
        if not isinstance(value, Mapping):
            yield _audit(audit), words, value, None, None, None, ""
            continue
        yield (
            _audit(audit),
            words,
            value["value"],
            *(value["interval"] or (None, None)),
            value["n"],
            value.get("unit", ""),
        )


def setting(record: Mapping[str, Any]) -> Iterator[str]:
    """What was compared on what, and how, in phrases; `record` is what an audit says of itself."""
    data = {role: f"{audit['n']:,} samples of {audit['name']}" for role, audit in record["data"].items()}
    yield f"fitted on {data['fit']}, scored on {data['test']}"
    against = [f"conflict set: {data['conflict']}"] if "conflict" in data else []
    against += [f"interventions: {', '.join(record['interventions'])}"] if record["interventions"] else []
    yield "; ".join(against) or "neither a conflict set nor interventions"
    yield f"data: {'; '.join(dict.fromkeys(audit['source'] for audit in record['data'].values()))}"
    chosen = record["stitch"] if isinstance(record["stitch"], str) else record["stitch"]["name"]
    seeds = ", ".join(map(str, record["seeds"]))
    yield f"stitch {chosen!r}, {_matching(record['matching'])}, freeze {record['freeze']!r}, stitch seeds {seeds}"


def _matching(record: Mapping[str, Any]) -> str:
    training, init = record.get("training"), record.get("init")
    how = [f"from {init}"] if init else []
    if training:
        how += [f"epochs {training['epochs']}", f"lr {training['lr']:g}", f"batch {training['batch']}"]
    return f"matching {record['name']!r}" + (f" ({', '.join(how)})" if how else "")
