"""Padding counts nowhere: texts padded to 48 and to 96 tokens give the same, and that of their real tokens alone.

Real transformers (BERT with random weights that differ enough to answer differently), texts of 5 to 40 tokens.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import seamripper as sr
from seamripper.activations.collect import collect
from seamripper.activations.recorded import replay
from seamripper.audits.detectors.fast import pooled_rows
from seamripper.audits.distribution import Distribution
from seamripper.comparing import Rule, Stitching, compare, pair_activations
from seamripper.controls.linear_probe import LinearProbe
from seamripper.data.padding import trim, trim_pair
from seamripper.data.paired import Paired
from seamripper.errors import DataError, MatchError, MeasureError
from seamripper.matching import Direct, Downstream, Regression, evaluate, match, matchings
from seamripper.matching.task import Task
from seamripper.models.libraries import import_torchvision
from seamripper.models.training import Training
from seamripper.stitches.pool_linear import PoolLinear

PADDINGS = (48, 96)
BLOCKS = ["bert.encoder.layer.0", "bert.encoder.layer.1"]
TASK = Task(Training(epochs=2, batch=32, lr=1e-2))


@functools.cache
def bert(seed: int, width: int) -> nn.Module:
    import_torchvision()  # transformers imports it even for text, and here and there it needs its repair first
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=60, hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=2 * width,
        max_position_embeddings=128, num_labels=3, initializer_range=0.4,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return transformers.BertForSequenceClassification(config).eval()


def narrow_bert() -> nn.Module:
    return bert(1, 12)


def wide_bert() -> nn.Module:
    return bert(2, 16)


SPLITS: dict[Any, tuple[sr.Split, sr.Split]] = {}


@functools.cache
def texts(n: int, length: int, *, first_id: int = 0, filler: int = 0) -> sr.Samples:
    """The same texts at any length; what stands in padding may be anything. The receiver names most of them rightly."""
    rng = np.random.RandomState(first_id)
    sizes = rng.randint(5, 41, size=n)
    words = torch.from_numpy(rng.randint(3, 60, size=(n, 40)))
    ids = torch.full((n, length), filler)
    ids[:, :40] = words
    mask = (torch.arange(length) < torch.from_numpy(sizes)[:, None]).long()
    ids[:, 0] = 1
    ids[torch.arange(n), torch.from_numpy(sizes) - 1] = 2
    inputs = {"input_ids": torch.where(mask > 0, ids, filler), "attention_mask": mask}
    with torch.no_grad():
        answers = wide_bert()(input_ids=inputs["input_ids"][:, :40], attention_mask=mask[:, :40]).logits.argmax(1)
    labels = torch.where(torch.from_numpy(rng.rand(n)) < 0.9, answers, (answers + 1) % 3)
    return sr.Samples("texts", inputs, labels, torch.arange(first_id, first_id + n), classes=3)


def halves(samples: sr.Samples, cuts: tuple[str, str] = (BLOCKS[0], BLOCKS[0])) -> tuple[sr.Split, sr.Split]:
    """Both networks, cut for texts of this length and these inputs; each once, as a split is frozen."""
    key = (cuts, tuple(samples.inputs), samples.shape)
    if key not in SPLITS:
        example = samples.batch(slice(0, 2))
        SPLITS[key] = sr.split(narrow_bert(), cuts[0], example), sr.split(wide_bert(), cuts[1], example)
    return SPLITS[key]


def tokens_of(half: sr.Split, samples: sr.Samples) -> NDArray[np.float64]:
    """The activations of real tokens alone, by no code of ours but the network's."""
    assert isinstance(samples.inputs, dict)
    with torch.no_grad():
        values = half.head(samples.inputs).double().numpy()
    return values[samples.inputs["attention_mask"].numpy() > 0]


def same(a: Any, b: Any, where: str = "") -> None:
    """Equal to 1e-6, number by number, whatever they are in."""
    if isinstance(a, Mapping):
        assert a.keys() == b.keys(), where
        for key in a:
            same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for k, pair in enumerate(zip(a, b, strict=True)):
            same(*pair, f"{where}[{k}]")
    elif isinstance(a, float) and not math.isnan(a):
        assert b == pytest.approx(a, abs=1e-6), where
    elif isinstance(a, Tensor):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
    elif not isinstance(a, float):
        assert a == b, where


def numbers(found: sr.Match) -> dict[str, Any]:
    return {"status": found.status, "figures": dict(found.figures), "layer": dict(found.layer.state_dict())}


# ---- compare


@pytest.mark.slow
@pytest.mark.parametrize("sampling", ["positions", "pool"])
def test_compare_is_the_same_at_both_paddings(sampling: Any) -> None:
    measures = ["linear_cka", "procrustes", "minibatch_cka", "mutual_knn", "direct_structural"]
    measures += ["direct_functional", "task_functional"] if sampling == "positions" else []
    matrices = []
    for length in PADDINGS:
        found = compare(
            narrow_bert(), wide_bert(), texts(60, length), measures=measures,
            sender_cuts=BLOCKS[:1], receiver_cuts=BLOCKS,
            rule=Rule(sampling=sampling, batch=8), stitching=Stitching(Task(Training(epochs=1), init="direct")),
        )  # fmt: skip
        matrices.append({name: matrix.as_record() for name, matrix in found.matrices.items()})
        assert not any(matrix.failed for matrix in found.matrices.values())
    same(*matrices)


def test_rows_of_a_comparison_are_the_real_tokens() -> None:
    samples = texts(60, 48, filler=7)
    x, y = (tokens_of(half, samples) for half in halves(samples))
    cuts = {"sender_cuts": BLOCKS[:1], "receiver_cuts": BLOCKS[:1]}
    found = compare(narrow_bert(), wide_bert(), samples, rule=Rule(products="float64"), **cuts).score(
        "linear_cka", *BLOCKS[:1] * 2
    )
    x, y = x - x.mean(0), y - y.mean(0)
    expected = np.linalg.norm(x.T @ y) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y))
    assert found.value == pytest.approx(expected, abs=1e-6)
    assert found.n == len(x)
    # And those that are kept are real tokens, one a text: each is found among them.
    rows = compare(narrow_bert(), narrow_bert(), samples, measures=["mutual_knn"], rule=Rule(keep=60), **cuts)
    assert rows.score("mutual_knn", *BLOCKS[:1] * 2).n == 60


def test_vectors_and_tokens_have_no_positions_in_common_but_each_has_its_own() -> None:
    cuts = [BLOCKS[0], "bert.pooler"]
    found = compare(narrow_bert(), wide_bert(), texts(60, 48), sender_cuts=cuts, receiver_cuts=cuts)["linear_cka"]
    assert [[cell is None for cell in row] for row in found.scores] == [[False, True], [True, False]]
    assert "Use the sampling 'pool'" in found.failed[f"{BLOCKS[0]} × bert.pooler"]


def test_padding_is_not_flattened() -> None:
    with pytest.raises(MeasureError, match=r"no place in a flattened row.*'positions' or 'pool'"):
        compare(
            narrow_bert(),
            wide_bert(),
            texts(60, 48),
            sender_cuts=BLOCKS,
            receiver_cuts=BLOCKS,
            rule=Rule(sampling="flatten"),
        )


# ---- match and evaluate


def test_direct_matching_is_that_of_the_real_tokens() -> None:
    found = []
    for length in PADDINGS:
        fit, other = texts(150, length), texts(40, length, first_id=1000)
        pair = halves(fit)
        found.append(match(*pair, fit, matching=Direct(), held_out=other))
        x, y, z, w = (tokens_of(half, part) for part in (fit, other) for half in pair)
        # A layer norm leaves one direction in which tokens do not vary: the solution of least norm has nothing of it.
        weight = np.linalg.lstsq(x - x.mean(0), y - y.mean(0), rcond=1e-5)[0]
        bias = y.mean(0) - x.mean(0) @ weight
        installed = found[-1].layer.map()
        np.testing.assert_allclose(installed[0].T, weight, atol=1e-5)
        np.testing.assert_allclose(installed[1], bias, atol=1e-5)
        residual = ((w - z @ weight - bias) ** 2).sum() / (w**2).sum()
        assert found[-1].figures["residual_held_out"] == pytest.approx(residual, abs=1e-6)
        assert (found[-1].figures["rows"], found[-1].figures["rows_held_out"]) == (len(x), len(z))
    same(*map(numbers, found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stitch", "cut", "matching"),
    [
        ("affine", BLOCKS[0], TASK),
        ("bn_affine", BLOCKS[0], TASK),
        ("pool_linear", "bert.pooler", TASK),
        ("pool_linear", "bert.pooler", Direct()),
        ("bn_affine", BLOCKS[0], Regression(Training(epochs=1, batch=32))),
        ("bn_affine", BLOCKS[0], Downstream(Training(epochs=1, batch=32))),
        ("pool_linear", "bert.pooler", Downstream(Training(epochs=1, batch=32))),
    ],
    ids=["affine-task", "bn-task", "pool-task", "pool-direct", "bn-regression", "bn-downstream", "pool-downstream"],
)
def test_a_match_and_its_evaluation_are_the_same_at_both_paddings(stitch: str, cut: str, matching: Any) -> None:
    found = []
    for length, filler in zip(PADDINGS, (0, 9), strict=True):
        fit, test = texts(64, length, filler=filler), texts(40, length, first_id=1000, filler=filler)
        joined = match(*halves(fit, (BLOCKS[0], cut)), fit, stitch=stitch, matching=matching)
        result = evaluate(joined, test, own=texts(30, length, first_id=5000))
        found.append(numbers(joined) | {"result": result.as_record()})
    same(*found)


def test_batch_statistics_are_those_of_the_real_tokens() -> None:
    fit = texts(64, 48)
    half, receiver = halves(fit)
    found = match(half, receiver, fit, stitch="bn_affine", matching=Task(Training(epochs=1, batch=64)))
    rows = tokens_of(half, fit)
    np.testing.assert_allclose(found.layer.before.running_mean, 0.1 * rows.mean(0), atol=1e-6)
    np.testing.assert_allclose(found.layer.before.running_var, 0.9 + 0.1 * rows.var(0, ddof=1), rtol=1e-5)


def test_a_regressed_residual_is_that_of_the_real_tokens() -> None:
    fit, other = texts(64, 48), texts(40, 48, first_id=1000)
    pair = halves(fit)
    found = match(*pair, fit, matching=Regression(Training(epochs=2)), held_out=other)
    x, y = (torch.from_numpy(tokens_of(half, other)) for half in pair)
    with torch.no_grad():
        error = (found.layer.double()(x) - y).square().sum() / y.square().sum()
    assert found.figures["residual_held_out"] == pytest.approx(float(error), abs=1e-6)


def test_errors_behind_the_cut_are_those_of_the_real_tokens() -> None:
    """Texts that are shown one by one, each without any padding, have the same errors at every layer."""
    fit, other = texts(64, 48), texts(40, 48, first_id=1000)
    pair = halves(fit)
    matching = Downstream(Training(epochs=2), layers=(*BLOCKS, "last"))
    found = match(*pair, fit, matching=matching, held_out=other)
    receiver = pair[1].model.module
    values: list[Tensor] = []
    handle = receiver.get_submodule(BLOCKS[1]).register_forward_hook(
        lambda _, args, returned: values.append(returned[0] if isinstance(returned, tuple) else returned)
    )
    error = norm = 0.0
    with torch.no_grad():
        for number in range(len(other)):
            size = int(other.inputs["attention_mask"][number].sum())
            inputs = {name: value[number : number + 1, :size] for name, value in other.inputs.items()}
            values.clear()
            found.answer(inputs)
            pair[1].answer(inputs)
            stitched, native = (value.reshape(-1, 16).double() for value in values)
            error += float((stitched - native).square().sum())
            norm += float(native.square().sum())
    handle.remove()
    assert found.figures[f"downstream_held_out_at_{BLOCKS[1]}"] == pytest.approx(error / norm, rel=1e-4)
    assert found.figures["layers"].startswith(", ".join(BLOCKS))


def test_texts_may_be_padded_on_the_left() -> None:
    """With their positions, texts are the same wherever they stand, so both sides and both lengths agree."""
    found = []
    for length, left in ((48, True), (96, True), (48, False)):
        fit = texts(64, length)
        if left:
            order = fit.inputs["attention_mask"].argsort(dim=1, stable=True)
            inputs = {key: value.gather(1, order) for key, value in fit.inputs.items()}
            fit = replace(fit, inputs={**inputs, "position_ids": (inputs["attention_mask"].cumsum(1) - 1).clamp(min=0)})
        joined = match(*halves(fit), fit, matching=Direct())
        found.append({key: joined.figures[key] for key in ("rows", "residual_in_sample", "residual_held_out")})
    same(found[0], found[1])
    same(found[0], found[2])


def test_a_mask_and_tokens_in_bytes_are_the_same_mask_and_tokens() -> None:
    fit, test = texts(64, 48), texts(40, 48, first_id=1000)
    results = []
    for dtype in (torch.int64, torch.uint8):
        shown, others = (
            replace(part, inputs={name: value.to(dtype) for name, value in part.inputs.items()}) for part in (fit, test)
        )
        joined = match(*halves(fit), shown, matching=Direct())
        results.append(numbers(joined) | evaluate(joined, others).as_record())
    same(results[0]["figures"], results[1]["figures"])
    same(*(result["kl"] for result in results))


def test_padding_is_never_the_first_token() -> None:
    layer = PoolLinear(pool="cls").build(sr.Cut("a", (3, 1), "ntd"), sr.Cut("b", (1,), "nd"))
    tokens, mask = torch.arange(6.0).reshape(2, 3, 1), torch.tensor([[False, True, True], [True, True, False]])
    assert layer.rows(tokens, mask).tolist() == [[1.0], [3.0]]


def test_texts_shown_in_another_order_are_joined_where_both_have_a_token() -> None:
    fit = texts(80, 48)
    mixed = Paired(fit.take(torch.arange(80).flip(0)), fit)
    pair = halves(fit)
    found = match(*pair, mixed, matching=Direct(), held_out=texts(20, 48, first_id=1000))
    mask = fit.inputs["attention_mask"] > 0
    assert found.figures["rows"] == int((mask & mask.flip(0)).sum())


def test_a_recorded_sender_leaves_padding_out() -> None:
    (a, b), found = (texts(64, length) for length in PADDINGS), []
    found.append(match(*halves(a, (BLOCKS[0], "bert.pooler")), a, matching=Direct()))
    sender, receiver = halves(b, (BLOCKS[0], "bert.pooler"))
    again, shown = replay(sender, b, collect(sender, b))
    found.append(match(again, receiver, shown, matching=Direct()))
    same(*map(numbers, found))


@pytest.mark.slow
def test_stitches_that_would_mix_padding_in_are_refused() -> None:
    fit = texts(64, 49)
    for stitch, cut in (("flatten_linear", "bert.pooler"), ("resample_tokens", BLOCKS[0])):
        with pytest.raises(
            MatchError, match=rf"the stitch '{stitch}' from .* would count them. Use '(pool_linear|affine)'"
        ):
            match(*halves(fit, (BLOCKS[0], cut)), fit, stitch=stitch, matching=TASK)
    with pytest.raises(MatchError, match=r"'expand_linear' from .* would count them. Choose cuts"):
        match(*halves(fit, ("bert.pooler", BLOCKS[0])), fit, stitch="expand_linear", matching=TASK)
    with pytest.raises(MatchError, match=r"padding has no place.*'regression'"):
        match(*halves(fit), fit, matching=matchings.make("embedding_mapping"))
    # Vectors are not padded, and texts of one length need no padding.
    match(*halves(fit, ("bert.pooler", "bert.pooler")), fit, stitch="flatten_linear", matching=Direct())
    whole = replace(fit, inputs={**fit.inputs, "attention_mask": torch.ones(64, 49, dtype=torch.int64)})
    joined = match(*halves(whole, (BLOCKS[0], "bert.pooler")), whole, stitch="flatten_linear", matching=TASK)
    with pytest.raises(MatchError, match=r"'flatten_linear'"):
        joined(fit.inputs)
    with pytest.raises(MatchError, match=r"'flatten_linear'"):
        evaluate(joined, texts(20, 49, first_id=1000))


# ---- audit


@pytest.mark.slow
def test_an_audit_is_the_same_at_both_paddings() -> None:
    records = []
    for length in PADDINGS:
        fit, test = texts(80, length), texts(40, length, first_id=1000)
        found = sr.audit(
            *halves(fit), fit, test, seeds=(0,), matching=Task(Training(epochs=1, batch=32, lr=1e-2), init="direct"),
            controls=("self", "random_sender", "clustered_noise", "shifted_labels", "shuffled", LinearProbe()),
            audits=("conflict", "margin", "distribution", "rank"),
        )  # fmt: skip
        record = found.as_record()
        records.append({part: record[part] for part in ("judgement", "verdicts", "outcomes", "skipped")})
        assert not found.skipped
        assert set(found.verdicts["conflict"].figures["sets"]) == {"word_shuffle", "entity_swap"}
        assert found.verdicts["rank"].figures["n"] == int(test.inputs["attention_mask"].sum())
    same(*records)


def test_a_detector_reads_the_real_tokens() -> None:
    samples = texts(20, 48)
    _, half = halves(samples)
    mask = samples.inputs["attention_mask"] > 0
    with torch.no_grad():
        rows = pooled_rows(half.head(samples.inputs), half.cut, mask)
    parts = np.split(tokens_of(half, samples), mask.sum(1).cumsum(0)[:-1])
    np.testing.assert_allclose(rows, [np.append(part.mean(0), part.std(0)) for part in parts], atol=1e-6)


def test_an_energy_detector_does_not_read_padding() -> None:
    fit, test = texts(60, 48), texts(40, 48, first_id=1000)
    found = sr.audit(
        *halves(fit), fit, test, seeds=(0,), matching=Direct(), controls=("self",), interventions=(),
        audits=(Distribution(detector="energy"),),
    )  # fmt: skip
    assert "Use the detector 'fast'" in found.skipped["distribution"]


# ---- activations


def test_stored_activations_know_their_padding(tmp_path: Any) -> None:
    samples = texts(40, 48)
    for half, name in zip(halves(samples), "xy", strict=True):
        collect(half, samples).save(tmp_path / f"{name}.safetensors")
    x, y = (sr.Activations.load(tmp_path / f"{name}.safetensors") for name in "xy")
    by_position, by_sample = (pair_activations(x, y, sampling=sampling) for sampling in ("positions", "pool"))
    rows = [tokens_of(half, samples) for half in halves(samples)]
    np.testing.assert_allclose(by_position.every.x.rows, rows[0], atol=1e-5)
    np.testing.assert_allclose(by_position.every.y.rows, rows[1], atol=1e-5)
    sizes = samples.inputs["attention_mask"].sum(1).tolist()
    means = [part.mean(0) for part in np.split(rows[0], np.cumsum(sizes)[:-1])]
    np.testing.assert_allclose(by_sample.every.x.rows, means, atol=1e-5)
    # The single row of a text is one of its tokens.
    for row, tokens in zip(by_position.single.x.rows, np.split(rows[0], np.cumsum(sizes)[:-1]), strict=True):
        assert np.abs(tokens - row.numpy()).max(1).min() < 1e-5
    with pytest.raises(DataError, match=r"no place in a flattened row"):
        pair_activations(x, y, sampling="flatten")


# ---- which tokens count


def some(mask: list[list[int]], **more: Tensor) -> sr.Samples:
    counts = torch.tensor(mask)
    inputs = {"input_ids": torch.arange(counts.numel()).reshape(counts.shape), "attention_mask": counts, **more}
    return sr.Samples("some", inputs, torch.zeros(len(mask)).long(), torch.arange(len(mask)), classes=1)


def test_what_is_padding_in_all_samples_is_cut_off_behind_the_last_token() -> None:
    left = some([[0, 1, 1, 0], [0, 0, 1, 0]])
    assert trim(left).inputs["input_ids"].tolist() == [[0, 1, 2], [4, 5, 6]]
    # Only with its position can a token stand where another stood.
    places = torch.tensor([[0, 0, 1, 0], [0, 0, 0, 0]])
    placed = trim(some([[0, 1, 1, 0], [0, 0, 1, 0]], position_ids=places))
    assert placed.inputs["input_ids"].tolist() == [[1, 2], [5, 6]]
    assert placed.inputs["position_ids"].tolist() == [[0, 1], [0, 0]]
    whole = some([[1, 0, 1], [1, 1, 1]])
    assert trim(whole) is whole


def test_inputs_of_another_text_or_size_are_left_alone() -> None:
    decoder, vector = torch.ones(2, 4).long(), torch.ones(2, 7)
    found = trim(some([[1, 1, 0, 0], [1, 0, 0, 0]], decoder_input_ids=decoder, features=vector)).inputs
    assert found["input_ids"].shape == (2, 2)
    assert found["decoder_input_ids"] is decoder
    assert found["features"] is vector


def test_sender_and_receiver_keep_one_length() -> None:
    pair = Paired(some([[1, 1, 1, 0]]), some([[1, 0, 0, 0]]))
    found = trim_pair(pair)
    assert found.receiver.inputs["input_ids"].shape == found.sender.inputs["input_ids"].shape == (1, 3)
    # Values without a mask may be one for each token, so nothing is cut off.
    noise = sr.Samples("noise", torch.zeros(1, 4, 2), torch.zeros(1).long(), torch.arange(1), classes=1)
    tied = Paired(noise, some([[1, 0, 0, 0]]))
    assert trim_pair(tied) is tied


def test_masks_that_tell_nothing_are_refused() -> None:
    with pytest.raises(DataError, match=r"Sample 1 of some \(id 1\) has no token that counts.*Drop such samples"):
        trim(some([[1, 1], [0, 0]]))
    added = some([[1, 1], [1, 0]])
    for mask in ([[0.0, 0.0], [0.0, -1e9]], [[0, -10000], [0, 0]], [[0, -10000], [0, -10000]]):
        added.inputs["attention_mask"] = torch.tensor(mask)
        with pytest.raises(
            DataError, match=r"Expected `attention_mask` to be 1 for a token that counts and 0 for padding"
        ):
            collect(halves(texts(2, 48))[0], added)


class Latents(nn.Module):
    """Six positions, whatever the text: the mask does not tell which of them are padding, if any."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.query, self.read, self.out = (
            nn.Embedding(60, 8), nn.Linear(8, 6), nn.Linear(8, 8), nn.Linear(8, 3)
        )  # fmt: skip

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        words = self.embed(input_ids)
        hidden = (1 - attention_mask[:, None].to(words)) * -1e9
        return self.out(self.read((self.query(words).mT + hidden).softmax(2) @ words).mean(1))


def test_positions_that_are_not_the_tokens_make_no_rows() -> None:
    samples = texts(40, 48)
    half = sr.split(Latents().eval(), "read", samples.batch(slice(0, 2)))
    with pytest.raises(DataError, match=r"'read' has 6 tokens, so it is not known which of its positions count"):
        match(half, half, samples, matching=Direct())
    with pytest.raises(MeasureError, match=r"has other positions.*Leave that cut out"):
        compare(half.model, half.model, samples, sender_cuts=["read"], receiver_cuts=["read"])
    # A stitch that maps each position by itself makes no rows of them.
    assert match(half, half, samples, matching=TASK).status
