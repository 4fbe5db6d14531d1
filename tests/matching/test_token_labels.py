"""Labels for each token, (n, tokens), of the user's own: which of them count, and what every figure makes of them."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seamripper.audits import audit
from seamripper.comparing import compare
from seamripper.cut import Split, split
from seamripper.data import Samples, load_data
from seamripper.data.padding import trim
from seamripper.errors import DataError
from seamripper.matching import Direct, Downstream, Regression, Task, Training, evaluate, match
from seamripper.matching.evaluate import functional
from seamripper.models import Model
from seamripper.models.targets import targets_for

WORDS, TAGS, NONE = 11, 4, -100


class Tagger(nn.Module):
    """Says of each token which kind it is; it sees the token after it as well, as no language model may."""

    def __init__(self, seed: int, *, answers: int = TAGS, once: bool = False) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed = nn.Embedding(WORDS, 16)
            self.block = nn.Sequential(nn.Linear(32, 16), nn.Tanh())
            self.head = nn.Linear(16, answers)
        self.once = once

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> dict[str, Tensor]:
        x = self.embed(input_ids) * attention_mask[..., None]
        answer = self.head(self.block(torch.cat([x, nn.functional.pad(x[:, 1:], (0, 0, 0, 1))], 2)))
        return {"logits": answer.mean(1) if self.once else answer}


def tagged(n: int, *, seed: int = 0, first_id: int = 0, length: int = 8, padded: int = 2) -> Samples:
    """Texts whose tokens are tagged by themselves and the next; one in four has no tag, and padding has a wrong one."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, WORDS, (n, length), generator=generator)
    mask = torch.ones_like(ids)
    mask[::2, length - 3 :] = 0
    ids = ids * mask
    tags = (ids + nn.functional.pad(ids[:, 1:], (0, 1))) % TAGS
    tags[torch.rand(n, length, generator=generator) < 0.25] = NONE
    tags[mask == 0] = 0
    ids, mask, tags = (torch.cat([x, x.new_zeros(n, padded)], 1) for x in (ids, mask, tags))
    inputs = {"input_ids": ids, "attention_mask": mask}
    return Samples("tagged", inputs, tags, torch.arange(first_id, first_id + n), classes=TAGS)


def counted(samples: Samples) -> Tensor:
    """Which tokens are asked for, by the words of this page."""
    assert isinstance(samples.inputs, dict)
    return (samples.inputs["attention_mask"] == 1) & (samples.labels != NONE)


def trained(seed: int) -> nn.Module:
    net, data = Tagger(seed), tagged(400, seed=1, first_id=5000)
    optimiser = torch.optim.Adam(net.parameters(), 0.02)
    targets = data.labels.where(counted(data), NONE)
    for _ in range(120):
        optimiser.zero_grad()
        answers = net(**data.inputs)["logits"]  # type: ignore[arg-type]
        nn.functional.cross_entropy(answers.flatten(0, 1), targets.flatten(), ignore_index=NONE).backward()
        optimiser.step()
    return net.eval()


def cut(net: nn.Module, at: str = "block") -> Split:
    return split(Model(net, type(net).__name__), at, tagged(2).batch(slice(None)))


@pytest.fixture(scope="module")
def pair() -> tuple[Split, Split]:
    return cut(trained(0)), cut(trained(1))


def test_figures_against_a_count_by_hand() -> None:
    """Two texts with 2 and 1 tags. Receiver right on 2 of 3, network on 1, and they agree on 1 of 3."""
    ids = torch.tensor([[1, 2, 3], [5, 6, 0]])
    labels = torch.tensor([[0, NONE, 2], [1, NONE, 1]])
    data = Samples("two", {"input_ids": ids, "attention_mask": (ids > 0).long()}, labels, classes=TAGS)
    eye = torch.eye(TAGS)
    receiver, network = (eye[torch.tensor(rows)] for rows in ([[0, 3, 1], [1, 3, 3]], [[0, 3, 3], [0, 3, 1]]))
    result = functional(network, receiver, data)
    assert (result.n, result.tokens, result.top1.unit, result.top1.n) == (2, 3, "texts", 2)
    figures = (result.top1, result.receiver_here, result.agreement, result.penalty)
    assert [figure.value for figure in figures] == [pytest.approx(part / 3) for part in (1, 2, 1, 1)]
    right, wrong = math.log((math.e + TAGS - 1) / math.e), math.log(math.e + TAGS - 1)
    assert result.cross_entropy is not None
    assert result.perplexity is not None
    assert result.cross_entropy.value == pytest.approx((right + 2 * wrong) / 3)
    assert result.perplexity.value == pytest.approx(math.exp((right + 2 * wrong) / 3))
    assert result.kl is not None
    assert result.kl.value == pytest.approx(2 / 3 * (math.e - 1) / (math.e + TAGS - 1))
    # Of 0, 2 and 1 none is more frequent than the others.
    assert result.chance == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    "matching",
    [Direct(), *(way(Training(epochs=30, lr=3e-2)) for way in (Regression, Downstream, Task))],
    ids=lambda matching: matching.name,
)
def test_a_tagger_is_stitched_and_scored_where_tokens_have_labels(pair: tuple[Split, Split], matching: Any) -> None:
    test = tagged(150, seed=4, first_id=9000)
    result = evaluate(match(*pair, tagged(200, seed=3), matching=matching), test)
    assert result.tokens == int(counted(test).sum())
    named = pair[1].answer(test.batch(slice(None))).argmax(2)
    right = (named == test.labels)[counted(test)]
    assert result.receiver_here.value == pytest.approx(float(right.float().mean()))
    assert result.receiver_here.value > 0.9
    assert result.unreadable is None
    assert result.top1.value > 0.5


def test_labels_decide_what_task_matching_learns(pair: tuple[Split, Split]) -> None:
    """The same texts with their tags moved by one: the stitched network names the moved ones."""
    fit, test = tagged(300, seed=3), tagged(100, seed=4, first_id=9000)
    moved = [
        dataclasses.replace(s, labels=s.labels.where(s.labels == NONE, (s.labels + 1) % TAGS)) for s in (fit, test)
    ]
    matching = Task(Training(epochs=30, lr=3e-2))
    result = evaluate(match(*pair, moved[0], matching=matching), moved[1])
    assert result.top1.value > 0.8
    assert result.receiver_here.value < 0.2
    mapped = dataclasses.replace(matching, label_map=(1, 2, 3, 0))
    by_map = evaluate(match(*pair, fit, matching=mapped), test)
    assert by_map.top1.value == result.top1.value
    assert by_map.receiver_here.value > 0.9


def test_more_padding_and_wrong_labels_on_it_change_nothing(pair: tuple[Split, Split]) -> None:
    short, long = tagged(60, seed=3, padded=0), tagged(60, seed=3, padded=9)
    assert torch.equal(trim(long).labels, short.labels)
    spoilt = dataclasses.replace(long, labels=long.labels.where(long.inputs["attention_mask"] == 1, 3))  # type: ignore[index]
    for matching in (Direct(), Task(Training(epochs=1))):
        stitched = match(*pair, tagged(100, seed=8, first_id=400), matching=matching)
        results = [evaluate(stitched, samples) for samples in (short, long, spoilt)]
        assert results[0] == results[1] == results[2]


def test_streamed_labels_give_the_same_figures(pair: tuple[Split, Split], tmp_path: Path) -> None:
    """A list of dicts, and a DataLoader that batches them; small chunks, in some of which no token has a label."""
    test = tagged(40, seed=4, first_id=9000)
    test.labels[8:16] = NONE
    assert isinstance(test.inputs, dict)
    rows = [
        {"input_ids": ids, "attention_mask": mask, "labels": tags}
        for ids, mask, tags in zip(*test.inputs.values(), test.labels, strict=True)
    ]
    stitched = match(*pair, tagged(100, seed=8), matching=Direct())
    inside = evaluate(stitched, test, batch=8)
    for data in (rows, torch.utils.data.DataLoader(rows, batch_size=8)):  # type: ignore[arg-type]
        outside = evaluate(stitched, data, batch=8)  # type: ignore[arg-type]
        assert (outside.tokens, outside.top1, outside.kl) == (inside.tokens, inside.top1, inside.kl)
    comparison = compare(pair[0].model, pair[1].model, rows, measures="linear_cka", receiver_cuts="block")
    assert {len(row) for row in comparison.matrices["linear_cka"].values} == {1}


def test_labels_of_tokens_from_files(tmp_path: Path) -> None:
    test = tagged(30)
    assert isinstance(test.inputs, dict)
    np.save(tmp_path / "ids.npy", test.inputs["input_ids"].numpy())
    np.save(tmp_path / "tags.npy", test.labels.numpy())
    arrays = [load_data(f"npy:{tmp_path}/ids.npy?labels={tmp_path}/tags.npy", split) for split in ("train", "test")]
    assert all(torch.equal(part.labels, test.labels[part.ids]) for part in arrays)
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    words = [[NONE if tag == NONE else tag for tag in tags] for tags in test.labels.tolist()]
    columns = {name: value.tolist() for name, value in test.inputs.items()} | {"odd tags": words}
    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    rows = load_data(f"parquet:{tmp_path}/rows.parquet", labels="odd tags")
    assert torch.equal(rows.labels, test.labels[rows.ids])
    assert rows.classes == TAGS


def test_labels_one_too_deep_are_not_labels_of_tokens() -> None:
    pixels, labels = torch.zeros(3, 1, 2, 2), torch.tensor([0, 1, 1])
    with pytest.raises(DataError, match="one for each sample or each token of it, but got int64 of shape"):
        Samples("deep", pixels, labels[:, None])
    assert Samples("words", torch.tensor([[4], [5], [4]]), labels[:, None]).per_token


def test_text_beside_token_ids_is_named() -> None:
    rows = [{"words": ["a", "b"], "input_ids": [4, 5], "labels": [0, 1]} for _ in range(3)]
    with pytest.raises(DataError, match=r"text beside them in 'words'. Say .* inputs=\['input_ids'\]"):
        load_data(rows)
    assert load_data(rows, inputs=["input_ids"]).labels.tolist() == [[0, 1]] * 3


# ---- places of images


class Segmenter(nn.Module):
    """Says at each pixel of an image which class is there; as a map, or at places."""

    def __init__(self, seed: int, *, at_places: bool = True) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.backbone = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU())
            self.head = nn.Conv2d(6, TAGS, 1)
        self.at_places = at_places

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.head(8 * self.backbone(x))
        return answer.flatten(2).transpose(1, 2) if self.at_places else answer


def scenes(n: int, *, first_id: int = 0) -> Samples:
    """Noise with the answers of a network at each pixel, but for one in four that has no label."""
    pixels = torch.randn(n, 3, 5, 5, generator=torch.Generator().manual_seed(first_id))
    with torch.no_grad():
        labels = Segmenter(1)(pixels).argmax(2)
    labels[:, ::4] = NONE
    return Samples("scenes", pixels, labels, torch.arange(first_id, first_id + n), classes=TAGS)


@pytest.mark.slow
def test_a_segmenter_that_answers_at_places_is_scored_there() -> None:
    fit, test = scenes(80), scenes(50, first_id=900)
    halves = [
        split(Model(Segmenter(seed).eval(), f"net-{seed}"), "backbone", fit.batch(slice(0, 2))) for seed in (0, 1)
    ]
    stitched = match(*halves, fit, matching=Direct())
    result = evaluate(stitched, test)
    images = test.batch(slice(None))
    asked = test.labels != NONE
    named, native = (answers.argmax(2)[asked] for answers in (stitched(images), halves[1].answer(images)))
    assert (result.n, result.tokens, result.receiver_here.value) == (50, int(asked.sum()), 1.0)
    assert result.agreement.value == pytest.approx(float((named == native).float().mean()))
    assert result.unreadable is None
    figures = match(*halves, fit, matching=Task(Training(epochs=5, lr=1e-2, batch=32), init="direct")).figures
    assert figures["loss_end"] < figures["loss_start"]
    assert audit(*halves, fit, test, matching="direct", seeds=(0,)).verdicts["margin"].observed.value > 0.5


def test_a_segmenter_that_answers_with_maps_is_told_how_to_be_scored() -> None:
    fit, test = scenes(20), scenes(20, first_id=900)
    half = split(Model(Segmenter(0, at_places=False).eval(), "maps"), "backbone", fit.batch(slice(0, 2)))
    stitched = match(half, half, fit, matching=Direct())
    once = dataclasses.replace(test, labels=test.labels[:, 1].clone())
    for samples in (once, Samples("bare", test.inputs, ids=test.ids)):
        with pytest.raises(DataError, match=r"answer has shape \(4, 5, 5\) .* if it answers \(n, places, classes\)"):
            evaluate(stitched, samples)
    with pytest.raises(DataError, match="has labels for each of 25 tokens, but the receiver's answer to a sample has"):
        evaluate(stitched, test)


# ---- labels that repeat the tokens, as language models of transformers take them


def test_labels_that_repeat_the_tokens_stand_for_the_next_token() -> None:
    ids = torch.tensor([[5, 6, 7, 8]])
    prompted = Samples("chat", ids, torch.tensor([[NONE, NONE, 7, 8]]))
    assert targets_for(torch.zeros(1, 4, 9), prompted).tolist() == [[NONE, 7, 8, NONE]]
    # Fewer classes than tokens: no language model, and the labels are what they say.
    few = Samples("few", torch.tensor([[20, 1]]), torch.tensor([[NONE, 1]]))
    assert targets_for(torch.zeros(1, 2, 3), few).tolist() == [[NONE, 1]]


def test_labels_of_a_decoder_belong_to_its_text() -> None:
    inputs = {
        "input_ids": torch.tensor([[5, 6, 0]]),
        "attention_mask": torch.tensor([[1, 1, 0]]),
        "decoder_input_ids": torch.tensor([[0, 7, 8]]),
    }
    both = Samples("both", inputs, torch.tensor([[7, 8, 1]]))
    assert targets_for(torch.zeros(1, 3, 9), both).tolist() == [[7, 8, 1]]
    masked = {**inputs, "decoder_attention_mask": torch.tensor([[1, 1, 0]])}
    assert targets_for(torch.zeros(1, 3, 9), Samples("b", masked, both.labels)).tolist() == [[7, 8, NONE]]
    assert trim(both).labels.shape == (1, 3)


# ---- refused


def test_what_needs_one_label_per_sample_refuses_in_words(pair: tuple[Split, Split]) -> None:
    fit, test = tagged(60), tagged(60, seed=2, first_id=900)
    with pytest.raises(DataError, match="labels for each of 8 tokens, but the receiver's answer to a"):
        match(pair[0], cut(Tagger(2, once=True)), fit, matching="task")
    with pytest.raises(DataError, match="labels of tagged go from 0 to 3, but the receiver has 2"):
        match(pair[0], cut(Tagger(2, answers=2)), fit, matching="task")
    with pytest.raises(DataError, match="a label for each token, and a choice of classes needs one for each sample"):
        fit.first_classes(2)
    bare = dataclasses.replace(fit, labels=torch.full_like(fit.labels, NONE), classes=TAGS)
    with pytest.raises(DataError, match="No token of tagged has a label, so there is nothing that this matching"):
        match(*pair, bare, matching="task")
    stitched = match(*pair, bare, matching="direct")
    with pytest.raises(DataError, match="No token of tagged has a label, so there is nothing to score"):
        evaluate(stitched, dataclasses.replace(test, labels=torch.full_like(test.labels, NONE)))
    with pytest.raises(DataError, match=r"lie in 0 … 3, or to be -100 for a token that has none, but got -1"):
        dataclasses.replace(fit, labels=fit.labels.where(fit.labels != NONE, -1))


def test_controls_and_audits_that_read_classes_are_left_out_and_the_others_answer(pair: tuple[Split, Split]) -> None:
    sender, receiver = pair
    fit, test = tagged(200, seed=3), tagged(120, seed=4, first_id=9000)
    report = audit(sender, receiver, fit, test, matching="direct")
    assert report.verdicts["margin"].answer in ("yes", "no", "unknown")
    text = str(report) + str(report.as_record())
    assert "a label for each token" in text
