"""The mixing audit, on planted worlds: two cues agree in the data, and each network was trained on one of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import test_conflict as planted
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seamripper.audits import Evidence, Verdict
from seamripper.audits.departure import FEWEST
from seamripper.audits.listening import as_text
from seamripper.audits.mixing import STILL_SURE, Mixing, choices_of, leanings_of, sureness
from seamripper.audits.mixing_map import coverage, listening
from seamripper.audits.mixing_reading import TOLERANCE, InputPairs
from seamripper.audits.mixtures import Mixture, chosen_mixtures
from seamripper.audits.mixtures.base import Form
from seamripper.controls import Case, controls
from seamripper.cut import Split, split
from seamripper.data import Samples
from seamripper.data.samples import Inputs
from seamripper.errors import AuditError, InapplicableError
from seamripper.matching import Direct, answers_of_many, match
from seamripper.matching.evaluate import answers_of, stitched_answers
from seamripper.models.running import use_seed

EVERY = ("self", "other_seed", "random_sender")


def evidence(sender: Split, *, others: tuple[int, ...] = (), **more: Any) -> Evidence:
    """The stitch is fitted, and the inputs are mixed, where both cues agree: numbers 0 – 3 and numbers 4 – 7."""
    test = planted.cues(400, agree=True, first_id=10_000)
    case = Case(
        sender,
        planted.network("first", 0),
        planted.cues(400, agree=True),
        test,
        planted.QUICK,
        seeds=(0, 1),
        others=tuple(planted.network("first", seed) for seed in others),
    )
    mixtures = chosen_mixtures(more.pop("mixtures", "default"), test)
    return Evidence(case, **({"controls": EVERY} | more), mixtures=mixtures)


def put(cue: str, seed: int = 1, *, audit: Mixing | None = None, **more: Any) -> Verdict:
    return (audit or Mixing(n=400)).put(evidence(planted.network(cue, seed), **more))


def test_a_sender_that_follows_another_cue_is_found_without_a_conflict_set() -> None:
    other = put("second", others=(5,))
    assert other.answer == "no"
    assert other.p is not None
    assert other.p < 0.05
    assert other.effect.low > TOLERANCE
    assert other.figures["decided_by"] == "segment"
    assert "It follows something else." in other.sentence
    assert "the spread between such networks is not known" in other.sentence
    looks = other.figures["looks"]
    assert {"segment", "columns", "frequencies", "frequencies?band=middle", "frequencies?band=high"} == set(looks)
    assert looks["segment"]["departure"] > 10 * looks["segment"]["control"]
    pair = other.figures["pairs"][0]
    assert pair["receiver"] != pair["stitched"]
    assert {pair["receiver"], pair["stitched"]} == set(pair["answers"])


@pytest.mark.slow
def test_a_sender_of_the_same_information_is_called_so_where_an_untrained_one_is_not() -> None:
    same = put("first", others=(5, 6, 7))
    assert same.answer == "yes"
    assert same.effect.high < same.figures["looks"][same.figures["decided_by"]]["different"].value / 2
    assert same.figures["known_different"] == "random_sender"
    assert "tested under changes of columns drawn at random" in same.sentence
    assert "a cue that none of them touches cannot be seen" in same.sentence
    assert 0 < same.figures["spread"] < 0.1
    assert same.p is not None
    assert same.p > 0.05


def test_without_other_seeds_the_control_is_the_receiver_and_the_verdict_says_that_it_is_weaker() -> None:
    other = put("second")
    assert (other.answer, other.figures["control"]) == ("no", "self")
    assert "which is weaker evidence than networks trained from other seeds" in other.sentence
    itself = put("first", 0)
    assert itself.answer == "yes"
    assert itself.effect.value == pytest.approx(0, abs=0.01)
    assert "weaker evidence" in itself.sentence


def test_without_an_untrained_sender_power_is_shown_on_planted_departures() -> None:
    itself = put("first", 0, controls=("self",))
    assert (itself.answer, itself.figures["known_different"]) == ("yes", "planted")
    assert "planted sender" in itself.sentence
    assert put("second", controls=("self",)).answer == "no"


def test_a_family_that_separates_no_cue_leaves_the_question_open() -> None:
    """Middle frequencies carry little of either cue, so even an untrained sender stays with the receiver."""
    blind = put("second", others=(5,), mixtures="frequencies?band=middle")
    assert blind.answer == "unknown"
    assert "does not depart surely under any of them" in blind.sentence
    assert blind.figures["power"] is False


def test_fronts_that_several_networks_share_run_once_and_answers_stay_the_same() -> None:
    fit, test = planted.cues(200, agree=True), planted.cues(70, agree=True, first_id=10_000)
    receiver, sender = planted.network("first", 0), planted.network("second", 1)
    matches = [
        match(half, receiver, fit, matching=Direct(), seed=seed) for half in (sender, receiver) for seed in (0, 1)
    ]
    runs = []
    hook = sender.model.module[0].register_forward_hook(lambda *_: runs.append(1))
    several = answers_of_many([receiver, *matches], test, batch=32)
    hook.remove()
    assert len(runs) == 3
    torch.testing.assert_close(several[0], answers_of(receiver, test))
    for stitched, answers in zip(matches, several[1:], strict=True):
        torch.testing.assert_close(answers, stitched_answers(stitched, test))


def test_choices_are_of_the_two_answers_and_only_where_a_network_is_sure() -> None:
    three = Samples("three", torch.zeros(4, 1), torch.tensor([0, 0, 0, 0]), torch.arange(4), classes=3)
    pairs = InputPairs(
        three, Samples("three", torch.zeros(4, 1), torch.tensor([1, 1, 1, 1]), torch.arange(4), classes=3)
    )
    answers = torch.tensor([[9.0, 0, 0], [0, 9, 0], [0, 0, 9], [0.5, 0, 0]])
    assert choices_of(answers, pairs, 0.9).tolist() == [1, -1, 0, 0]
    # A third answer does not matter: it is how the probability of the two is shared.
    assert leanings_of(answers, pairs) == pytest.approx([0.0, 1.0, 0.5, 0.3775], abs=2e-4)
    assert sureness(answers[:3], 0.9) == 0.9
    # A network that is seldom that sure of plain inputs is held to its own lower quartile.
    assert sureness(torch.tensor([[0.5, 0, 0]] * 4), 0.9) == pytest.approx(1.6487 / 3.6487, abs=1e-3)


def test_masks_shrink_until_the_receiver_is_sure() -> None:
    """Numbers drawn at random destroy both cues where half of them are taken, and not where an eighth is."""
    looks = put("first", others=(5,), mixtures="columns,segment?share=0.97").figures["looks"]
    assert looks["columns"]["receiver_sure"] >= STILL_SURE
    assert looks["columns"]["strength"] == 1.0
    assert looks["segment?share=0.97"]["receiver_sure"] >= STILL_SURE


def test_maps_of_where_networks_listen() -> None:
    """A network that follows the other input if its first columns come from there listens to the first columns."""
    test = planted.cues(60, agree=True)
    pairs = InputPairs(test, test)
    segment = chosen_mixtures("segment", test)[0]
    covered = coverage(segment, pairs, strength=1.0, seed=0)
    assert covered.shape == (60, 1, 8)
    assert covered.sum(2).ravel().tolist() == [4.0] * 60
    first = np.where(covered[:, 0, 0] > 0, 1.0, 0.0)
    (shares,) = listening(first, covered)
    assert shares[0] == 1.0
    assert shares[-1] == 0.0
    images = Samples("x", torch.zeros(5, 3, 20, 4), torch.arange(5) % 2, torch.arange(5), classes=2)
    rectangle = chosen_mixtures("rectangle", images)[0]
    assert coverage(rectangle, InputPairs(images, images), strength=1.0, seed=0).shape == (5, 7, 4)


def test_maps_are_shown_side_by_side() -> None:
    """Numbers 0 – 3 are the receiver's cue, and numbers 4 – 7 the sender's: each follows its own."""
    verdict = put("second", others=(5,))
    places = verdict.figures["places"]
    receiver, stitched = (np.array(places[who][0]) for who in ("receiver", "stitched"))
    assert receiver[:4].min() > receiver[4:].max()
    assert stitched[4:].min() > stitched[:4].max()
    bands = verdict.figures["frequencies"]
    looks = verdict.figures["looks"]
    assert bands["stitched"]["high"] == looks["frequencies?band=high"]["follows"]["stitched"]
    text = "\n".join(as_text(verdict.figures))
    assert "the receiver      the stitched network" in text
    assert f"the receiver: low {bands['receiver']['low']:.2f}, middle" in text
    page = verdict._repr_html_()
    assert page.count("<table") == 5
    assert "rgba(0,114,178" in page
    assert list(as_text({})) == []


@dataclass(frozen=True)
class Emptied(Mixture):
    """Zeros in place of both inputs, of which the receiver is not sure, by masks that are places."""

    name: ClassVar[str] = "emptied"
    about: ClassVar[str] = "nothing at all"
    forms: ClassVar[tuple[Form, ...]] = ("vector",)
    local: ClassVar[bool] = True

    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        assert isinstance(a, Tensor)
        return torch.zeros_like(a)


def test_a_family_of_which_the_receiver_is_never_sure_takes_nothing_from_the_others() -> None:
    """Neither the verdict on the others is lost, nor the map of where networks listen."""
    test = planted.cues(400, agree=True, first_id=10_000)
    given = evidence(planted.network("second", 1), others=(5,))
    both = Evidence(given.case, controls=EVERY, mixtures=(Emptied(), *chosen_mixtures("segment", test)))
    verdict = Mixing(n=400).put(both)
    assert verdict.figures["looks"]["emptied"]["pairs"] == 0
    assert (verdict.answer, verdict.figures["places"]["mixture"]) == ("no", "segment")


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InapplicableError, match="no mixture was chosen"):
        put("first", mixtures="none")
    with pytest.raises(InapplicableError, match="Nothing was mixed: The mixture 'rectangle' is for floats with 4 axes"):
        put("first", mixtures="rectangle")
    with pytest.raises(InapplicableError, match="The audit 'mixing' compares with the control 'self' or 'other_seed'"):
        put("first", controls=("random_sender",))
    with pytest.raises(AuditError, match=f"n of the audit 'mixing' to be a whole number of at least {FEWEST}"):
        Mixing(n=3)
    mixed = put("first", 0, mixtures="rectangle,segment")
    assert "4 axes" in mixed.figures["skipped"]["rectangle"]


def test_a_sender_that_does_not_look_cannot_be_tested() -> None:
    case = evidence(planted.network("first", 1)).case
    noise = next(iter(controls.make("clustered_noise").counterparts(case)))
    blind = Case(noise.sender, case.receiver, noise.fit, noise.test, planted.QUICK)
    with pytest.raises(InapplicableError, match="does not see the inputs"):
        Mixing().put(Evidence(blind, mixtures=chosen_mixtures("segment", case.test.receiver)))


def test_one_answer_makes_no_pairs() -> None:
    test = planted.cues(400, agree=True, first_id=10_000)
    receiver = planted.network("first", 0)
    alike = test.take(test.labels == 0)
    case = Case(receiver, receiver, planted.cues(90, agree=True), alike, planted.QUICK, seeds=(0,))
    with pytest.raises(InapplicableError, match="to which it gives 1 different answers: pairs need"):
        Mixing().put(Evidence(case, controls=("self",), mixtures=chosen_mixtures("segment", alike)))


# ---- other forms of inputs: a first and a second half that both tell the class


class Half(nn.Module):
    """Hears one half of its inputs: the first or the last `size` places of the last axis."""

    def __init__(self, size: int, first: bool) -> None:
        super().__init__()
        self.size, self.first = size, first
        self.hidden = nn.Sequential(nn.Linear(size, 16), nn.ReLU())
        self.out = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        return self.out(self.hidden(x[:, : self.size] if self.first else x[:, -self.size :]))


class Reader(nn.Module):
    """Reads the first words of a text or the last ones."""

    def __init__(self, first: bool) -> None:
        super().__init__()
        self.first, self.words = first, nn.Embedding(20, 8)
        self.hidden = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.out = nn.Linear(16, 3)

    def forward(self, input_ids: Tensor) -> Tensor:
        half = input_ids[:, 1:4] if self.first else input_ids[:, 4:7]
        return self.out(self.hidden(self.words(half).mean(1)))


def sounds(n: int, *, first_id: int) -> Samples:
    """Tones whose pitch tells the class, in the first half and in the second."""
    g = torch.Generator().manual_seed(first_id)
    labels = torch.arange(n) % 3
    tone = torch.sin((labels[:, None] + 1) * torch.arange(16) * 0.35)
    waves = torch.cat([tone, tone], 1) + 0.2 * torch.randn(n, 32, generator=g)
    return Samples("tones", waves[:, None], labels, torch.arange(first_id, first_id + n), classes=3)


def texts(n: int, *, first_id: int) -> Samples:
    """Texts of six words between 1 and 2; words 5 – 7 tell the class by their three places in each half."""
    g = torch.Generator().manual_seed(first_id)
    labels = torch.arange(n) % 3
    words = (5 + labels[:, None]).expand(n, 6).clone()
    strange = torch.rand(n, 6, generator=g) < 0.15
    words[strange] = torch.randint(8, 20, (int(strange.sum()),), generator=g)
    ids = torch.cat([torch.ones(n, 1), words, torch.full((n, 1), 2)], 1).long()
    return Samples("texts", {"input_ids": ids}, labels, torch.arange(first_id, first_id + n), classes=3)


WORLDS: dict[str, tuple[Callable[..., Samples], Callable[[bool], nn.Module]]] = {
    "wave": (sounds, lambda first: Half(16, first)),
    "text": (texts, lambda first: Reader(first)),
}


@functools.cache
def half(form: str, first: bool, seed: int) -> Split:
    make, net = WORLDS[form]
    data = make(300, first_id=90_000)
    inputs = data.batch(slice(None))
    named = inputs if isinstance(inputs, dict) else {"x": inputs}
    with use_seed(seed):
        network = net(first)
        optimiser = torch.optim.Adam(network.parameters(), 0.02)
        for _ in range(120):
            optimiser.zero_grad()
            F.cross_entropy(network(**named), data.labels).backward()
            optimiser.step()
    return split(network.eval(), "hidden", make(2, first_id=0).batch(slice(None)))


@pytest.mark.parametrize("form", WORLDS)
def test_sounds_and_texts(form: str) -> None:
    make = WORLDS[form][0]
    test = make(300, first_id=10_000)
    answers = []
    for first in (True, False):
        case = Case(
            half(form, first, 1), half(form, True, 0), make(200, first_id=0), test, planted.QUICK, seeds=(0,),
            others=(half(form, True, 2), half(form, True, 3)),
        )  # fmt: skip
        verdict = Mixing(n=300).put(Evidence(case, controls=EVERY, mixtures=chosen_mixtures("default", test)))
        answers.append(verdict.answer)
    assert answers[0] != "no"
    assert answers[1] == "no"


# ---- images: digits with a mark in a corner, read by small convolutional networks


def marked_digits(rows: slice, *, agree: bool) -> Samples:
    """Three of scikit-learn's digits, with a bright dot in the top row whose place tells the class as well."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    wanted = np.flatnonzero(digits.target < 3)[rows]
    pixels = torch.tensor(digits.images[wanted] / 16, dtype=torch.float32)[:, None]
    labels = torch.tensor(digits.target[wanted])
    cue = labels if agree else labels[torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))]
    pixels = F.pad(pixels, (0, 0, 4, 0))
    for row, place in enumerate(cue.tolist()):
        pixels[row, 0, 0:2, 3 * place : 3 * place + 2] = 1
    return Samples("marked", pixels, labels if agree else cue, torch.tensor(wanted), classes=3)


@functools.cache
def reader_of_images(cue: str, seed: int) -> Split:
    """A network that has learnt the digit, or the mark, where the two were drawn apart."""
    apart = marked_digits(slice(0, 250), agree=False)
    digit = marked_digits(slice(0, 250), agree=True).labels
    with use_seed(seed):
        convolutions = nn.Conv2d(1, 8, 3, 1, 1), nn.ReLU(), nn.Conv2d(8, 12, 3, 2, 1), nn.ReLU()
        net = nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(288, 24), nn.ReLU(), nn.Linear(24, 3))
        optimiser = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(100):
            optimiser.zero_grad()
            F.cross_entropy(net(apart.inputs), digit if cue == "digit" else apart.labels).backward()
            optimiser.step()
    return split(net.eval(), "6", apart.batch(slice(0, 2)))


@pytest.mark.slow
def test_a_local_cue_in_images_that_no_intervention_knows() -> None:
    fit, test = marked_digits(slice(250, 390), agree=True), marked_digits(slice(390, None), agree=True)
    verdicts = {}
    for cue in ("digit", "mark"):
        case = Case(
            reader_of_images(cue, 1), reader_of_images("digit", 0), fit, test, planted.QUICK, seeds=(0, 1),
            others=tuple(reader_of_images("digit", seed) for seed in (2, 3)),
        )  # fmt: skip
        verdicts[cue] = Mixing().put(Evidence(case, controls=EVERY, mixtures=chosen_mixtures("default", test)))
    assert (verdicts["digit"].answer, verdicts["mark"].answer) == ("yes", "no")
    # The mark is in the surround, and the digit in the centre.
    assert verdicts["mark"].figures["decided_by"] == "centre"
    assert verdicts["mark"].effect.value > verdicts["digit"].effect.value + 0.1
    # Seven by seven cells: the receiver listens where the digit is, the sender in the top rows.
    places = {who: np.array(verdicts["mark"].figures["places"][who]) for who in ("receiver", "stitched")}
    assert places["receiver"].shape == (7, 7)
    assert places["stitched"][0].mean() > places["stitched"][4].mean() + 0.1
    assert places["receiver"][4].mean() > places["receiver"][0].mean() + 0.1
    follows = verdicts["mark"].figures["looks"]["centre"]["follows"]
    assert follows["receiver"] > 0.9 > 0.1 > follows["stitched"]
    assert "3 channels" in verdicts["mark"].figures["skipped"]["chrominance"]
