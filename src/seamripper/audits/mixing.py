"""The audit `mixing`: two inputs are mixed; does the stitched network name the one that the receiver names?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper._words import word_list
from seamripper.audits.base import Audit, Evidence, Verdict, match_of, same_information
from seamripper.audits.departure import FEWEST, Choices, Floats
from seamripper.audits.interventions.draws import partners
from seamripper.audits.mixing_map import maps
from seamripper.audits.mixing_reading import LISTENERS, InputPairs, Look, MixingReading, sentence
from seamripper.audits.mixtures.base import Mixture
from seamripper.controls import Case
from seamripper.cut.split import Split
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.matching.evaluate import answers_of_many
from seamripper.matching.match import Match
from seamripper.models.targets import last_asked

STILL_SURE = 0.3
"""A mask is made smaller until the receiver is sure on this share of the pairs."""
_TRIAL = 100
"""The strength of a mixture is chosen by so many of the pairs."""
_SURE = 0.9
"""The probability at which the receiver is sure, if it is that sure of most unmixed inputs."""


@dataclass(frozen=True)
class Mixing(Audit):
    """Whether the stitched network names the input that the receiver names, where two of them are mixed.

    `n` test samples are paired with others to which the receiver gives another answer, and mixed by each family of
    mixtures. A mixture counts where the receiver is sure of one of the two answers, and the other networks are shown
    only those. The departure of a stitched network is the share that it gives to the other one, of its probability for
    the two. It is compared with the departure of the control `other_seed`, or of `self` without it. Neither labels nor
    a conflict set are needed. The receiver is sure where its highest probability is at least 0.9, or the lower quartile
    of what it is on unmixed inputs, if that is less. Masks shrink until it is sure on 30 % of the first 100 pairs.

    "no" (it follows something else) if the interval of the largest excess, which holds for all families at once, lies
    above the tolerance of the control. "yes" if in some family an untrained sender does depart, while this one stays
    surely below half of that, and if no family has an excess that is surely above 0 and more than twice the tolerance.
    If there is no untrained sender, the control with planted departures takes its place.

    The answer of a language model to a text is its last one that is asked for: which token is to be the text's last.
    """

    name = "mixing"
    formula = "departure = mean p(other) / (p(other) + p(named)),  excess = departure − departure(control)"
    question = "Where two inputs are mixed, does the stitched network name the one that the receiver names?"
    least = {"n": FEWEST, "seed": 0}

    n: int = 500
    seed: int = 0

    def put(self, evidence: Evidence) -> Verdict:
        """What the largest excess over all families says."""
        case = evidence.case
        if not case.looks:
            raise InapplicableError("The sender does not see the inputs, so mixtures of them say nothing about it.")
        same = same_information(evidence, self.name)
        control = evidence.controls[same[0].control]
        nothing = {name: outcomes[:1] for name, outcomes in evidence.networks("nothing") if outcomes}
        sides = {"sender": evidence.observed, control.name: same, **nothing}
        stitched = [match_of(outcome) for outcomes in sides.values() for outcome in outcomes]
        pairs, sure = self._pairs(case.receiver, case.test.receiver)
        with case.fronts.keeping_nothing():
            # No front is shown a mixture twice.
            looks, skipped = self._looks(case, evidence.mixtures, _Networks(case.receiver, sure, stitched), pairs)
        counts = {"receiver": 1, **{name: len(outcomes) for name, outcomes in sides.items()}}
        reading = MixingReading.of(looks, counts, control, partners=pairs.partners, seed=self.seed)
        told = self._telling_pairs(reading, pairs, [case.receiver, stitched[0]])
        return self._verdict(reading, pairs, told, skipped)

    def _pairs(self, receiver: Split, samples: Samples) -> tuple[InputPairs, float]:
        """Pairs of which the receiver is sure, unmixed; and how sure that is."""
        if samples.per_token:
            raise InapplicableError(
                f"{samples.name} has a label for each token. A mixture takes one answer from each of two texts, and it "
                "is not known which token's answer that is."
            )
        base = samples.draw(self.n, seed=self.seed)
        answers = torch.cat(
            [answers_of_many([receiver], part.a, keep=last_asked)[0] for part in InputPairs(base, base).parts()]
        )
        sure = sureness(answers, _SURE)
        top = answers.softmax(1).max(1)
        kept = top.values >= sure
        labels = top.indices[kept]
        classes = int((labels.bincount() > 0).sum())
        if classes < 2 or len(labels) < FEWEST:
            raise InapplicableError(
                f"Of {len(base)} samples the receiver is sure of {len(labels)}, to which it gives {classes} different "
                f"answers: pairs need {FEWEST} samples or more, and two answers or more."
            )
        a = replace(base.take(kept), labels=labels, classes=answers.shape[1])
        return InputPairs(a, a.take(partners(a, seed=self.seed))), sure

    def _looks(
        self, case: Case, mixtures: Sequence[Mixture], networks: _Networks, pairs: InputPairs
    ) -> tuple[list[Look], dict[str, str]]:
        """A look by each mixture, and why some were left out."""
        looks, skipped = [], {}
        for mixture in mixtures:
            try:
                looks.append(self._look(mixture, networks, pairs))
            except InapplicableError as e:
                skipped[mixture.label] = str(e)
            case.tally.add(self.name, mixture.label, case.watch)
        if not looks:
            why = "; ".join(skipped.values()) or "no mixture was chosen"
            raise InapplicableError(f"Nothing was mixed: {why}.")
        return looks, skipped

    def _look(self, mixture: Mixture, networks: _Networks, pairs: InputPairs) -> Look:
        """What the receiver chooses on all pairs, and how each network leans on those that the receiver is sure of."""
        near, far = networks.by_front()
        beside: list[Split | Match] = [networks.receiver, *(networks.stitched[k] for k in near)]
        strength, known = self._strength(mixture, beside, pairs, networks.sure)
        if len(pairs) > _TRIAL:
            rest = _answers(beside, self._mixtures(mixture, _rows(pairs, slice(_TRIAL, None)), strength))
            known = [torch.cat(both) for both in zip(known, rest, strict=True)]
        ours, *own = known
        receiver = choices_of(ours, pairs, networks.sure)
        leanings = np.full((1 + len(networks.stitched), len(pairs)), 0.5)
        leanings[0] = leanings_of(ours, pairs)
        # A pair of which the receiver is not sure counts for nobody: no other front need be shown it.
        sure = torch.from_numpy(receiver != 0)
        if bool(sure.any()):
            telling = _rows(pairs, sure)
            others = _answers([networks.stitched[k] for k in far], self._mixtures(mixture, telling, strength))
            for k, answers in zip([*near, *far], [*(each[sure] for each in own), *others], strict=True):
                leanings[1 + k, sure.numpy()] = leanings_of(answers, telling)
        return Look(mixture, strength, receiver, leanings)

    def _places(self, reading: MixingReading, pairs: InputPairs) -> dict[str, Any] | None:
        """The map of where receiver and stitched network listen; None if no family has masks that are places."""
        for k, mixture in enumerate(reading.mixtures):
            sure = reading.receiver[:, k] != 0
            if mixture.local and sure.any():
                networks = {who: reading.leanings[side].mean(0)[sure, k] for who, side in LISTENERS.items()}
                telling = _rows(pairs, torch.from_numpy(sure))
                return maps(mixture, telling, networks, strength=reading.strengths[k], seed=self.seed)
        return None

    def _strength(
        self, mixture: Mixture, networks: Sequence[Split | Match], pairs: InputPairs, sure: float
    ) -> tuple[float, list[Tensor]]:
        """The largest mask under which the first of the networks is still sure, by the first pairs.

        And what all networks answer to the mixtures of these pairs.
        """
        best: tuple[float, float, list[Tensor]] | None = None
        trial = _rows(pairs, slice(0, _TRIAL))
        for strength in mixture.strengths:
            answers = _answers(networks, self._mixtures(mixture, trial, strength))
            share = float((choices_of(answers[0], trial, sure) != 0).mean())
            if best is None or share > best[0]:
                best = share, strength, answers
            if share >= STILL_SURE:
                break
        assert best is not None
        return best[1], best[2]

    def _mixtures(self, mixture: Mixture, pairs: InputPairs, strength: float) -> Iterator[Samples]:
        return (mixture.apply(part.a, part.b, strength=strength, seed=self.seed) for part in pairs.parts())

    def _telling_pairs(
        self, reading: MixingReading, pairs: InputPairs, networks: Sequence[Split | Match]
    ) -> list[dict[str, Any]]:
        """The pairs that told most, with what receiver and stitched network say of their mixtures."""
        rows, look = reading.telling, reading.decided
        told = _rows(pairs, torch.tensor(rows))
        said = _answers(networks, self._mixtures(reading.mixtures[look], told, reading.strengths[look]))
        names = [answers.argmax(1).tolist() for answers in said]
        columns = (told.a.ids, told.b.ids, told.a.labels, told.b.labels)
        return [
            {
                "a": a,
                "b": b,
                "answers": [first, second],
                "mixture": reading.labels[look],
                "strength": reading.strengths[look],
                "receiver": receiver,
                "stitched": stitched,
            }
            for a, b, first, second, receiver, stitched in zip(*(c.tolist() for c in columns), *names, strict=True)
        ]

    def _verdict(
        self, reading: MixingReading, pairs: InputPairs, told: list[dict[str, Any]], skipped: Mapping[str, str]
    ) -> Verdict:
        answer, decided = reading.answer, reading.decided
        figures = {
            "decided_by": reading.labels[decided],
            "control": reading.control.name,
            "networks": len(reading.leanings[reading.control.name]),
            "spread": reading.excess.spread,
            "known_different": word_list(reading.untrained, quote="") or "planted",
            "power": bool(reading.departs.any()),
            "tested": [label for label, tested in zip(reading.labels, reading.tested, strict=True) if tested],
            "n": len(pairs),
            "looks": {label: reading.look(k) for k, label in enumerate(reading.labels)},
            "pairs": told,
            "places": self._places(reading, pairs),
            "frequencies": reading.bands,
            "skipped": dict(skipped),
        }
        controls = {name: reading.departures(name, decided) for name in (reading.control.name, *reading.untrained)}
        return self.verdict(
            answer,
            sentence(reading),
            observed=reading.departure("sender", decided),
            effect=reading.estimate(reading.excess, decided),
            controls=controls,
            figures=figures,
            p=reading.excess.p,
        )


@dataclass(frozen=True, eq=False)
class _Networks:
    """The receiver, with the probability from which it is sure, and the stitched networks."""

    receiver: Split
    sure: float
    stitched: Sequence[Match]

    def by_front(self) -> tuple[list[int], list[int]]:
        """The numbers of the stitched networks that have the receiver's own front, as `self` has, and of the others."""
        near = [k for k, match in enumerate(self.stitched) if match.sender.front == self.receiver.front]
        return near, [k for k in range(len(self.stitched)) if k not in near]


def _rows(pairs: InputPairs, rows: Tensor | slice) -> InputPairs:
    return InputPairs(pairs.a.take(rows), pairs.b.take(rows))


def sureness(answers: Tensor, most: float) -> float:
    """The probability from which a network is sure: the lower quartile over these inputs, but at most `most`."""
    return min(most, float(answers.double().softmax(1).max(1).values.quantile(0.25)))


def choices_of(answers: Tensor, pairs: InputPairs, sure: float) -> Choices:
    """1 where a network is sure of the first input's answer, −1 where of the second's, else 0."""
    top = answers.double().softmax(1).max(1)
    first, second = (top.indices == side.labels for side in (pairs.a, pairs.b))
    return np.asarray(((first.long() - second.long()) * (top.values >= sure)).to(torch.int8).numpy())


def leanings_of(answers: Tensor, pairs: InputPairs) -> Floats:
    """Of the probability that a network gives to the answers of both inputs, the share of the second one."""
    first, second = (answers.double().gather(1, side.labels[:, None])[:, 0] for side in (pairs.a, pairs.b))
    return np.asarray((second - first).sigmoid().numpy())


def _answers(networks: Sequence[Split | Match], parts: Iterator[Samples]) -> list[Tensor]:
    """What each network answers to all parts of some samples."""
    said = [answers_of_many(networks, part, keep=last_asked) for part in parts] if networks else []
    return [torch.cat(answers) for answers in zip(*said, strict=True)]
