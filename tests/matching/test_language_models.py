"""Answers at every token: what is asked, what counts, whose units, and language models stitched both ways."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from seamripper.comparing import compare
from seamripper.controls.shuffled import shuffle
from seamripper.cut import Split, cuts, split
from seamripper.data import Paired, Samples
from seamripper.errors import DataError, MatchError
from seamripper.estimate import jackknife
from seamripper.matching import Direct, Downstream, Task, Training, evaluate, match
from seamripper.matching.evaluate import functional
from seamripper.models import Model
from seamripper.models.running import answer_of
from seamripper.models.targets import UNASKED, looks_ahead, next_tokens, targets_for

WORDS = 11
"""Tokens of the vocabulary; 0 is padding."""


class Small(nn.Module):
    """A language model: each token sees itself and those before it; with `ahead`, those after it as well."""

    def __init__(self, seed: int, *, width: int = 12, ahead: bool = False) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.embed, self.mix = nn.Embedding(WORDS, width), nn.Linear(width, width)
            self.block = nn.Sequential(nn.Linear(width, width), nn.Tanh())
            self.head = nn.Linear(width, WORDS)
        self.ahead = ahead

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        x = self.embed(input_ids)
        seen = torch.ones(x.shape[1], x.shape[1]) / x.shape[1] if self.ahead else before(x.shape[1])
        out: Tensor = self.head(self.block(x + self.mix(seen @ x)))
        return out


def before(t: int) -> Tensor:
    """Weights by which each token is the mean of the tokens up to it."""
    return torch.ones(t, t).tril() / torch.arange(1, t + 1)[:, None]


def texts(n: int, *, seed: int = 0, first_id: int = 0, length: int = 9, padded: int | None = None) -> Samples:
    """Texts in which each token follows from the one before; every second text is shorter. None has a label."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, WORDS, (n, length), generator=generator)
    for place in range(1, length):
        ids[:, place] = 1 + (3 * ids[:, place - 1]) % (WORDS - 1)
    mask = torch.ones_like(ids)
    mask[::2, length - 3 :] = 0
    if padded is not None:
        ids, mask = (torch.cat([x, x.new_zeros(n, padded - length)], 1) for x in (ids, mask))
    return Samples(
        "rules",
        {"input_ids": ids * mask, "attention_mask": mask},
        ids=torch.arange(first_id, first_id + n),
    )


def trained(seed: int) -> nn.Module:
    """A model that has learnt the texts' rule as far as it can."""
    net, data = Small(seed), texts(300, seed=1, first_id=5000)
    optimiser, targets = torch.optim.Adam(net.parameters(), 0.02), next_tokens(data)
    for _ in range(60):
        optimiser.zero_grad()
        answers = net(**data.batch(slice(None)))  # type: ignore[arg-type]
        nn.functional.cross_entropy(answers.flatten(0, 1), targets.flatten(), ignore_index=UNASKED).backward()
        optimiser.step()
    return net.eval()


def cut(net: nn.Module, at: str = "before:block") -> Split:
    return split(Model(net, type(net).__name__), at, texts(2).batch(slice(None)))


@pytest.fixture(scope="module")
def pair() -> tuple[Split, Split]:
    return cut(trained(0)), cut(trained(1))


# ---- what is asked, and what counts


def test_the_next_token_counts_if_both_do() -> None:
    inputs = {"input_ids": torch.tensor([[5, 6, 7, 0], [0, 8, 9, 4]])}
    inputs["attention_mask"] = (inputs["input_ids"] > 0).long()
    two = Samples("two", inputs, torch.zeros(2).long(), torch.arange(2), classes=1)
    assert next_tokens(two).tolist() == [[6, 7, UNASKED, UNASKED], [UNASKED, 9, 4, UNASKED]]
    assert torch.equal(targets_for(torch.zeros(2, 4, 10), two), next_tokens(two))
    assert torch.equal(targets_for(torch.zeros(2, 3), two), two.labels)
    plain = Samples("ids", torch.tensor([[5, 6, 7]]), torch.tensor([0]), torch.tensor([0]), classes=1)
    assert next_tokens(plain).tolist() == [[6, 7, UNASKED]]


def test_tokens_in_bytes_have_the_same_next_tokens() -> None:
    data = texts(4)
    assert isinstance(data.inputs, dict)
    small = dataclasses.replace(data, inputs={name: value.byte() for name, value in data.inputs.items()})
    assert torch.equal(next_tokens(small), next_tokens(data))
    assert torch.equal(targets_for(torch.zeros(4, 9, WORDS), small), next_tokens(data))


def test_figures_against_a_count_by_hand() -> None:
    """Two texts of 3 and 1 tokens asked for. Receiver right on 3 of 4, network on 2, and they agree on 1 of 4."""
    ids = torch.tensor([[1, 2, 3, 4], [5, 6, 0, 0]])
    data = Samples(
        "two", {"input_ids": ids, "attention_mask": (ids > 0).long()}, torch.zeros(2).long(), torch.arange(2), classes=1
    )
    eye = torch.eye(WORDS)
    receiver = eye[torch.tensor([[2, 3, 9, 0], [6, 0, 0, 0]])]
    network = eye[torch.tensor([[2, 8, 4, 0], [7, 0, 0, 0]])]
    result = functional(network, receiver, data)
    assert (result.n, result.tokens, result.top1.unit, result.top1.n) == (2, 4, "texts", 2)
    figures = (result.top1, result.receiver_here, result.agreement, result.penalty, result.relative_accuracy)
    assert [figure.value for figure in figures] == [0.5, 0.75, 0.25, 0.25, pytest.approx(2 / 3)]
    # Each row is one 1 among 0s: the entropy of e / (e + 10) where it is right, of 1 / (e + 10) where it is not.
    right, wrong = math.log((math.e + WORDS - 1) / math.e), math.log(math.e + WORDS - 1)
    assert result.cross_entropy is not None
    assert result.perplexity is not None
    assert result.receiver_cross_entropy is not None
    assert result.cross_entropy.value == pytest.approx((right + wrong) / 2)
    assert result.perplexity.value == pytest.approx(math.exp((right + wrong) / 2))
    assert result.receiver_cross_entropy.value == pytest.approx((3 * right + wrong) / 4)
    # KL of two such rows that differ: (p − q) · 1 nat, over the three of four rows.
    assert result.kl is not None
    assert result.kl.value == pytest.approx(3 / 4 * (math.e - 1) / (math.e + WORDS - 1))
    # The most frequent of the right tokens 2, 3, 4, 6 is right once in four.
    assert result.chance == 0.25
    assert result.top1.low <= 0.5 <= result.top1.high
    record = result.as_record()
    assert record["tokens"] == 4
    assert record["perplexity"]["unit"] == "texts"


def test_one_answer_per_sample_has_no_figures_of_tokens() -> None:
    two = Samples("two", torch.zeros(2, 1), torch.tensor([0, 1]), torch.arange(2), classes=2)
    result = functional(torch.eye(2), torch.eye(2), two)
    assert (result.tokens, result.perplexity, result.top1.unit) == (None, None, "samples")
    assert "perplexity" not in result.as_record()


def test_texts_and_not_tokens_are_the_units() -> None:
    """A text twice as long, with the same hits twice, is still one text: the interval does not shrink."""
    hits, counts = [3, 1, 4, 0, 2, 5], [5, 5, 5, 5, 5, 5]
    once, twice = (
        jackknife(lambda a, n: a / n, [k * h for h in hits], [k * c for c in counts], within=(0, 1), unit="texts")
        for k in (1, 2)
    )
    assert (once.value, once.low, once.high, once.n) == (twice.value, twice.low, twice.high, 6)
    # With equal lengths it is Student's interval of the means of the texts.
    shares = torch.tensor([h / 5 for h in hits], dtype=torch.float64)
    half = 2.570581835636314 * float(shares.std()) / math.sqrt(6)
    assert (once.low, once.high) == (pytest.approx(once.value - half), pytest.approx(once.value + half))


def test_padding_makes_no_difference(pair: tuple[Split, Split]) -> None:
    stitched = match(*pair, texts(60), matching=Direct())
    short, long = (evaluate(stitched, texts(40, seed=2, first_id=900, padded=t)).as_record() for t in (None, 20))
    assert short == long


@pytest.mark.parametrize("batch", [7, 1000])
def test_batches_make_no_difference(pair: tuple[Split, Split], batch: int) -> None:
    stitched, test = match(*pair, texts(60), matching=Direct()), texts(40, seed=2, first_id=900)
    one, other = evaluate(stitched, test, batch=16), evaluate(stitched, test, batch=batch)
    assert one.agreement == other.agreement
    assert one.perplexity is not None
    assert other.perplexity is not None
    assert one.perplexity.value == pytest.approx(other.perplexity.value, rel=1e-5)


# ---- causal, or not


def test_a_causal_model_does_not_look_ahead() -> None:
    data = texts(20)
    assert not looks_ahead(cut(Small(0)).answer, data)
    assert looks_ahead(cut(Small(0, ahead=True)).answer, data)
    assert not looks_ahead(cut(Small(0)).head, data)
    assert looks_ahead(lambda inputs: cut(Small(0)).answer(inputs).mean(1), data)


def test_a_model_that_looks_ahead_is_not_asked_for_the_next_token(pair: tuple[Split, Split]) -> None:
    ahead = cut(Small(0, ahead=True))
    with pytest.raises(DataError, match=r"The receiver \(Small\) answers at every token, and its answers depend on la"):
        match(pair[0], ahead, texts(60), matching=Task(Training(epochs=1)))
    for matching in (Task(Training(epochs=1)), Direct()):
        with pytest.raises(MatchError, match=r"The sender \(Small\) looks at later tokens before 'before:block'"):
            evaluate(match(ahead, pair[1], texts(60), matching=matching), texts(40, seed=2, first_id=900))


def shifted(samples: Samples, *, end: int) -> Samples:
    """The same texts with the next token as the label of each, and `end` behind the last one."""
    assert isinstance(samples.inputs, dict)
    targets, mask = next_tokens(samples), samples.inputs["attention_mask"]
    ends = (mask == 1) & (targets == UNASKED)
    return dataclasses.replace(samples, labels=targets.where(~ends, end), classes=WORDS)


@pytest.mark.parametrize("end", [UNASKED, 3])
def test_labels_that_are_the_next_tokens_need_networks_that_do_not_see_them(
    pair: tuple[Split, Split], end: int
) -> None:
    fit, test = shifted(texts(60), end=end), shifted(texts(40, seed=2, first_id=900), end=end)
    ahead = cut(Small(0, ahead=True))
    for matching in (Task(Training(epochs=1)), Direct()):
        with pytest.raises(MatchError, match=r"The sender \(Small\) looks at later tokens before 'before:block'"):
            evaluate(match(ahead, pair[1], fit, matching=matching), test)
    with pytest.raises(DataError, match=r"The receiver \(Small\) answers at every token, and its answers depend on la"):
        match(pair[0], ahead, fit, matching=Task(Training(epochs=1)))
    with pytest.raises(DataError, match=r"The sender \(Small\) answers at every token"):
        compare(ahead.model, pair[1].model, fit, measures=["task_functional"], sender_cuts=["before:block"])
    assert evaluate(match(*pair, fit, matching=Direct()), test).top1.value > 0.5
    # The labels of other texts are no next tokens.
    assert isinstance(fit.inputs, dict)
    mixed = dataclasses.replace(fit, labels=fit.labels.flip(0))
    assert match(ahead, pair[1], mixed, matching=Task(Training(epochs=1))).status


def test_a_vocabulary_that_is_too_small(pair: tuple[Split, Split]) -> None:
    with pytest.raises(DataError, match="The tokens of rules go from 1 to 10, but the receiver has 4 classes"):
        targets_for(torch.zeros(2, 9, 4), texts(2))
    one = Samples("one", torch.ones(3, 1).long(), torch.zeros(3).long(), torch.arange(3), classes=1)
    with pytest.raises(DataError, match="No text of one has two tokens"):
        targets_for(torch.zeros(3, 1, 4), one)


# ---- stitched


@pytest.mark.parametrize(
    "matching",
    [Direct(), Task(Training(lr=0.02, epochs=20, batch=32)), Downstream(Training(lr=0.02, epochs=20, batch=32))],
    ids=lambda matching: matching.name,
)
def test_language_models_are_stitched_both_ways(pair: tuple[Split, Split], matching) -> None:
    fit, test = texts(200), texts(150, seed=2, first_id=900)
    for a, b in (pair, pair[::-1]):
        result = evaluate(match(a, b, fit, matching=matching), test)
        broken = evaluate(match(a, b, shuffle(Paired.of(fit), seed=0), matching=matching), test)
        assert result.unreadable is None
        assert result.agreement.low > max(0.9, broken.agreement.high)
        assert result.perplexity is not None
        assert result.receiver_perplexity is not None
        assert result.receiver_perplexity.value < 1.5
        assert result.perplexity.value < 1.5 * result.receiver_perplexity.value
        assert "unreadable" not in result.in_words()


def test_a_model_stitched_to_itself_is_itself(pair: tuple[Split, Split]) -> None:
    result = evaluate(
        match(pair[0], pair[0], texts(60), stitch="identity", matching=Direct()), texts(40, seed=2, first_id=900)
    )
    assert result.agreement.value == 1.0
    assert result.agreement.low < 1.0
    assert (result.penalty.value, result.kl and result.kl.value) == (0.0, pytest.approx(0, abs=1e-9))
    assert result.perplexity == result.receiver_perplexity


def test_the_task_loss_is_the_mean_over_tokens(pair: tuple[Split, Split]) -> None:
    """Texts differ in length, so that a mean over batches or texts would be another number."""
    data = texts(50)
    stitched = match(*pair, data, matching=Task(Training(epochs=0, batch=8), init="direct"))
    answers = stitched(data.batch(slice(None)))
    expected = nn.functional.cross_entropy(answers.flatten(0, 1), next_tokens(data).flatten(), ignore_index=UNASKED)
    assert stitched.figures["loss_end"] == pytest.approx(float(expected), rel=1e-5)


# ---- answers in their containers


@dataclasses.dataclass
class Output:
    loss: Tensor | None
    logits: Tensor
    hidden: Tensor


class Named(NamedTuple):
    hidden: Tensor
    logits: Tensor


FORMS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "tuple": lambda logits, hidden: (logits, hidden),
    "none first": lambda logits, hidden: (None, logits, hidden),
    "dict": lambda logits, hidden: {"hidden": hidden, "logits": logits},
    "dict without logits": lambda logits, hidden: {"scores": logits, "hidden": hidden},
    "dataclass": lambda logits, hidden: Output(None, logits, hidden),
    "named tuple": lambda logits, hidden: Named(hidden, logits),
}


class Container(nn.Module):
    """Its answer, and a part's, come in a container."""

    class Part(nn.Module):
        def __init__(self, form: str) -> None:
            super().__init__()
            self.form, self.linear = form, nn.Linear(4, 5)

        def forward(self, x: Tensor) -> object:
            h = self.linear(x).tanh()
            return FORMS[self.form](h, h)

    def __init__(self, form: str) -> None:
        super().__init__()
        self.form, self.part, self.head = form, Container.Part(form), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> object:
        part: Any = self.part(x)
        held = part.values() if isinstance(part, dict) else vars(part).values() if isinstance(part, Output) else part
        h = next(value for value in held if value is not None)
        return FORMS[self.form](self.head(h), h)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("way", ["auto", "hooks"])
def test_answers_come_in_any_container(form: str, way) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = [Container(form).eval() for _ in range(2)]
    x = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
    assert answer_of(nets[0], x).shape == (40, 3)
    assert {"part", "head"} <= {name for at in cuts(nets[0], x[:2]) for name in (at.name, *at.aliases)}
    halves = [split(net, "part", x[:2], way=way) for net in nets]
    data = Samples("numbers", x, answer_of(nets[1], x).argmax(1), torch.arange(40), classes=3)
    result = evaluate(match(*halves, data.take(slice(0, 30)), matching=Direct()), data.take(slice(30, 40)))
    assert result.receiver_here.value == 1.0
