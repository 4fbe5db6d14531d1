"""audit: the whole of it on planted cues, where the truth is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import test_conflict as planted
import torch

from seamripper.audits import Audited, audit
from seamripper.audits.rule import DIFFERENT, NOISE, NOT_STITCHABLE, SAME, UNKNOWN
from seamripper.controls import Case, Control, Counterpart, Known, controls
from seamripper.errors import AuditError, DataError
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.matching import Direct
from seamripper.models import Progress
from seamripper.report.verdict import headline
from seamripper.stitches.low_rank import LowRank

FIT, TEST = planted.cues(400, agree=True), planted.cues(300, agree=True, first_id=10_000)
FEW = {"controls": ("self", "random_sender", "clustered_noise"), "audits": ("margin", "conflict"), "seeds": (0, 1)}


def audited(cue: str, seed: int = 1, **more: Any) -> Audited:
    return audit(
        planted.network(cue, seed),
        planted.network("first", 0),
        FIT,
        TEST,
        **({"matching": planted.QUICK, "conflict": planted.CONFLICT} | FEW | more),
    )


@pytest.mark.slow
def test_the_same_and_another_information_are_told_apart() -> None:
    memo: dict[str, Any] = {}
    same, other = (audited(cue, memo=memo) for cue in ("first", "second"))
    assert (same.conclusion, other.conclusion) == (SAME, DIFFERENT)
    assert audited("first", 0, memo=memo).conclusion == SAME
    assert other.judgement.figures["decided_by"] == "conflict set"
    # The number that the literature reports sees no difference.
    task = [found.outcomes[0].result.top1.value for found in (same, other)]
    assert min(task) > 0.97


def test_noise_is_never_called_the_same() -> None:
    case = Case(planted.network("first", 1), planted.network("first", 0), FIT, TEST)
    one = next(iter(controls.make("clustered_noise").counterparts(case)))
    found = audit(
        one.sender, case.receiver, one.fit, one.test, matching=planted.QUICK, conflict=planted.CONFLICT, **FEW
    )
    assert found.conclusion == NOISE
    assert "does not see the inputs" in found.skipped["conflict"]
    assert "random_sender" in found.skipped


@dataclass(frozen=True)
class Declared(Control):
    """A control of a third party: the receiver itself, whatever it is declared to hold."""

    name: ClassVar[str] = "declared"
    about: ClassVar[str] = "the receiver itself, declared to hold nothing"
    known: ClassVar[Known] = "nothing"

    def stitches(self, case: Case) -> int:
        """One per seed."""
        return len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The receiver, once for each seed."""
        for seed in case.seeds:
            yield Counterpart("a third party's", seed, case.receiver, case.fit, case.test)


def test_a_control_of_a_third_party_counts_as_what_it_is_declared_to_be(tmp_path: Path) -> None:
    """Declared to hold nothing, it reaches the rule, the margin audit and the first screen of the report."""
    found = audited("second", conflict=None, interventions=(), controls=("self", Declared()), audits=("margin",))
    assert found.conclusion == NOISE
    assert "the control 'declared, a third party's' reaches" in found.judgement.reason
    margin = found.verdicts["margin"]
    assert (margin.answer, margin.figures["best"], margin.figures["n"]) == ("no", "declared, a third party's", 1)
    record = json.loads(json.dumps(found.as_record()))
    assert {outcome["known"] for outcome in record["outcomes"]} == {None, "same", "nothing"}
    labels = {"sender": "a", "receiver": "b", "sender_cut": "1", "receiver_cut": "1"}
    result = Result("1", "audit", "done", record, labels=labels)
    run = Reading(tmp_path, "study", {}, (result,), 1, {})
    name, accuracy = headline(run).figures[-1]
    assert name == "accuracy of the best that has learnt nothing (declared)"
    assert accuracy.value > 0.9


def test_what_cannot_be_stitched_gets_no_conclusion() -> None:
    broken = audited("second", 3, stitch=LowRank(rank=1), matching=Direct(ridge=1e9), audits=("conflict",), seeds=(0,))
    assert broken.conclusion == NOT_STITCHABLE


def test_without_anything_to_set_the_cues_apart_the_information_is_unknown() -> None:
    found = audited("first", conflict=None, interventions=[planted.Nothing()])
    assert found.conclusion in (UNKNOWN, NOISE)
    assert "What would change this: inputs on which cues" in str(found)


def test_a_memo_spares_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    memo: dict[str, Any] = {}
    first = audited("first", memo=memo)
    done = len(memo)
    again = audited("first", memo=memo)
    assert len(memo) == done
    assert again.as_record() == first.as_record()
    audited("second", memo=memo)
    # The sender's two stitches and its two untrained twins; self and noise are the same.
    assert len(memo) == done + 2


def test_the_record_is_whole_and_written_at_once(tmp_path: Path) -> None:
    seen: list[Progress] = []
    found = audited("second", watch=seen.append)
    found.save(tmp_path / "audit.json")
    record = json.loads((tmp_path / "audit.json").read_text())
    assert record == json.loads(json.dumps(found.as_record()))
    assert record["judgement"]["conclusion"] == DIFFERENT
    assert set(record["verdicts"]) == {"margin", "conflict"}
    assert [o["control"] for o in record["outcomes"]].count("self") == 2
    assert record["record"]["seeds"] == [0, 1]
    assert {"fit", "test", "conflict"} == set(record["record"]["data"])
    tasks = ["audit 1 of 2: margin", "audit 2 of 2: conflict"]
    assert [(now.task, now.done) for now in seen if now.task in tasks] == [(t, done) for t in tasks for done in (0, 1)]


def test_the_receiver_itself_is_the_same_whatever_the_sets_can_tell() -> None:
    itself = audited("first", 0, conflict=None, interventions=[planted.Nothing()])
    assert itself.verdicts["conflict"].answer == "unknown"
    assert itself.conclusion == SAME
    assert "one and the same network" in itself.judgement.experiment
    # Without parameters no pairing can be broken: that is no leak.
    plain = audited("first", 0, stitch="identity", controls=("self", "shuffled", "random_sender"), audits=("margin",))
    assert "no parameters" in plain.skipped["shuffled"]
    assert plain.conclusion == SAME


def test_a_control_that_cannot_be_had_does_not_take_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    from seamripper.controls.random_sender import RandomSender

    def broken(self: RandomSender, case: Case) -> Any:
        raise DataError("The activations at '3' hold NaN or Inf.")

    monkeypatch.setattr(RandomSender, "counterparts", broken)
    found = audited("second")
    assert "NaN or Inf" in found.skipped["random_sender"]
    assert found.verdicts["margin"].controls.keys() == {"clustered_noise"}
    assert found.conclusion == DIFFERENT


def test_networks_that_differ_in_what_they_do_share_no_memo() -> None:
    memo: dict[str, Any] = {}
    net = planted.network("first", 1).model.module
    other = torch.nn.Sequential(net[0], torch.nn.Tanh(), net[2], torch.nn.Tanh(), net[4]).eval()
    for front in (net, other):
        audit(
            planted.split(front, "3", torch.ones(2, 8)),
            planted.network("first", 0),
            FIT,
            TEST,
            matching=planted.QUICK,
            conflict=planted.CONFLICT,
            **(FEW | {"memo": memo, "controls": ("self",), "seeds": (0,)}),
        )
    assert len(memo) == 3


def test_wrong_words_and_wrong_data() -> None:
    with pytest.raises(AuditError, match="There is no audit 'conflct': did you mean 'conflict'"):
        audited("first", audits=("conflct",))
    with pytest.raises(AuditError, match="There is no control 'slef': did you mean 'self'"):
        audited("first", controls=("slef",))
    with pytest.raises(AuditError, match="a sender cannot be its own control"):
        audited("first", others=[planted.network("first", 1)], controls=("self", "other_seed"))
    with pytest.raises(AuditError, match="The control 'clustered_noise' is given twice"):
        audited("first", controls=("clustered_noise", "clustered_noise?radius=0.5"))
    with pytest.raises(AuditError, match="one or more different seeds"):
        audited("first", seeds=(0, 0))
    with pytest.raises(DataError, match="among those that the stitch was fitted on"):
        audit(planted.network("first", 1), planted.network("first", 0), FIT, FIT, matching=planted.QUICK, **FEW)
    wrong = planted.CONFLICT.take(slice(0, 100))
    with pytest.raises(DataError, match="was cut for inputs"):
        audited("first", conflict=type(wrong)("wide", torch.zeros(100, 9), wrong.labels, wrong.ids, classes=3))
    with pytest.raises(DataError, match="100 of the 100 samples of the conflict set cues are among those"):
        audited("first", conflict=planted.cues(100, agree=False))
    many = type(wrong)("many", wrong.inputs, wrong.labels + 5, wrong.ids, classes=8)
    with pytest.raises(DataError, match="the receiver has 3 classes"):
        audited("first", conflict=many)
