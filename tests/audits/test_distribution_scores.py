"""The fast detector's parts: rows, distances and the two-sample classifier, against references that others wrote."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.machinery import PathFinder
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.covariance import ledoit_wolf
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from seamripper.audits.detectors.fast import (
    FastDetector,
    Reference,
    import_peers,
    peer_scores,
    pooled_rows,
    shrunk_covariance,
    two_sample_scores,
)
from seamripper.audits.distribution import Distribution
from seamripper.controls.logistic import logistic_answers
from seamripper.cut.place import Cut
from seamripper.errors import InapplicableError, MissingExtraError


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- rows


def test_maps_become_means_and_deviations() -> None:
    maps = normal(5, 3, 4, 2).float()
    rows = pooled_rows(maps, Cut("a", (3, 4, 2), "nchw"))
    assert rows.dtype == torch.float64
    assert torch.allclose(rows[:, :3], maps.double().mean((2, 3)))
    assert torch.allclose(rows[:, 3:], maps.double().flatten(2).std(2, correction=0))


def test_a_map_of_one_position_has_no_deviations() -> None:
    assert pooled_rows(normal(5, 3, 1, 1), Cut("a", (3, 1, 1), "nchw")).shape == (5, 3)


def test_a_token_before_the_others_is_kept() -> None:
    tokens = normal(5, 10, 4)
    rows = pooled_rows(tokens, Cut("a", (10, 4), "ntd"))
    assert rows.shape == (5, 12)
    assert torch.equal(rows[:, 8:], tokens[:, 0])
    assert pooled_rows(tokens[:, 1:], Cut("a", (9, 4), "ntd")).shape == (5, 8)


# ---- distances


@pytest.mark.parametrize(("n", "d"), [(200, 5), (12, 40)])
def test_the_covariance_is_shrunk_as_by_scikit_learn(n: int, d: int) -> None:
    rows = normal(n, d) * torch.linspace(0.5, 3, d)
    covariance, shrinkage = shrunk_covariance(rows)
    theirs, rho = ledoit_wolf(rows.numpy(), assume_centered=True)
    assert shrinkage == pytest.approx(rho, abs=1e-12)
    assert np.allclose(covariance.numpy(), theirs, atol=1e-12)
    # With fewer rows than columns, too.
    assert float(torch.linalg.eigvalsh(covariance)[0]) > 0


def test_mahalanobis_takes_the_nearest_class_by_a_covariance_for_all() -> None:
    labels = torch.arange(300) % 3
    rows = normal(300, 4) @ normal(4, 4, seed=1) + 5 * normal(3, 4, seed=2)[labels]
    asked = 3 * normal(20, 4, seed=3)
    reference = Reference.of(rows, labels)
    # By hand, in the columns as they came: neither shift nor scale of a column changes a Mahalanobis distance.
    covariance = reference.scale * (reference.factor @ reference.factor.T) * reference.scale[:, None]
    centres = torch.stack([rows[labels == i].mean(0) for i in range(3)])
    gaps = asked[:, None] - centres
    by_hand = torch.einsum("nkd,de,nke->nk", gaps, torch.linalg.inv(covariance), gaps).sqrt().min(1).values
    assert torch.allclose(reference.mahalanobis(asked), by_hand)
    assert 0 < reference.shrinkage < 0.05


def test_mahalanobis_and_nearest_are_those_of_pytorch_ood() -> None:
    import_peers()
    from pytorch_ood.detector import KNN, Mahalanobis

    labels = torch.arange(4000) % 3
    rows = normal(4000, 4) @ normal(4, 4, seed=1) + 5 * normal(3, 4, seed=2)[labels]
    reference, asked = Reference.of(rows, labels), 3 * normal(50, 4, seed=3)
    theirs = Mahalanobis(None).fit_features(reference.rows.float(), labels)
    # Theirs is half the square, its covariance is a sum over rows and not a mean, and it is not shrunk.
    found = (2 * 4000 * theirs.predict_features(reference.standard(asked).float())).sqrt().double()
    plain = replace(reference, factor=torch.linalg.cholesky(theirs.cov.double() / 4000))
    assert torch.allclose(plain.mahalanobis(asked), found, rtol=1e-4)
    assert torch.allclose(reference.mahalanobis(asked), found, rtol=0.03)
    nearest = KNN(None, k=7, normalize=False).fit_features(reference.rows, labels)
    assert torch.allclose(reference.nearest(asked, 7), nearest.predict_features(reference.standard(asked)))


def test_rows_in_blocks_have_the_same_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    reference, asked = Reference.of(normal(50, 3), torch.zeros(50)), normal(40, 3, seed=1)
    whole = reference.nearest(asked, 3)
    monkeypatch.setattr("seamripper.audits.detectors.fast._ROWS_AT_ONCE", 7)
    assert torch.allclose(reference.nearest(asked, 3), whole)


def test_what_moves_where_nothing_moves_natively_is_far_but_not_infinitely() -> None:
    rows = torch.cat([normal(200, 3), torch.full((200, 1), 2.0, dtype=torch.float64)], 1)
    reference, asked = Reference.of(rows, torch.zeros(200)), rows[:10].clone()
    usual = reference.mahalanobis(asked)
    asked[:, 3] += 0.5
    assert bool((reference.mahalanobis(asked) > 10 * usual).all())
    assert bool(torch.isfinite(reference.mahalanobis(asked)).all())


def test_activations_that_never_vary_have_no_distribution() -> None:
    with pytest.raises(InapplicableError, match="are the same for every sample"):
        Reference.of(torch.ones(30, 4, dtype=torch.float64), torch.zeros(30))


def test_too_few_neighbours_are_refused() -> None:
    with pytest.raises(
        InapplicableError, match=r"k = 10 and there are 9\. Give more samples to fit on, or a smaller k"
    ):
        Reference.of(normal(9, 2), torch.zeros(9)).nearest(normal(3, 2), 10)


# ---- the classifier


@pytest.mark.parametrize(("n", "d"), [(60, 6), (20, 90)])
def test_the_scores_are_those_of_scikit_learn(n: int, d: int) -> None:
    native, stitched = normal(n, d) * 3 + 5, normal(n, d, seed=1) * 3 + 6
    told = two_sample_scores(native, stitched, folds=4, l2=0.05)
    for fold in told.folds:
        others = np.setdiff1d(np.arange(n), fold)
        rows = np.concatenate([native[others], stitched[others]])
        scale = StandardScaler().fit(rows)
        theirs = LogisticRegression(C=1 / (len(rows) * 0.05), tol=1e-10, max_iter=10_000)
        theirs.fit(scale.transform(rows), np.repeat([0, 1], len(others)))
        for found, given in ((told.native, native), (told.stitched, stitched)):
            assert np.allclose(found[fold], theirs.decision_function(scale.transform(given[fold])), atol=1e-3)


def test_both_versions_of_a_sample_are_in_one_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    native, seen = normal(30, 2), []

    def watched(fit: Tensor, kinds: Tensor, test: Tensor, **options: Any) -> Tensor:
        seen.append((fit, kinds, test))
        return logistic_answers(fit, kinds, test, **options)

    monkeypatch.setattr("seamripper.audits.detectors.fast.logistic_answers", watched)
    told = two_sample_scores(native, native + 100, folds=4)
    assert sorted(np.concatenate(told.folds).tolist()) == list(range(30))
    assert [len(fold) for fold in told.folds] == [8, 8, 7, 7]
    for (fit, kinds, test), fold in zip(seen, told.folds, strict=True):
        assert torch.equal(test, torch.cat([native[fold], native[fold] + 100]))
        assert torch.equal(fit[:, 0] > 50, kinds == 1)
        assert len(fit) == 2 * (30 - len(fold))


def test_a_sample_cannot_give_itself_away() -> None:
    # Each sample has a mark of its own, the same in both versions. Were they in two folds, the one would betray the
    # other, and the scores would be worse than chance.
    marks = 3 * torch.eye(60, dtype=torch.float64)
    told = two_sample_scores(torch.cat([marks, normal(60, 5)], 1), torch.cat([marks, normal(60, 5, seed=1)], 1))
    assert 0.35 < told.auroc < 0.65


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 300])
def test_what_cannot_be_told_is_at_chance_and_what_can_is_not(d: int) -> None:
    null = [two_sample_scores(normal(100, d, seed=2 * i), normal(100, d, seed=2 * i + 1)).auroc for i in range(10)]
    # The mean of ten has a standard error of 0.013.
    assert abs(np.mean(null) - 0.5) < 0.045
    assert two_sample_scores(normal(100, d), normal(100, d, seed=1) + 1).auroc > 0.85


def test_columns_that_are_constant_make_no_difference() -> None:
    native, stitched = normal(50, 4), normal(50, 4, seed=1) + 0.4
    told = two_sample_scores(native, stitched)
    padded = [torch.cat([rows, torch.full((50, 2), 7.3, dtype=torch.float64)], 1) for rows in (native, stitched)]
    assert two_sample_scores(*padded).auroc == pytest.approx(told.auroc, abs=1e-12)


def test_the_classifier_leaves_the_generator_alone() -> None:
    before = torch.get_rng_state()
    first, again, other = (two_sample_scores(normal(40, 3), normal(40, 3, seed=1), seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.native, again.native)
    assert not np.array_equal(first.native, other.native)
    assert torch.equal(torch.get_rng_state(), before)


# ---- the three together, and their peers


def test_the_classifier_sees_by_the_distances_what_moves_no_mean(make: Any) -> None:
    receiver, samples = make.halves("vectors"), make.samples("vectors", 300)
    detector = FastDetector(Distribution(), receiver, samples)
    native = detector.features(receiver.head(make.samples("vectors", 300, first_id=5000).inputs).detach())
    centre = native.mean(0)
    shrunk = detector.scores(native, centre + 0.5 * (native - centre))
    # Nearer to the middle than native ones: a distance alone takes them for the more usual.
    assert shrunk["mahalanobis"].auroc < 0.3
    assert shrunk["classifier"].auroc > 0.7
    assert two_sample_scores(native, centre + 0.5 * (native - centre)).auroc < 0.6


def test_peers_are_told_beside(make: Any) -> None:
    receiver, samples = make.halves("vectors"), make.samples("vectors", 300)
    detector = FastDetector(Distribution(peers=True), receiver, samples)
    native = detector.features(receiver.head(make.samples("vectors", 200, first_id=5000).inputs).detach())
    found = detector.scores(native, native + 2)
    assert list(found) == [
        "classifier",
        "mahalanobis",
        "knn",
        "pytorch_ood.Mahalanobis",
        "pytorch_ood.RMD",
        "pytorch_ood.GMM",
        "pytorch_ood.KNN",
    ]
    assert found["pytorch_ood.Mahalanobis"].auroc == pytest.approx(found["mahalanobis"].auroc, abs=0.05)
    assert list(detector.scores(native, native)) == list(found)
    assert all(told.auroc == 0.5 for told in detector.scores(native, native).values())


def test_peers_take_labels_with_gaps() -> None:
    labels = torch.arange(60) % 2 * 5 + 3
    found = peer_scores(normal(60, 2), labels, normal(20, 2, seed=1), normal(20, 2, seed=2) + 9)
    assert all(told.auroc > 0.95 for name, told in found.items() if name not in ("pytorch_ood.RMD", "pytorch_ood.KNN"))


def test_without_pytorch_ood_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Without:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            return None if name.partition(".")[0] == "pytorch_ood" else PathFinder.find_spec(name, path, target)

    for name in [name for name in sys.modules if name.partition(".")[0] == "pytorch_ood"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Without if finder is PathFinder else finder for finder in sys.meta_path])
    with pytest.raises(MissingExtraError, match=r"pip install 'seamripper\[ood\]'"):
        import_peers()
