"""Gates: a claim is not testable where one of them fails; where one is open, the claim is decided with a remark."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planted_paper import item as planted_item, paper

from seamripper.errors import ExperimentError
from seamripper.papers import COUNTS, Claim, Gate, ItemReport, Reproduction, Results, Select, Variants
from seamripper.papers.decisions import DecidedClaim, decide
from seamripper.papers.page import markdown, page, story
from seamripper.papers.planted import planted_rows

UNTESTABLE = "not testable here"
GATE = Gate("the base network is good", Select("accuracy", model="digit"), "at least", bound=0.8)
CLAIM = Claim("It works", "Fig. 1", Select("top1", size=1), "at least", bound=0.5, gates=(GATE,))


def rows(figure: str, *values: float, **labels: Any) -> list[dict[str, Any]]:
    """Rows of several seeds; of one, without an interval."""
    return [{"figure": figure, "value": v, "receiver_seed": k, "key": f"{figure}/{k}", **labels}
            for k, v in enumerate(values)]  # fmt: skip


def with_base(*base: float, works: float = 0.9, claim: Claim = CLAIM, more: Any = ()) -> DecidedClaim:
    """The claim where the base network has these accuracies."""
    top1 = rows("top1", works, works + 0.001, works - 0.001, size=1)
    decided = decide(claim, Results([*top1, *rows("accuracy", *base, model="digit"), *more]), {})
    assert decided
    return decided


@pytest.mark.parametrize(
    ("base", "status"),
    [
        ((0.9, 0.91, 0.92), "reproduced"),
        ((0.3, 0.31, 0.32), UNTESTABLE),
        ((0.7, 0.8, 0.9), "reproduced"),
        ((0.9,), "reproduced"),
        ((0.8,), "reproduced"),
        ((0.79,), UNTESTABLE),
    ],
    ids=["holds", "fails", "open", "by value", "on the bound", "fails by value"],
)
def test_a_gate_is_decided_by_its_interval_and_without_one_by_its_value(base: tuple[float, ...], status: str) -> None:
    assert with_base(*base).status == status
    failed = with_base(*base, works=0.1).status
    assert failed == (UNTESTABLE if status == UNTESTABLE else "not reproduced"), "a bad base refutes nothing either"


def test_what_fails_is_the_reason_with_its_numbers() -> None:
    assert with_base(0.3, 0.31, 0.32).figure == (
        "it does not hold that the base network is good (0.310 [0.285, 0.335], 3 seeds (bound 0.8))"
    )
    two = replace(CLAIM, gates=(GATE, replace(GATE, says="it is very good", bound=0.9)))
    assert " nor that it is very good (0.310" in with_base(0.3, 0.31, 0.32, claim=two).figure


def test_an_open_gate_is_remarked_upon() -> None:
    decided = with_base(0.7, 0.8, 0.9)
    remark = "It is open whether the base network is good (0.800 [0.552, 1.000], 3 seeds (bound 0.8))."
    assert (decided.remark, decided.notes()) == (remark, remark)
    assert with_base(0.9, 0.91, 0.92).remark == ""
    assert decided.as_record()["notes"] == remark


def test_every_cell_of_a_gate_must_hold() -> None:
    both = replace(CLAIM, gates=(replace(GATE, select=Select("accuracy", model=("digit", "colour"))),))
    bad = rows("accuracy", 0.1, 0.11, 0.12, model="colour")
    decided = with_base(0.9, 0.91, 0.92, claim=both, more=bad)
    assert decided.status == UNTESTABLE
    assert "colour: 0.110" in decided.figure
    assert "(1 of 2 hold)" in decided.figure


def test_a_gate_may_stand_against_another_figure() -> None:
    intact = Gate("the self-stitch is intact", Select("self"), "no worse", Select("accuracy", model="digit"), 0.05)
    claim = replace(CLAIM, gates=(intact,))
    for values, status in (((0.88, 0.89, 0.9), "reproduced"), ((0.5, 0.51, 0.52), UNTESTABLE)):
        assert with_base(0.9, 0.91, 0.92, claim=claim, more=rows("self", *values)).status == status


def test_a_gate_of_what_still_learns_does_not_fail() -> None:
    gate = Gate("the self-stitch is intact", Select("top1", size=2), "at least", bound=0.8)
    low = rows("top1", 0.3, 0.31, 0.32, size=2)
    falling = [{"figure": "falling", "value": 0.2, "key": row["key"]} for row in low]
    assert with_base(0.9, claim=replace(CLAIM, gates=(gate,)), more=low).status == UNTESTABLE
    decided = with_base(0.9, claim=replace(CLAIM, gates=(gate,)), more=[*low, *falling])
    assert (decided.status, bool(decided.remark)) == ("reproduced", True)


@pytest.mark.parametrize(
    "claim",
    [
        replace(CLAIM, answers=("yes", "no")),
        replace(CLAIM, over="best"),
        replace(CLAIM, depends=Variants("freeze", ("weights", "all"), ("adapting", "frozen"), "the leak")),
        Claim("Same?", "", Select("agreement", receiver_cut=("a", "b")), COUNTS, Select("verdict"), gates=(GATE,)),
    ],
    ids=["answers", "best", "depends", "counts"],
)
def test_claims_of_every_kind_have_gates(claim: Claim) -> None:
    statuses = [decide(claim, Results(planted_rows(claim, world)), {}) for world in ("holds", "fails", "gates fail")]  # type: ignore[arg-type]
    said = [decided.status for decided in statuses if decided]
    assert said[2] == UNTESTABLE
    assert len(set(said)) == 3, "where the gate holds, the claim itself is decided"


def test_a_gate_whose_figures_are_missing_is_an_error_sentence() -> None:
    with pytest.raises(ExperimentError, match="The results have no figure 'accuracy' with"):
        with_base()


@pytest.mark.parametrize("check", ["good", COUNTS])
def test_a_check_that_a_gate_cannot_have_is_refused(check: str) -> None:
    with pytest.raises(ExperimentError, match=r"Expected check of a gate to be one of above, .*, but got "):
        Gate("it is good", Select("top1"), check)


def test_what_is_not_testable_is_counted_and_a_reason_to_doubt(tmp_path: Path) -> None:
    item = replace(planted_item(tmp_path, "table-1", ("Table 1",), (1, 2)), claims=(CLAIM,), shows=())
    results = Results([*rows("top1", 0.9, 0.91, size=1), *rows("accuracy", 0.1, model="digit")])
    report = ItemReport(item, item.read(results, "quick"), 60.0, 3)
    reproduction = Reproduction(paper(tmp_path, item), "quick", tmp_path, (report,))
    assert reproduction.counts == Counter({UNTESTABLE: 1})
    assert "Of 1 claims: 1 not testable here." in page(reproduction)
    assert "Strongest reason to doubt: table-1: “It works (Fig. 1)”: not testable here (it" in markdown(reproduction)
    assert [name for name, _ in story(reproduction).first.figures][-1] == UNTESTABLE
