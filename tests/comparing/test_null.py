"""Nulls of a comparison: those of every pair measured apart, with no network run again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from seamripper.comparing import Comparison, Rule, compare
from seamripper.comparing.memory import Footprint
from seamripper.comparing.order import draw_positions, order_of
from seamripper.cut import split
from seamripper.data import Samples
from seamripper.errors import MeasureError
from seamripper.measures import Measure, Pair, measures
from seamripper.measures.draws import as_batches
from seamripper.measures.null import null_of, sample_orders

N, BATCH, FOLDS, TIMES = 60, 12, 3, 19
RULE = Rule(batch=BATCH, folds=FOLDS, products="float64", optimise=False, interval=False)
MEASURES = ("linear_cka", "regression_r2", "procrustes", "mutual_knn?k=3", "minibatch_cka", "effective_rank")
SENDER_CUTS, RECEIVER_CUTS = ("1", "4"), ("1", "4")


def net(seed: int) -> nn.Sequential:
    """Cuts `1` (5 channels on 8 × 8) and `4` (6 channels on 4 × 4)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = nn.Conv2d(2, 5, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(5, 6, 3, padding=1), nn.Tanh()
        return nn.Sequential(*layers, nn.Flatten(), nn.Linear(96, 3)).double()


def images() -> Samples:
    pixels = torch.randn(N, 2, 8, 8, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    return Samples("noise", pixels, torch.arange(N) % 3, torch.arange(N) + 100, classes=3)


def rows_of(x: Tensor, y: Tensor, measure: Measure, sampling: str, ids: Tensor) -> tuple[Tensor, Tensor, int]:
    """The rows that a measure is of, and how many each sample has: plainly, from whole maps of all samples."""
    if sampling == "pool":
        return x.mean((2, 3)), y.mean((2, 3)), 1
    x = nn.functional.interpolate(x, size=y.shape[2:], mode="bilinear", align_corners=False)
    a, b = (maps.flatten(2).mT for maps in (x, y))
    if measure.claims.needs == "moments":
        return a.flatten(0, 1), b.flatten(0, 1), a.shape[1]
    at = draw_positions(ids, (int(y.shape[2]), int(y.shape[3])), seed=0)
    every = torch.arange(len(ids))
    return a[every, at], b[every, at], 1


def value(measure: Measure, x: Tensor, y: Tensor, sampling: str, ids: Tensor, keep: int) -> float:
    a, b, places = rows_of(x, y, measure, sampling, ids)
    keep = keep if measure.claims.needs == "rows" else len(a)
    fold_of = (torch.arange(N) // BATCH % FOLDS).repeat_interleave(places)[:keep]
    pair = Pair.of(a[:keep], b[:keep], fold_of=fold_of)
    return measure.value(as_batches(pair, batch=BATCH) if measure.claims.needs == "batches" else pair)


@pytest.mark.parametrize(("sampling", "keep"), [("positions", 40), ("pool", 40), ("pool", 100)])
def test_every_cell_has_the_null_of_its_pair(sampling: str, keep: int) -> None:
    """The receiver's samples change places, and each position of theirs meets the same position as before."""
    nets, samples = (net(0), net(1)), images()
    got = compare(
        *nets, samples, measures=MEASURES, sender_cuts=SENDER_CUTS, receiver_cuts=RECEIVER_CUTS,
        rule=replace(RULE, sampling=sampling, keep=keep), null=TIMES,
    )  # fmt: skip
    order = order_of(samples.ids, seed=0)
    inputs, ids = samples.batch(order), samples.ids[order]
    with torch.no_grad():
        xs, ys = ([split(n, cut, inputs[:2]).head(inputs) for cut in SENDER_CUTS] for n in nets)
    orders = list(sample_orders(torch.arange(N) // BATCH % FOLDS, permutations=TIMES, seed=0))
    for name in MEASURES[:-1]:
        measure, matrix = measures.make(name), got[name]
        how = {"best": measure.claims.self_score, "distance": measure.claims.direction == "distance"}
        cells: list[list[float]] = []
        for i, x in enumerate(xs):
            for j, y in enumerate(ys):
                cells.append([value(measure, x, y[o], sampling, ids, keep) for o in (torch.arange(N), *orders)])
                cell = matrix.scores[i][j]
                assert cell is not None
                assert cell.value == pytest.approx(cells[-1][0], abs=1e-9)
                expected = null_of(cells[-1][0], cells[-1][1:], **how)
                assert cell.null is not None
                assert cell.null.p == expected.p
                assert cell.null.threshold == pytest.approx(expected.threshold, abs=1e-8)
                assert cell.null.calibrated == pytest.approx(expected.calibrated, abs=1e-7)
        best = [(min if how["distance"] else max)(column) for column in zip(*cells, strict=True)]
        expected = null_of(best[0], best[1:], **how)
        assert matrix.null is not None
        assert (matrix.null.p, matrix.null.permutations) == (expected.p, TIMES)
        assert matrix.null.calibrated == pytest.approx(expected.calibrated, abs=1e-7)
    assert got["effective_rank"].null is None
    assert "does not depend on which sample is which" in got["effective_rank"].no_null
    assert got["effective_rank"].scores[0][0] is not None


def test_no_network_runs_again_and_the_scores_are_the_same(tmp_path: Path) -> None:
    shown: list[int] = []
    sender = net(0)

    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = sender

        def forward(self, x: Tensor) -> Tensor:
            shown.append(len(x))
            y: Tensor = self.net(x)
            return y

    counts, found = [], []
    for null in (0, TIMES):
        shown.clear()
        found.append(compare(Counted(), net(1), images(), receiver_cuts=["4"], rule=RULE, null=null))
        counts.append(sum(shown))
    assert counts[0] == counts[1] >= N
    assert found[0]["linear_cka"].values == found[1]["linear_cka"].values
    assert "null" not in found[0].record
    assert found[1].record["null"] == {"permutations": TIMES, "level": 0.05}
    found[1].save(tmp_path)
    again = Comparison.load(tmp_path)
    assert again["linear_cka"].null == found[1]["linear_cka"].null
    assert again["linear_cka"].calibrated == found[1]["linear_cka"].calibrated
    assert "calibrated" in again._repr_html_()
    assert "permutations of the samples come above" in again._repr_html_()
    assert "calibrated" not in found[0]._repr_html_()
    json.dumps(again.as_record(), allow_nan=False)


def test_a_network_and_itself_is_beyond_chance() -> None:
    same = compare(net(0), net(0), images(), sender_cuts=["4"], receiver_cuts=["4"], rule="pool", null=99)
    null = same["linear_cka"].null
    assert null is not None
    assert null.p == 0.01
    assert null.calibrated == pytest.approx(1, abs=1e-6)


class Tokens(nn.Module):
    """A vector per token, and their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.read = nn.Embedding(9, 4), nn.Linear(4, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.embed(input_ids)
        mask = attention_mask[..., None].to(x)
        answer: Tensor = self.read((x * mask).sum(1) / mask.sum(1))
        return answer


def test_padded_tokens_have_a_null_by_pool_only() -> None:
    generator = torch.Generator().manual_seed(0)
    mask = (torch.arange(6) < torch.randint(2, 7, (30, 1), generator=generator)).long()
    inputs = {"input_ids": torch.randint(0, 9, (30, 6), generator=generator), "attention_mask": mask}
    samples = Samples("texts", inputs, torch.arange(30) % 3, torch.arange(30), classes=3)
    model = Tokens()
    with pytest.raises(MeasureError, match=r"different numbers of rows.*'pool'"):
        compare(model, model, samples, sender_cuts=["embed"], receiver_cuts=["embed"], null=19)
    got = compare(model, model, samples, sender_cuts=["embed"], receiver_cuts=["embed"], rule="pool", null=19)
    assert got["linear_cka"].null is not None
    assert got["linear_cka"].null.p == 0.05


def test_the_kept_maps_are_in_the_plan() -> None:
    said: list[str] = []
    for null in (0, 19):
        compare(net(0), net(1), images(), rule=RULE, null=null, announce=said.append)
    assert "whatever the number of samples" in said[0]
    assert "for 60 samples" in said[1]
    assert "activations for the null" in said[1]
    with pytest.raises(MeasureError, match="Give fewer samples"):
        Footprint(1, 1, 1, maps=10**9).require(10**6)


def test_flattened_maps_are_turned_to_few_columns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A QR of the receiver's rows for each permutation would take longer than all the rest."""
    rule = Rule(sampling="flatten", batch=BATCH, folds=FOLDS, interval=False)
    measures = ["linear_cka", "rsa?rdm=euclidean"]
    turned: list[int] = []
    qr = torch.linalg.qr
    monkeypatch.setattr(torch.linalg, "qr", lambda *a, **k: turned.append(1) or qr(*a, **k))
    got = compare(
        net(0), net(1), images(), sender_cuts=["1"], receiver_cuts=["1"], measures=measures, rule=rule, null=TIMES
    )
    assert len(turned) < TIMES
    assert all(got[name].null is not None for name in measures)


def test_refusals() -> None:
    with pytest.raises(MeasureError, match="at least 19 permutations"):
        compare(net(0), net(1), images(), null=5)
    with pytest.raises(MeasureError, match="null"):
        compare(net(0), net(1), images(), null="many")  # type: ignore[arg-type]


def test_cells_whose_permutations_have_no_value_say_so() -> None:
    """A row of zeros has no direction. In some order of the samples, one that is all zeros is drawn."""
    nets = [nn.Sequential(nn.Conv2d(2, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 3)) for _ in range(2)]
    for k, module in enumerate(nets):
        with torch.no_grad():
            module[0].weight.copy_(torch.eye(2)[:, :, None, None])
            module[0].bias.fill_(5.0 * (1 - k))
    samples = images()
    samples = replace(samples, inputs=samples.inputs.float() + 1.6)
    # By this seed no row of the true order is all zeros.
    got = compare(*nets, samples, sender_cuts=["1"], receiver_cuts=["1"], measures=["rsa?rdm=cosine"], null=19)
    matrix = got["rsa?rdm=cosine"]
    assert matrix.scores[0][0] is not None
    assert matrix.null is None
    assert "the receiver has" in matrix.null_text
