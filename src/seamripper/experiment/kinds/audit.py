"""The job `audit`: a comparison, its controls, and the judgement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.kinds.base import Found, Kind, Row, figure, plain

if TYPE_CHECKING:
    from seamripper.experiment.desk import Desk


@dataclass(frozen=True)
class Auditing(Kind):
    """Audit one pair of cuts.

    Content: `sender`, `receiver` and their cuts, `others` (models), `fit`, `test`, `conflict` (fingerprints),
    `matching`, `stitch`, `freeze`, `interventions`, `controls`, `audits` (in words), `seeds`, `threads`.
    """

    name: ClassVar[str] = "audit"
    rate: ClassVar[float] = 5e-4

    def run(self, content: Mapping[str, Any], desk: Desk) -> Found:
        """Audit, and keep the whole record."""
        from seamripper.audits import audit
        from seamripper.audits.base import DEFAULT_CONTROLS
        from seamripper.matching.choosing import matching_from_record

        fit, test = desk.samples(content["fit"]), desk.samples(content["test"])
        conflict = None if content["conflict"] is None else desk.samples(content["conflict"])
        found = audit(
            desk.half(content["sender"], content["sender_cut"], fit),
            desk.half(content["receiver"], content["receiver_cut"], fit),
            fit,
            test,
            conflict=conflict,
            interventions=content["interventions"],
            others=[desk.half(other, content["receiver_cut"], fit) for other in content["others"]],
            matching=matching_from_record(content["matching"]),
            stitch=content["stitch"],
            freeze=content["freeze"],
            seeds=content["seeds"],
            controls=content["controls"] or DEFAULT_CONTROLS,
            audits=content["audits"],
        )
        return Found(plain(found.as_record()))

    def cost(self, content: Mapping[str, Any]) -> float:
        """A stitch for each seed, and about as many for each control."""
        epochs = content["matching"].get("training", {}).get("epochs", 1)
        controls = len(content["controls"] or range(7))
        return float((content["n"] * (1 + epochs) + content["n_test"]) * len(content["seeds"]) * (1 + controls))

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """What was observed and its effect, audit by audit; then the judgement, with the figure that it rests on."""
        for name, verdict in record["verdicts"].items():
            said = {"audit": name, "status": verdict["answer"]}
            yield from figure("observed", verdict["observed"], **said)
            yield from figure("effect", verdict["effect"], **said)
        judgement = record["judgement"]
        yield from figure("recovered", judgement["figures"]["recovered"], audit="rule", status=judgement["conclusion"])
