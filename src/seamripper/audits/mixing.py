"""The audit `mixing`: two inputs are mixed; does the stitched network name the one that the receiver names?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper.audits.base import Audit, Evidence, Verdict, match_of, same_information
from seamripper.audits.departure import FEWEST, Choices
from seamripper.audits.interventions.draws import partners
from seamripper.audits.mixing_map import maps
from seamripper.audits.mixing_reading import Look, Pairs, Reading, sentence
from seamripper.audits.mixtures.base import Mixture
from seamripper.cut.split import Split
from seamripper.data.samples import Samples
from seamripper.errors import InapplicableError
from seamripper.matching.evaluate import answers_of_many
from seamripper.matching.match import Match

STILL_SURE = 0.3
"""A mask is made smaller until the receiver is sure on this share of the pairs."""
_SURE, _ANSWERS = 0.9, 0.8
"""The probability at which receiver and stitched network are sure, if they are that sure of most unmixed inputs."""


@dataclass(frozen=True)
class Mixing(Audit):
    """Whether the stitched network names the input that the receiver names, where two of them are mixed.

    `n` test samples are paired with others to which the receiver gives another answer, and mixed by each family of
    mixtures. A mixture counts where receiver and stitched network are both sure of one of the two answers; a departure
    is to name the other one. The departures are compared with those of the control `other_seed`, or of `self` without
    it. Neither labels nor a conflict set are needed. A network is sure where its highest probability is at least 0.9 (a
    stitched network's 0.8), or the lower quartile of what it is on unmixed inputs, if that is less. Masks shrink until
    the receiver is sure on 30 % of the pairs.

    "no" (it follows something else) if the interval of the largest excess, which holds for all families at once, lies
    above `TOLERANCE`. "yes" if no family has an excess that is surely above 0 and larger than that, or than a tenth of
    an untrained sender's, and if in some family an untrained sender does depart, while this one stays surely below half
    of that. If there is no untrained sender, the control with planted departures takes its place.
    """

    name = "mixing"
    question = "Where two inputs are mixed, does the stitched network name the one that the receiver names?"
    least = {"n": FEWEST, "seed": 0}

    n: int = 500
    seed: int = 0

    def put(self, evidence: Evidence) -> Verdict:
        """What the largest excess over all families says."""
        case = evidence.case
        if not case.looks:
            raise InapplicableError("The sender does not see the inputs, so mixtures of them say nothing about it.")
        control, nothing = same_information(evidence, self.name), evidence.of("random_sender")[:1]
        sides = {"sender": evidence.observed, control[0].control: control, "random_sender": nothing}
        stitched = [match_of(outcome) for outcomes in sides.values() for outcome in outcomes]
        pairs, sure = self._pairs(case.receiver, case.test.receiver)
        looks, skipped = self._looks(evidence.mixtures, case.receiver, stitched, pairs, sure)
        chosen = np.stack([look.stitched for look in looks], axis=2)
        ends = np.cumsum(list(map(len, sides.values())))[:-1]
        choices = dict(zip(sides, np.split(chosen, ends), strict=True))
        receiver = np.stack([look.receiver for look in looks], axis=1)
        return self._verdict(Reading.of(looks, receiver, choices, control[0].control, self.seed), pairs, skipped)

    def _pairs(self, receiver: Split, samples: Samples) -> tuple[Pairs, float]:
        """Pairs of which the receiver is sure, unmixed; and how sure that is."""
        base = samples.draw(self.n, seed=self.seed)
        answers = torch.cat([answers_of_many([receiver], part.a)[0] for part in Pairs(base, base).parts()])
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
        return Pairs(a, a.take(partners(a, seed=self.seed))), sure

    def _looks(
        self, mixtures: Sequence[Mixture], receiver: Split, stitched: Sequence[Match], pairs: Pairs, sure: float
    ) -> tuple[list[Look], dict[str, str]]:
        """A look by each mixture, and why some were left out."""
        looks, skipped = [], {}
        plain = _answers(stitched, (part.a for part in pairs.parts()))
        levels = [sureness(answers, _ANSWERS) for answers in plain]
        # The control `self` shares the receiver's front.
        near = [number for number, match in enumerate(stitched) if match.sender is receiver]
        far = [number for number in range(len(stitched)) if number not in near]
        for mixture in mixtures:
            try:
                strength, (ours, *own) = self._strength(mixture, [receiver, *(stitched[k] for k in near)], pairs, sure)
            except InapplicableError as e:
                skipped[mixture.label] = str(e)
                continue
            others = _answers([stitched[k] for k in far], self._mixed(mixture, pairs, strength))
            said = dict(zip([*near, *far], [*own, *others], strict=True))
            chosen = np.stack([choices_of(said[k], pairs, levels[k]) for k in range(len(stitched))])
            looks.append(Look(mixture, strength, choices_of(ours, pairs, sure), chosen))
        if not looks:
            why = "; ".join(skipped.values()) or "no mixture was chosen"
            raise InapplicableError(f"Nothing was mixed: {why}.")
        return looks, skipped

    def _places(self, reading: Reading, pairs: Pairs) -> dict[str, Any] | None:
        """The map of where receiver and stitched network listen; None if no family has masks that are places."""
        for k, mixture in enumerate(reading.mixtures):
            if mixture.local:
                networks = {"receiver": reading.receiver[:, k], "stitched": reading.choices["sender"][0, :, k]}
                return maps(mixture, pairs, networks, strength=reading.strengths[k], seed=self.seed)
        return None

    def _strength(
        self, mixture: Mixture, networks: Sequence[Split | Match], pairs: Pairs, sure: float
    ) -> tuple[float, list[Tensor]]:
        """The largest mask under which the first of the networks is still sure, and what all answer to its mixtures."""
        best: tuple[float, float, list[Tensor]] | None = None
        for strength in mixture.strengths:
            answers = _answers(networks, self._mixed(mixture, pairs, strength))
            share = float((choices_of(answers[0], pairs, sure) != 0).mean())
            if best is None or share > best[0]:
                best = share, strength, answers
            if share >= STILL_SURE:
                break
        assert best is not None
        return best[1], best[2]

    def _mixed(self, mixture: Mixture, pairs: Pairs, strength: float) -> Iterator[Samples]:
        return (mixture.apply(part.a, part.b, strength=strength, seed=self.seed) for part in pairs.parts())

    def _verdict(self, reading: Reading, pairs: Pairs, skipped: Mapping[str, str]) -> Verdict:
        answer, decided = reading.answer, reading.decided
        figures = {
            "decided_by": reading.labels[decided],
            "control": reading.control,
            "networks": len(reading.choices[reading.control]),
            "spread": reading.excess.spread,
            "known_different": reading.known_different,
            "power": bool(reading.departs.any()),
            "tested": [label for label, tested in zip(reading.labels, reading.tested, strict=True) if tested],
            "n": len(pairs),
            "looks": {label: reading.look(k) for k, label in enumerate(reading.labels)},
            "pairs": reading.telling_pairs(pairs),
            "places": self._places(reading, pairs),
            "skipped": dict(skipped),
        }
        controls = {name: reading.departures(name, decided) for name in (reading.control, "random_sender")}
        return self.verdict(
            answer,
            sentence(reading),
            observed=reading.departure("sender", decided),
            effect=reading.estimate(reading.excess, decided),
            controls={name: estimates for name, estimates in controls.items() if estimates},
            figures=figures,
            p=reading.excess.p,
        )


def sureness(answers: Tensor, most: float) -> float:
    """The probability from which a network is sure: the lower quartile over these inputs, but at most `most`."""
    return min(most, float(answers.double().softmax(1).max(1).values.quantile(0.25)))


def choices_of(answers: Tensor, pairs: Pairs, sure: float) -> Choices:
    """1 where a network is sure of the first input's answer, −1 where of the second's, else 0."""
    top = answers.double().softmax(1).max(1)
    first, second = (top.indices == side.labels for side in (pairs.a, pairs.b))
    return np.asarray(((first.long() - second.long()) * (top.values >= sure)).to(torch.int8).numpy())


def _answers(networks: Sequence[Split | Match], parts: Iterator[Samples]) -> list[Tensor]:
    """What each network answers to all parts of some samples."""
    said = [answers_of_many(networks, part) for part in parts] if networks else []
    return [torch.cat(answers) for answers in zip(*said, strict=True)]
