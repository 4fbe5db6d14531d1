"""The fast detector on activations that are known to be the receiver's own, or known not to be."""

from __future__ import annotations

import pytest
from planted_activations import CHANGES, LAYOUTS, aurocs, case, changes, other_images, receiver, sender

from seamripper.audits import Evidence
from seamripper.audits.distribution import Distribution
from seamripper.cut.place import Layout


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_identity_is_the_receivers_own(layout: Layout) -> None:
    found = Distribution().put(Evidence(case(layout, receiver(layout)), controls=("self",)))
    assert set(aurocs(found).values()) == {0.5}
    assert (found.answer, found.p, found.effect.value) == ("no", 1.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_activations_of_other_images_are_the_receivers_own(layout: Layout) -> None:
    other = case(layout, receiver(layout), test=other_images(layout, 1500))
    found = Distribution(n=1500).put(Evidence(other, controls=("self",)))
    # The standard error is 0.011.
    assert all(abs(value - 0.5) < 0.04 for value in aurocs(found).values()), found.sentence
    assert found.answer == "no", found.sentence
    assert found.p is not None
    assert found.p > 0.02
    # The control is shown what the receiver is.
    assert found.controls["self"][0].value == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(layout: Layout, change: str) -> None:
    found = Distribution().put(Evidence(case(layout, sender(layout, changes(layout)[change])), controls=("self",)))
    assert found.answer == "yes", found.sentence
    assert found.observed.value > 0.9, aurocs(found)
    assert aurocs(found)["mahalanobis"] > 0.8
    assert found.p is not None
    assert found.p < 0.001
    assert found.controls["self"][0].value == 0.5
