"""What a match does: the functional result, against the receiver itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from seamripper._devices import to_memory, widen
from seamripper._doors import require, require_function, require_whole
from seamripper._frames import Row
from seamripper._notebook import card as html_card, line, short, table
from seamripper._progress import Progress, Watcher, nobody
from seamripper.activations.collect import require_finite
from seamripper.cards import WithMethods
from seamripper.cut.frozen import seal
from seamripper.cut.on_data import prove_pair, views_of
from seamripper.cut.split import Split
from seamripper.data.padding import trim, trim_pair
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples, batches_in
from seamripper.data.stream import Stream
from seamripper.data.yours import as_data, as_samples
from seamripper.errors import DataError, MatchError
from seamripper.estimate import TELLING, Estimate
from seamripper.matching.inputs import count_shared, require_inputs
from seamripper.matching.match import Match
from seamripper.matching.methods import FIGURES, stitch_method, stitch_sentences
from seamripper.matching.padding import without_padding
from seamripper.matching.rows import Rows, exponential
from seamripper.matching.task import targets
from seamripper.models.running import versions
from seamripper.models.targets import targets_for

_BATCH = 512


@dataclass(frozen=True)
class Functional(WithMethods):
    """Figures of a stitched network on samples that it was not fitted on, each with a 95 % interval and n.

    Of a language model every token is asked for: figures are means over the `tokens` whose next token counts, with
    texts as the units of their intervals; where tokens have labels, over those that have one. Only then there are a
    `cross_entropy` of what is right at these tokens, in nats, its exponential, the `perplexity`, and both of the
    receiver.

    `penalty` is error(stitched) − error(receiver), `relative_accuracy` accuracy(stitched) / accuracy(receiver), both
    against the receiver on the same samples (`receiver_here`). `receiver_own` is the receiver on its own task, the
    other baseline of Smith et al. 2025; None where its data is not known.

    Three figures need no labels: `agreement` is the share of samples on which stitched network and receiver give the
    same answer (`agreement_chance` is the share expected by chance, Cohen 1960); `kl` is the mean divergence
    KL(receiver ‖ stitched) of their answers, in nats; `top5_overlap` is the mean share of five classes that are among
    the first five of both. Only these can be used where accuracies are `unreadable`; of samples without labels, the
    other figures are NaN. `chance` is the accuracy of always naming the most frequent class.
    """

    kind: ClassVar[str] = "stitch"
    axes: ClassVar[tuple[str, ...]] = ("figure",)
    top1: Estimate
    top5: Estimate | None
    penalty: Estimate
    relative_accuracy: Estimate
    agreement: Estimate
    receiver_here: Estimate
    receiver_own: Estimate | None
    data: str
    n: int
    chance: float = 0.0
    agreement_chance: float = 0.0
    kl: Estimate | None = None
    top5_overlap: Estimate | None = None
    tokens: int | None = None
    cross_entropy: Estimate | None = None
    perplexity: Estimate | None = None
    receiver_cross_entropy: Estimate | None = None
    receiver_perplexity: Estimate | None = None
    made_from: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The record of the match, and the samples that it was scored on; empty for answers that came in another way."""
    hits: Mapping[str, Tensor] = field(default_factory=dict, repr=False, compare=False)
    """Which samples the stitched network and the receiver get right, so that networks can be paired by sample later;
    empty for samples without labels and for language models."""

    @property
    def asked(self) -> str:
        """What one answer is asked for: each of the samples, or each of the tokens."""
        return "samples" if self.tokens is None else "tokens"

    @property
    def unreadable(self) -> str | None:
        """Why accuracies say nothing here; None if they do.

        If the receiver does no better than chance, it was not made for these labels, or there are too few samples to
        see that it was. Then it means nothing if another network does as well.
        """
        if self.receiver_here.low > self.chance:
            return None
        if math.isnan(self.receiver_here.value):
            return f"{self.data} has no labels"
        what = "labels" if self.tokens is None else "right answers at the tokens"
        return (
            f"the receiver itself reaches {self.receiver_here} on the {what} of {self.data}, where chance is "
            f"{self.chance:.3f}: the {what} are not those of its task, or {self.n} {self.top1.unit} are too few to "
            "see that they are"
        )

    def in_words(self) -> str:
        """What the figures allow to be said of the stitched network beside the receiver."""
        if self.unreadable is not None:
            top5 = "" if self.top5_overlap is None else f", the first five classes overlap by {self.top5_overlap}"
            kl = "" if self.kl is None else f", and the divergence KL is {self.kl} nats"
            return (
                f"Accuracy is unreadable: {self.unreadable}. What can be read is how often the stitched network gives "
                f"the receiver's own answers: it agrees on {self.agreement} of the {self.asked} (by chance "
                f"{self.agreement_chance:.3f}){top5}{kl}."
            )
        if self.penalty.high - self.penalty.low > 2 * TELLING:
            return (
                f"{self.n} {self.top1.unit} are too few to detect a difference of {TELLING:g}: the stitched network "
                f"loses {_points(self.penalty)} against the receiver alone."
            )
        if self.penalty.high < 0:
            return "The stitched network does better than the receiver alone."
        if self.penalty.low <= 0:
            return "The stitched network does as well as the receiver alone, within the interval."
        return f"The stitched network loses {_points(self.penalty)} against the receiver alone."

    def _repr_html_(self) -> str:
        names = [name for name in FIGURES if getattr(self, name, None) is not None]
        rows = [(name.replace("_", " "), getattr(self, name)) for name in names]
        title = f"A stitched network on {short(self.data)}, n = {self.n:,}"
        return html_card(title, line(self.in_words()), table(("figure", "value, 95 % interval"), rows))

    def __repr__(self) -> str:
        figures = f"top1 {self.top1}, penalty {self.penalty}, agreement {self.agreement}"
        return f"Functional({figures}, n = {self.n} of {short(self.data, 60)!r})"

    def rows(self) -> list[Row]:
        """One row per figure that is known."""
        known = {name: figure for name, figure in vars(self).items() if isinstance(figure, Estimate)}
        return [{"figure": name, **figure.as_row(), "data": self.data} for name, figure in known.items()]

    def as_record(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        known = {name: figure for name, figure in vars(self).items() if name not in ("made_from", "hits")}
        figures = {k: v.as_record() if isinstance(v, Estimate) else v for k, v in known.items()}
        if self.tokens is None:
            figures = {name: value for name, value in figures.items() if name not in OF_TOKENS}
        return {**figures, "unreadable": self.unreadable}

    def method(self) -> dict[str, Any]:
        """All that decides the figures."""
        if not self.made_from:
            raise MatchError("These figures were not made by `evaluate`: it is not known how their answers were made.")
        return stitch_method(self.made_from)

    def sentences(self) -> list[str]:
        """How the stitched network was made and scored."""
        return stitch_sentences(self.made_from)

    def figure_sentences(self) -> dict[str, str]:
        """What each figure is."""
        return FIGURES


OF_TOKENS = ("tokens", "cross_entropy", "perplexity", "receiver_cross_entropy", "receiver_perplexity")
"""The figures that only answers at every token have."""


def _points(penalty: Estimate) -> str:
    value, low, high = (100 * end for end in (penalty.value, penalty.low, penalty.high))
    return f"{value:.1f} [{low:.1f}, {high:.1f}] percentage points"


def evaluate(
    match: Match,
    samples: Samples | Stream | Paired,
    *,
    own: Samples | Estimate | None = None,
    receiver: Tensor | None = None,
    batch: int = _BATCH,
    watch: Watcher = nobody,
) -> Functional:
    """Score the match on `samples`; `own` are samples of the task that the receiver was made for.

    What is already known about the receiver need not be computed again: pass its answers to the samples, as
    `answers_of` returns them, as `receiver`, and its accuracy on its own task in place of `own`. `samples` may be any
    data (see `seamripper.data.yours`): what is not in memory is read once, as it comes, and a few numbers are kept of
    each answer.
    """
    advice = "`match` finds one, and `Match.load` reads one from a file."
    require(match, Match, "match", error=MatchError, advice=advice)
    data = samples if isinstance(samples, Paired) else as_data(samples, "samples")
    if own is not None and not isinstance(own, Estimate):
        own = as_samples(own, "own")
    if receiver is not None:
        data = data if isinstance(data, Paired) else Paired.of(data)
        _require_answers(receiver, len(data))
    require_whole(batch, "batch", least=1, error=DataError)
    require_function(watch, "watch", error=MatchError)
    chunks = data.chunks(batch) if isinstance(data, Stream) else [data]
    own_record = Paired.of(own).as_record() if isinstance(own, Samples) else None
    with seal(match.models):
        rows = Rows.join(_rows_of_chunks(match, map(Paired.of, chunks), receiver, batch=batch, watch=watch))
        if isinstance(own, Samples):
            own = right_of(answers_of(match.receiver, own, batch=batch), own)
    scored = data.as_record() if isinstance(data, Stream) else Paired.of(data).as_record()
    _require_other_data(match, scored)
    figures = _figures(rows, scored["name"], scored["n"], own)
    made_from = {"match": match.short_record(), "test": scored, "own": own_record, "versions": versions()}
    return replace(figures, made_from=made_from)


def _rows_of_chunks(
    match: Match, chunks: Iterator[Paired], receiver: Tensor | None, *, batch: int, watch: Watcher
) -> Iterator[Rows]:
    """The rows of samples that come in chunks, or all at once; the halves are proved on the first."""
    done = 0
    for chunk in chunks:
        require_inputs(match.sender, match.receiver, chunk)
        pair = without_padding(chunk, match.stitch, match.layer, match.sender.cut, match.receiver.cut)
        _require_unseen(match, pair)
        if not done:
            prove_pair(pair, match.sender, match.receiver, batch=batch)
        both = targets(match.matching, match.sender, match.receiver, pair, optional=True)
        yield from _batches_of_rows(match, pair, both, receiver, batch=batch, watch=watch, first=done)
        done += len(pair)


def _batches_of_rows(
    match: Match,
    pair: Paired,
    targets: tuple[Tensor, Tensor],
    receiver: Tensor | None,
    *,
    batch: int,
    watch: Watcher,
    first: int = 0,
) -> Iterator[Rows]:
    """The rows of each batch: answers at every token would take much memory if all of them were kept."""
    views = views_of(trim_pair(pair), match.sender, match.receiver)
    batch = views.fitting(batch)
    with torch.no_grad():
        for step, (given, inputs) in enumerate(views.batches(batch), 1):
            start = (step - 1) * batch
            here = slice(start, start + batch)
            answers = match.answer(inputs, given)
            require_finite(answers, "the end of the stitched network", pair.ids[here])
            native = match.receiver.answer(inputs) if receiver is None else receiver[here]
            require_finite(native, "the end of the receiver", pair.ids[here])
            yield Rows.of(answers, native, *(column[here] for column in targets), first=first + start)
            watch(Progress("scoring", step, batches_in(len(pair), batch)))


def stitched_answers(
    match: Match,
    samples: Samples | Paired,
    *,
    batch: int = _BATCH,
    keep: Callable[[Tensor], Tensor] = torch.clone,
) -> Tensor:
    """What the stitched network answers to samples, (n, classes) or (n, tokens, vocabulary); `keep` reduces a batch."""
    parts = []
    views = views_of(trim_pair(Paired.of(samples)), match.sender, match.receiver)
    batch = views.fitting(batch)
    with torch.no_grad():
        for step, (given, inputs) in enumerate(views.batches(batch)):
            answers = match.answer(inputs, given)
            require_finite(answers, "the end of the stitched network", samples.ids[step * batch :])
            parts.append(widen(to_memory(keep(answers))))
    return torch.cat(parts)


def answers_of_many(
    networks: Sequence[Split | Match],
    samples: Samples | Paired,
    *,
    batch: int = _BATCH,
    keep: Callable[[Tensor, Inputs], Tensor] | None = None,
) -> list[Tensor]:
    """What each network, whole or stitched, answers to samples; a front that several have is run once.

    `keep(answers, inputs)` reduces a batch of answers.
    """
    groups: dict[tuple[int, str], list[int]] = {}
    for number, network in enumerate(networks):
        groups.setdefault(_front(network).front, []).append(number)
    parts: list[list[Tensor]] = [[] for _ in networks]
    pair = trim_pair(Paired.of(samples))
    with torch.no_grad():
        for numbers in groups.values():
            front, first = _front(networks[numbers[0]]), networks[numbers[0]]
            views = views_of(pair, front, first if isinstance(first, Split) else first.receiver)
            for given, inputs in views.batches(views.fitting(batch)):
                x = front.head(given)
                for number in numbers:
                    # A tail that works in place must not change what the next one is given.
                    passing = x if len(numbers) == 1 else x.clone()
                    answer = _answer_from(networks[number], passing, inputs, given)
                    parts[number].append(widen(to_memory(answer if keep is None else keep(answer, inputs))))
    answers = [torch.cat(part) for part in parts]
    for each in answers:
        require_finite(each, "the end of a network", samples.ids)
    return answers


def _answer_from(network: Split | Match, x: Tensor, inputs: Inputs, given: Inputs) -> Tensor:
    if isinstance(network, Match):
        return network.answer_from(x, inputs, given)
    answer: Tensor = network.tail(x, network.beside(inputs))
    return answer


def _front(network: Split | Match) -> Split:
    return network if isinstance(network, Split) else network.sender


def _require_answers(answers: object, n: int) -> None:
    """The receiver's answers that are known already are scores, for each sample or for each of its tokens."""
    require(answers, Tensor, "receiver", error=DataError, advice="It holds the receiver's answers to the samples.")
    assert isinstance(answers, Tensor)
    if answers.dim() not in (2, 3) or len(answers) != n:
        raise DataError(
            f"Expected receiver to hold the receiver's answers, {n} rows with a score for each class, but "
            f"got a shape of {tuple(answers.shape)}."
        )


def answers_of(
    half: Split, samples: Samples, *, batch: int = _BATCH, keep: Callable[[Tensor], Tensor] = torch.clone
) -> Tensor:
    """What a model, whole and without any stitch, answers to samples; `keep` reduces a batch of answers."""
    view, parts = half.model.present(trim(samples)), list[Tensor]()
    batch = view.fitting(batch)
    with torch.no_grad():
        for step, (inputs, _) in enumerate(view.batches(batch)):
            answers = half.answer(inputs)
            require_finite(answers, "the end of the receiver", samples.ids[step * batch :])
            parts.append(widen(to_memory(keep(answers))))
    return torch.cat(parts)


def right_of(answers: Tensor, samples: Samples) -> Estimate:
    """The share of samples, or of their tokens, that these answers name rightly."""
    right = targets_for(answers, trim(samples))
    rows = Rows.of(answers, answers, right, right)
    return rows.share(rows.hits)


def functional(
    answers: Tensor,
    receiver: Tensor,
    samples: Samples,
    *,
    right: Tensor | None = None,
    receiver_own: Estimate | None = None,
) -> Functional:
    """The figures of a network that gives `answers` to the samples, where the receiver itself gives `receiver`.

    Both are scores, one row per sample and one column per class, or (n, tokens, vocabulary). `right` are the classes
    that count as right for the answers: the samples' labels, of tokens too, or next tokens, unless given.

    >>> four = Samples("four", torch.zeros(4, 1), torch.tensor([0, 1, 0, 1]), torch.arange(4), classes=2)
    >>> says = torch.eye(2)
    >>> result = functional(says[[0, 1, 1, 0]], says[[0, 1, 0, 0]], four)
    >>> result.top1.value, result.receiver_here.value, result.penalty.value, result.agreement.value
    (0.5, 0.75, 0.25, 0.75)
    """
    samples = trim(samples)
    right = targets_for(answers, samples, right)
    own = samples.labels if right.dim() == 1 else targets_for(receiver, samples)
    return _figures(Rows.of(answers, receiver, right, own), samples.name, len(samples), receiver_own)


def _figures(rows: Rows, name: str, n: int, receiver_own: Estimate | None) -> Functional:
    if not len(rows):
        raise DataError(f"No token of {name} has a label, so there is nothing to score.")
    loss, own_loss = rows.mean(rows.loss), rows.mean(rows.receiver_loss)
    nothing, known = Estimate(math.nan, n=n, note="no labels"), rows.labelled
    return Functional(
        top1=rows.share(rows.hits) if known else nothing,
        top5=None if rows.top5 is None or not known else rows.share(rows.top5),
        penalty=rows.comparison(lambda a, b: b - a) if known else nothing,
        relative_accuracy=rows.comparison(lambda a, b: a / b) if known else nothing,
        agreement=rows.share(rows.named == rows.native),
        receiver_here=rows.share(rows.receiver_hits) if known else nothing,
        receiver_own=receiver_own,
        data=name,
        n=n,
        chance=rows.chance if known else 0.0,
        agreement_chance=rows.agreement_chance,
        kl=rows.mean(rows.kl),
        top5_overlap=rows.mean(rows.overlap),
        tokens=None if rows.sample is None else len(rows),
        cross_entropy=loss,
        perplexity=exponential(loss),
        receiver_cross_entropy=own_loss,
        receiver_perplexity=exponential(own_loss),
        hits={"stitched": rows.hits, "receiver": rows.receiver_hits} if known and rows.sample is None else {},
    )


def _require_unseen(match: Match, samples: Paired) -> None:
    fit = match.made_from["fit"]
    same = fit["fingerprint"] == samples.fingerprint
    seen = len(samples) if same else count_shared(fit["name"], match.fitted, samples)
    if seen:
        raise DataError(
            f"{seen} of the {len(samples)} samples of {samples.name} are among those that the stitch was fitted on "
            f"({fit['n']} of {fit['name']}). Score on others: fit and score on different samples. "
            "(Samples of one data set are identified by their ids.)"
        )


def _require_other_data(match: Match, scored: Mapping[str, Any]) -> None:
    """Refuse the very data that the stitch was fitted on, which may go by another name: a list does, in each use."""
    given = (match.made_from.get("given") or {}).get("fit") or {}
    if scored["fingerprint"] == given.get("fingerprint"):
        raise DataError(
            f"{scored['name']} holds the same {scored['n']} samples as {given['name']}, and the stitch was fitted on "
            f"{len(match.fitted)} of these. Score on others: fit and score on different samples."
        )
