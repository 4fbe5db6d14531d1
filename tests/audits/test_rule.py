"""The rule: verdicts whose truth is planted come to one of five answers, and each says what would change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seamripper.audits import Evidence, Verdict
from seamripper.audits.margin import Margin
from seamripper.audits.rule import DIFFERENT, NOISE, NOT_STITCHABLE, SAME, UNKNOWN, judge
from seamripper.controls import Case
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.data.paired import Paired
from seamripper.estimate import Estimate
from seamripper.matching import Direct
from seamripper.models import Model
from seamripper.models.contract import InputContract
from seamripper.models.running import use_seed

FIGURE = Estimate(0.5, 0.4, 0.6, 100)
WORKING, FAILING = [0.94, 0.95, 0.93], [0.35, 0.36, 0.34]
NOISY, WEAK, CHANCE = [0.95, 0.96, 0.94], [0.5, 0.52, 0.49], [0.33, 0.34, 0.33]


def conflict(answer: str) -> Verdict:
    figures = {"score": FIGURE, "decided_by": "greyscale"}
    return Verdict("conflict", "?", answer, FIGURE, {}, FIGURE, f"The conflict says {answer}.", None, figures)  # type: ignore[arg-type]


def judgement(make: Any, sender: list[float], said: str | None, **controls: list[float]) -> Any:
    evidence = make.planted(sender, **({"self": [0.95, 0.95, 0.95]} | controls))
    verdicts = {"margin": Margin().put(evidence)} if set(controls) - {"self"} else {}
    return judge(evidence, verdicts | ({} if said is None else {"conflict": conflict(said)}))


@pytest.mark.parametrize(
    ("sender", "said", "controls", "expected"),
    [
        (WORKING, "yes", {"random_sender": NOISY}, SAME),
        (WORKING, "yes", {"random_sender": WEAK}, SAME),
        (WORKING, "no", {"random_sender": NOISY}, DIFFERENT),
        (WORKING, "no", {"random_sender": WEAK}, DIFFERENT),
        (WORKING, "unknown", {"random_sender": NOISY}, NOISE),
        (WORKING, None, {"clustered_noise": NOISY}, NOISE),
        (WORKING, None, {"clustered_noise": WEAK}, UNKNOWN),
        (WORKING, "unknown", {"clustered_noise": WEAK}, UNKNOWN),
        (WORKING, None, {}, UNKNOWN),
        (FAILING, "yes", {"random_sender": WEAK}, NOT_STITCHABLE),
        (FAILING, "no", {"random_sender": NOISY}, NOT_STITCHABLE),
        (WORKING, "yes", {"random_sender": WEAK, "shuffled": WORKING}, UNKNOWN),
    ],
)
def test_each_case_has_its_answer(make: Any, sender: Any, said: Any, controls: Any, expected: str) -> None:
    found = judgement(make, sender, said, **controls)
    assert found.conclusion == expected
    assert found.reason
    assert found.experiment
    assert {"stitched", "receiver", "chance", "recovered"} <= set(found.figures)
    assert str(found).startswith(expected[0].upper() + expected[1:])
    assert "What would change this: " in str(found)


SET, CHANGES = "conflict set", "greyscale"


@pytest.mark.parametrize(
    ("by_conflict", "where", "by_mixing", "power", "expected", "audit"),
    [
        # Mixing alone decides, whether an untrained sender works as well or not.
        (None, "", "no", False, DIFFERENT, "mixing"),
        (None, "", "yes", True, SAME, "mixing"),
        (None, "", "unknown", True, NOISE, None),
        # A departure on either is a departure; the conflict set is named first.
        ("no", SET, "yes", True, DIFFERENT, "conflict"),
        ("yes", SET, "no", True, DIFFERENT, "mixing"),
        ("no", SET, "no", True, DIFFERENT, "conflict"),
        ("unknown", SET, "yes", True, SAME, "mixing"),
        ("yes", SET, "unknown", True, SAME, "conflict"),
        # Interventions know a few cues: they do not decide against what mixing says.
        ("no", CHANGES, "yes", True, SAME, "mixing"),
        # Not even if it departs still further under one of them than on the conflict set.
        ("no", f"{CHANGES}, {SET}", "yes", True, DIFFERENT, "conflict"),
        ("no", CHANGES, "unknown", True, DIFFERENT, "conflict"),
        ("yes", CHANGES, "unknown", True, NOISE, None),
        ("yes", CHANGES, "unknown", False, SAME, "conflict"),
        ("yes", CHANGES, "no", True, DIFFERENT, "mixing"),
        ("unknown", CHANGES, "unknown", True, NOISE, None),
    ],
)
def test_conflict_and_mixing_together(
    make: Any, by_conflict: Any, where: str, by_mixing: Any, power: bool, expected: str, audit: str | None
) -> None:
    figures = {"decided_by": "centre", "power": power}
    verdicts = {"mixing": Verdict("mixing", "?", by_mixing, FIGURE, {}, FIGURE, "Mixing says so.", 0.01, figures)}
    if by_conflict is not None:
        said = {"score": FIGURE, "decided_by": where.partition(",")[0], "departs": where.split(", ")}
        verdicts["conflict"] = Verdict(
            "conflict", "?", by_conflict, FIGURE, {}, FIGURE, "Conflict says so.", None, said
        )
    evidence = make.planted(WORKING, self=[0.95, 0.95, 0.95], random_sender=NOISY)
    found = judge(evidence, verdicts)
    assert found.conclusion == expected
    assert found.figures.get("deciding_audit") == audit
    if audit is not None:
        assert found.reason == f"{audit.capitalize()} says so."
    else:
        assert "Mixing says so." in found.reason
    if found.conclusion == DIFFERENT and audit == "mixing":
        assert "mixtures 'centre'" in found.experiment


class Weighed(nn.Module):
    """A linear layer and whatever is done to its answer, which neither its weights nor its name tells."""

    def __init__(self, then: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.last, self.then = nn.Linear(48, 8), nn.Linear(8, 3), then

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.then(self.first(x.flatten(1))))


def test_one_network_is_one_of_the_same_weights_that_is_run_alike_and_shown_alike() -> None:
    """Twice, the sender has the receiver's weights: but with another activation, or with inputs normalised otherwise.

    If its front shows other activations, its outcomes are not taken for those of the receiver stitched into itself.
    """
    plain, bright = InputContract("plain"), InputContract("bright", mean=(0.9, 0.1, 0.5), std=(0.2, 2.0, 0.5))
    with use_seed(0):
        net, pixels = Weighed(torch.relu), torch.rand(200, 3, 4, 4)
    other = Weighed(torch.tanh)
    other.load_state_dict(net.state_dict())
    data = Samples("x", pixels, net(pixels).argmax(1), torch.arange(200), range=(0.0, 1.0))
    fit, test = data.take(slice(0, 120)), data.take(slice(120, None))

    def half(module: nn.Module, wants: InputContract) -> Split:
        return split(Model(module, "x", (3, 4, 4), 3, wants=wants), "first", torch.ones(2, 3, 4, 4))

    senders = (net, plain, True, True), (other, plain, False, True), (net, bright, False, False)
    for module, wants, is_one, front in senders:
        halves = half(module, wants), half(net, plain)
        case = Case(*halves, Paired.of(fit), Paired.of(test), Direct(), seeds=(0,))
        evidence = Evidence(case, controls=("self",))
        assert ("the receiver itself" in judge(evidence, {}).reason) == is_one
        assert (evidence.of("self")[0].match is evidence.observed[0].match) == front


def test_nothing_is_called_the_same_on_task_accuracy_alone(make: Any) -> None:
    perfect = judgement(make, [1.0, 1.0, 1.0], None, random_sender=CHANCE, clustered_noise=CHANCE)
    assert perfect.conclusion == UNKNOWN


def test_the_verdict_names_what_decided_and_its_figures(make: Any) -> None:
    found = judgement(make, WORKING, "no", random_sender=NOISY)
    assert (found.figures["decided_by"], found.figures["agreement"]) == ("greyscale", FIGURE)
    assert "'greyscale'" in found.experiment
    assert found.figures["recovered"].value == pytest.approx((0.94 - 1 / 3) / (0.95 - 1 / 3), abs=0.01)


def test_a_receiver_at_chance_is_held_to_its_own_answers(make: Any) -> None:
    evidence = make.planted([0.3, 0.3], receiver=0.3, self=[0.3, 0.3])
    found = judge(evidence, {})
    assert found.conclusion == NOT_STITCHABLE
    assert "Accuracy is unreadable: the receiver itself reaches 0.300" in found.reason
    assert found.figures["receiver"].value == 0.3
    assert found.figures["own_answers"].value == 0.3
    assert found.figures["recovered"].value < 0.0  # it agrees with the receiver less often than by chance


def test_a_wide_interval_does_not_make_a_stitch_work(make: Any) -> None:
    assert judgement(make, [0.35, 0.5, 0.8], "yes", random_sender=CHANCE).conclusion == NOT_STITCHABLE


def test_noise_of_one_radius_that_works_is_not_hidden_by_the_others(make: Any) -> None:
    evidence = make.planted(WORKING, self=[0.95] * 3, clustered_noise=[1.0, 0.34, 0.34])
    many = tuple(
        type(one)(one.control, f"noise of radius {k}", 0, one.result)
        for k, one in enumerate(evidence.of("clustered_noise"))
    )
    assert judge(make.replanted(evidence, "clustered_noise", many), {}).conclusion == NOISE
