"""map_embeddings: planted answers, what is fitted on what, files, and memory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from seamripper.activations import Activations
from seamripper.cut import Cut
from seamripper.errors import DataError, FileError, MeasureError
from seamripper.mapping import EmbeddingMap, map_embeddings
from seamripper.mapping.embeddings import Embeddings
from seamripper.mapping.linear import RIDGES, best_ridge, label_of
from seamripper.mapping.page import ARRAY, PAGE, RECORD, TENSORS, save
from seamripper.mapping.retrieval import search
from seamripper.mapping.rule import Condition, answer_of
from seamripper.matching.moments import Moments


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def rotation(d: int, seed: int = 9) -> Tensor:
    return torch.linalg.qr(noise(d, d, seed=seed)).Q


OLD = noise(400, 12) * torch.linspace(2, 0.5, 12)


def test_a_planted_rotation_is_found_exactly() -> None:
    verdict = map_embeddings(OLD, OLD @ rotation(12))
    assert (verdict.answer, verdict.map.kind) == ("keep with the map", "orthogonal")
    mapped = verdict.tests["map"]
    for part in (mapped.own, mapped.old, mapped.again):
        assert [e.value for e in part.figures.values()] == [1.0] * 4
    assert mapped.r2 is not None
    assert mapped.r2.value == pytest.approx(1.0, abs=1e-6)
    # Without the map, the same queries are lost.
    assert verdict.tests["no map"].own.recall[10].value < 0.2


def test_shuffled_pairs_are_at_chance_and_so_is_the_control() -> None:
    order = torch.randperm(1000, generator=torch.Generator().manual_seed(3))
    old = noise(1000, 12)
    verdict = map_embeddings(old, (old @ rotation(12))[order])
    assert verdict.answer == "embed again"
    assert "in the same order?" in verdict.doubt
    for name in ("map", "shuffled pairs"):
        for k, recall in verdict.tests[name].own.recall.items():
            assert recall.low <= k / 1000 <= recall.high
    paired = map_embeddings(old, old @ rotation(12))
    control = paired.tests["shuffled pairs"].own.recall[100]
    assert control.low <= 0.1 <= control.high


def test_the_same_embeddings_need_no_map() -> None:
    verdict = map_embeddings(OLD, OLD.clone())
    assert verdict.answer == "keep"
    assert {condition.queries for condition in verdict.conditions} == {"no map"}


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_other_widths_and_a_shear_need_an_affine_map(metric: str) -> None:
    new = OLD @ noise(12, 20, seed=5) + 3.0
    verdict = map_embeddings(OLD, new, metric=metric)  # type: ignore[arg-type]
    assert verdict.answer == "keep with the map"
    assert verdict.map.kind in ("affine", "ridge")
    assert "no map" not in verdict.tests
    assert verdict.tests["map"].own.recall[1].value == 1.0


def test_a_constant_index_finds_nothing() -> None:
    """Rows that are all as near as each other leave a query's own in the middle, and not in front."""
    flat = np.ones((60, 3), "f4")
    index = Embeddings(flat, "flat")
    own = torch.arange(10)
    found = search({"q": torch.from_numpy(flat[:10])}, own, index, metric="cosine", watch=lambda _: None)["q"]
    assert found.rank.tolist() == [30.5] * 10


def test_a_search_in_blocks_is_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seamripper.mapping.retrieval._CELLS", 1)
    rows, queries, own = noise(500, 6, seed=1), noise(20, 6, seed=2), torch.arange(0, 500, 25)
    found = search({"q": queries}, own, Embeddings(rows.numpy(), "r"), metric="euclidean", watch=lambda _: None)["q"]
    far = np.linalg.norm(queries.numpy()[:, None] - rows.numpy()[None], axis=2)
    for i, mine in enumerate(own.tolist()):
        order = far[i].argsort().tolist()
        assert found.rank[i] == order.index(mine) + 1
        assert found.nearest[i].tolist() == [j for j in order if j != mine][:100]


def test_the_answer_depends_on_the_whole_interval() -> None:
    from seamripper.estimate import Estimate

    def conditions(low: float, high: float) -> tuple[Condition, ...]:
        own = Condition("map", "own", Estimate((low + high) / 2, low, high, 100), 0.95)
        return own, Condition("map", "again", Estimate(0.0, -0.01, 0.01, 100), -0.05)

    ends = {"keep with the map": (0.96, 0.99), "embed again": (0.9, 0.94), "undecided": (0.93, 0.97)}
    for answer, (low, high) in ends.items():
        assert answer_of({"map": conditions(low, high)})[0] == answer


def test_files_are_read_from_disk_and_written(tmp_path: Path) -> None:
    new = OLD @ rotation(12) + 0.5
    np.save(tmp_path / "old.npy", OLD.numpy().astype("f2"))
    np.save(tmp_path / "new.npy", new.numpy())
    verdict = map_embeddings(tmp_path / "old.npy", str(tmp_path / "new.npy"))
    page = save(verdict, tmp_path / "out")
    assert page.name == PAGE
    assert "keep with the map" in page.read_text().lower()
    assert json.loads((page.parent / RECORD).read_text())["answer"] == "keep with the map"
    loaded, matrix = EmbeddingMap.load(page.parent / TENSORS), np.load(page.parent / ARRAY)
    assert torch.equal(loaded(new), verdict.map(new))
    assert np.allclose(new.numpy() @ matrix[:-1] + matrix[-1], verdict.map(new).numpy(), atol=1e-4)
    # The rows themselves stay on disk.
    from seamripper.mapping.embeddings import open_pair

    assert isinstance(open_pair(tmp_path / "old.npy", tmp_path / "new.npy")[0].rows, np.memmap)


def test_tokens_of_activations_are_averaged_and_ids_must_agree() -> None:
    tokens, ids = noise(400, 5, 4), torch.arange(400)
    old = Activations(Cut("a", (5, 4), "ntd"), tokens, ids, ids)
    verdict = map_embeddings(old, tokens.mean(1))
    assert verdict.answer == "keep"
    with pytest.raises(MeasureError, match="the same samples in another order"):
        map_embeddings(old, Activations(Cut("a", (5, 4), "ntd"), tokens, ids, ids.flip(0)))


def test_the_seed_decides_and_nothing_else() -> None:
    new = OLD @ noise(12, 12, seed=4) + noise(400, 12, seed=6)
    first, again, other = (map_embeddings(OLD, new, seed=seed).as_record() for seed in (0, 0, 1))
    assert first == again
    assert first["tests"] != other["tests"]


@pytest.mark.parametrize(
    ("old", "new", "kind", "says"),
    [
        (OLD[:30], OLD[:30], DataError, "at least 50 documents"),
        (OLD, OLD[:399], DataError, "400 and 399 rows"),
        (OLD[:, 0], OLD, DataError, "one row of real numbers per document"),
        (OLD, torch.ones(400, 3), DataError, "all rows of one side are the same"),
        (OLD, torch.where(torch.arange(400)[:, None] == 7, torch.nan, OLD), DataError, "NaN or Inf in row 7"),
        ("old.txt", OLD, FileError, "Expected embeddings in a .npy file"),
    ],
)
def test_what_is_wrong_is_said(old: object, new: object, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        map_embeddings(old, new)  # type: ignore[arg-type]


@pytest.mark.parametrize(("blur", "ridge"), [(0.0, 0.0), (2.2, 0.1), (22.0, 10.0), (1000.0, RIDGES[-1])])
def test_the_less_the_pairs_say_the_larger_the_ridge(blur: float, ridge: float) -> None:
    """The best is about blur² / n here; the largest is chosen where nothing is to be learnt, and is so called."""
    new = noise(60, 40).double()
    old = new @ noise(40, 50, seed=1).double() + blur * noise(60, 50, seed=2).double()
    folds = [Moments(40, 50) for _ in range(5)]
    for k, moments in enumerate(folds):
        moments.add(new[k::5], old[k::5])
    assert best_ridge(folds) == ridge
    assert ("the largest tried" in label_of("ridge", ridge)) == (blur == 1000.0)
