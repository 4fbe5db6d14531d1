"""What a linear map can read off the sender's activations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from seamripper.controls import Case, controls
from seamripper.controls.linear_probe import LinearProbe
from seamripper.controls.logistic import fit_logistic, logistic_answers
from seamripper.controls.stand_in import AsTheyAre, stand_in
from seamripper.data.paired import Paired
from seamripper.errors import AuditError, DataError, InapplicableError
from seamripper.estimate import proportion
from seamripper.matching import Task

PROBE = LinearProbe()


def cloud(n: int, *, seed: int, classes: int = 5, width: int = 12) -> tuple[torch.Tensor, torch.Tensor]:
    """Classes that overlap, in columns of very different size, one of which is constant."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.randn(classes, width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    labels = torch.randint(classes, (n,), generator=generator)
    rows = centres[labels] + torch.randn(n, width, generator=generator, dtype=torch.float64)
    rows = rows * torch.logspace(-3, 3, width, dtype=torch.float64) + 50
    rows[:, 3] = 0.1
    return rows, labels


@pytest.mark.parametrize("l2", [1e-4, 1e-3, 1.0])
def test_against_scikit_learn(l2: float) -> None:
    fit, labels = cloud(300, seed=0)
    test, _ = cloud(200, seed=1)
    scaler = StandardScaler().fit(fit.numpy())
    theirs = LogisticRegression(C=1 / (len(fit) * l2), tol=1e-10, max_iter=10_000)
    theirs.fit(scaler.transform(fit.numpy()), labels.numpy())
    ours = logistic_answers(fit, labels, test, classes=5, l2=l2).softmax(1).numpy()
    np.testing.assert_allclose(ours, theirs.predict_proba(scaler.transform(test.numpy())), atol=2e-5)


@pytest.mark.parametrize(("classes", "apart"), [(5, 0), (2, 0), (2, 30)])
def test_the_gradient_is_zero_at_the_end(classes: int, apart: float) -> None:
    """Derived by hand: Xᵀ(p − y)/n + l2·W. Two classes go by Newton's method, overlapping or far apart."""
    rows, labels = cloud(200, seed=2, classes=classes)
    rows[:, 0] += apart * labels
    rows = (rows - rows.mean(0)) / (rows.std(0) + 1e-9)
    weight, bias = fit_logistic(rows, labels, l2=0.01)
    wrong = (rows @ weight.mT + bias).softmax(1) - torch.nn.functional.one_hot(labels)
    assert float((wrong.mT @ rows / len(rows) + 0.01 * weight).abs().max()) < 1e-7
    assert float(wrong.mean(0).abs().max()) < 1e-7


def test_rounding_of_a_constant_is_not_read() -> None:
    """A column that is 1 but for its last bits, which happen to tell the label."""
    fit, labels = cloud(200, seed=0)
    test, _ = cloud(100, seed=1)
    plain = logistic_answers(fit, labels, test, classes=5, l2=1e-3)
    almost = 1 + 1e-12 * labels.double()
    answers = logistic_answers(
        torch.cat([fit, almost[:, None]], 1), labels, torch.cat([test, torch.ones(100, 1)], 1), classes=5, l2=1e-3
    )
    torch.testing.assert_close(answers, plain, rtol=0, atol=1e-4)


def test_classes_that_do_not_occur_are_never_the_answer() -> None:
    fit, labels = cloud(100, seed=0, classes=3)
    some = torch.tensor([1, 4, 6])[labels]
    answers = logistic_answers(fit, some, fit, classes=8, l2=1e-3)
    assert answers.shape == (100, 8)
    assert set(answers.argmax(1).tolist()) == {1, 4, 6}
    plain = logistic_answers(fit, labels, fit, classes=3, l2=1e-3)
    assert torch.equal(answers[:, [1, 4, 6]], plain)


def test_figures_are_those_of_the_probe_against_the_receiver(case: Case) -> None:
    (outcome,) = PROBE.outcomes(case)
    fit, test = (case.sender.head(part.receiver.inputs).double().numpy() for part in (case.fit, case.test))
    scaler = StandardScaler().fit(fit)
    theirs = LogisticRegression(C=1 / (400 * 1e-3), tol=1e-8, max_iter=10_000)
    theirs.fit(scaler.transform(fit), case.fit.labels.numpy())
    says, labels = theirs.predict(scaler.transform(test)), case.test.labels.numpy()
    native = case.receiver.answer(case.test.receiver.inputs).argmax(1).numpy()
    result = outcome.result
    assert result.top1 == proportion(int((says == labels).sum()), 400)
    assert result.receiver_here == proportion(int((native == labels).sum()), 400)
    assert result.agreement == proportion(int((says == native).sum()), 400)
    assert result.penalty.value == pytest.approx(result.receiver_here.value - result.top1.value)
    assert (outcome.control, outcome.label, outcome.seed) == ("linear_probe", "linear probe of the sender", 0)
    assert outcome.match is None
    assert (result.n, result.data, result.top5) == (400, "blobs", None)


def test_it_knows_what_the_sender_knows_and_no_more(case: Case) -> None:
    """Activations that tell the label are read perfectly; noise is not."""
    generator = torch.Generator().manual_seed(0)
    for knows, least, most in ((3.0, 0.99, 1.0), (0.0, 0.15, 0.36)):
        parts = []
        for part in (case.fit.receiver, case.test.receiver):
            rows = torch.randn(400, 6, generator=generator)
            rows[:, :4] += knows * 2 * torch.nn.functional.one_hot(part.labels)
            parts.append(Paired(replace(part, inputs=rows), part))
        sender = stand_in(AsTheyAre(), parts[0].sender.inputs[:2], "planted")
        (outcome,) = PROBE.outcomes(replace(case, sender=sender, fit=parts[0], test=parts[1]))
        assert least <= outcome.result.top1.value <= most


def test_pooled_or_whole(make, maps: Case) -> None:
    """Classes that differ in where the stripe is, and not in how much of it there is, are lost to the average."""

    def rows(n: int, first_id: int):
        samples = make.images(n, seed=first_id, first_id=first_id)
        stripes = torch.zeros(n, 3, 16, 16)
        stripes[torch.arange(n), :, samples.labels * 4] = 1
        noisy = stripes + 0.05 * torch.randn(n, 3, 16, 16, generator=torch.Generator().manual_seed(first_id))
        return Paired(replace(samples, inputs=noisy), samples)

    fit, test = rows(80, 0), rows(80, 700)
    planted = replace(maps, sender=stand_in(AsTheyAre(), fit.sender.inputs[:2], "stripes"), fit=fit, test=test)
    (pooled,), (whole,) = (list(LinearProbe(pool=pool).outcomes(planted)) for pool in (True, False))
    assert whole.result.top1.value == 1.0
    assert pooled.result.top1.value < 0.5


def test_the_untrained_sender_is_probed_for_each_seed(case: Case) -> None:
    outcomes = list(LinearProbe(untrained=True).outcomes(case))
    assert [(outcome.seed, outcome.label) for outcome in outcomes] == [
        (0, "linear probe of the untrained sender"),
        (1, "linear probe of the untrained sender"),
    ]
    assert all(outcome.result.top1.value > 0.8 for outcome in outcomes)
    with pytest.raises(InapplicableError, match="is not a network"):
        list(LinearProbe(untrained=True).outcomes(replace(case, fit=Paired(case.test.receiver, case.fit.receiver))))


def test_a_label_map_says_what_is_right(case: Case) -> None:
    (plain,) = PROBE.outcomes(case)
    (mapped,) = PROBE.outcomes(replace(case, matching=Task(label_map=(2, 0, 3, 1))))
    assert mapped.result.top1 == plain.result.top1
    assert mapped.result.receiver_here == plain.result.receiver_here
    assert mapped.result.agreement.value < 0.05


def test_fit_and_score_on_different_samples(case: Case) -> None:
    with pytest.raises(DataError, match="400 of the 400 samples of blobs are among those that the probe is fitted on"):
        list(PROBE.outcomes(replace(case, test=case.fit)))


def test_one_class_alone(case: Case) -> None:
    with pytest.raises(InapplicableError, match="blobs has samples of one class only"):
        list(PROBE.outcomes(replace(case, fit=case.fit.take(case.fit.labels == 2))))


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(AuditError, match="Expected l2 of the control 'linear_probe' to be a number of at least 0"):
        controls.make("linear_probe?l2=-1")
