"""What the parts of an experiment are expanded with: its networks and their trainings, samples, cuts and ways."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamripper.errors import ExperimentError
from seamripper.experiment.choices import Choices
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Job
from seamripper.experiment.spec import Data, Experiment, Joining, Pairs


@dataclass(frozen=True)
class Net:
    """One network: what the study calls it, what a content calls it, and where it comes from."""

    name: str
    seed: int | None
    ref: dict[str, str]
    spec: str
    needs: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None


@dataclass(frozen=True)
class Drawn:
    """Samples: the fingerprint, and where they are found."""

    fingerprint: str
    n: int
    shape: list[int]
    where: Mapping[str, Any]


class Expansion:
    """An experiment as it is expanded, and the jobs that helped or trained on the way."""

    def __init__(self, experiment: Experiment, identities: Identities) -> None:
        self.experiment, self.identities = experiment, identities
        self.choices = Choices(experiment, identities)
        self.trained: dict[str, Job] = {}
        self.helpers: dict[str, Job] = {}

    def nets(self, word: str) -> list[Net]:
        """The networks that a word means, and their trainings."""
        network, seeds = self.experiment.network(word)
        name = word.partition("/")[0]
        if network.load is not None:
            found = self.identities.loaded(network.load)["fingerprint"]
            where = {f"model:{found}": {"load": self.identities.located(network.load), "said": network.load}}
            return [Net(name, None, {"loaded": found}, network.load, (), where)]
        known = self.identities.network(network)
        assert network.data is not None
        fit, test = self.drawn(network.data, "train", network.n, 0), self.drawn(network.data, "test", None, 0)
        nets = []
        for seed in seeds:
            content = {
                **known,
                "seed": seed,
                "data": fit.fingerprint,
                "test": test.fingerprint,
                "n": fit.n,
                "threads": self.experiment.threads,
            }
            labels = {"model": name, "seed": seed, "data": network.data}
            job = Job("train", content, labels, (), {**fit.where, **test.where})
            # By its name too: a network that goes by two is trained once, and told of under both.
            self.trained.setdefault(f"{job.key} {name}", job)
            ref = {"trained": job.key}
            nets.append(Net(name, seed, ref, known["architecture"], (job.key,), {}, network.data))
        return nets

    def pairs(self, part: Pairs) -> Iterator[tuple[Net, Net]]:
        """Senders and receivers that meet."""
        for sender, receiver in itertools.product(part.senders, part.receivers):
            found = list(_met(self.nets(sender), self.nets(receiver), part.pairing))
            if not found:
                raise ExperimentError(
                    f"No seeds of {sender!r} and {receiver!r} meet by pairing = {part.pairing!r}: 'matched' joins "
                    "equal seeds, 'others' different ones, 'all' every two."
                )
            yield from found

    def samples(self, data: Data, split: str) -> Drawn:
        """The samples of one split."""
        return self.drawn(data.word, split, data.n if split == "train" else data.n_test, data.seed)

    def drawn(self, name: str, split: str, n: int | None, seed: int) -> Drawn:
        """The samples of this name, split, number and seed."""
        found = self.identities.data(name, split, n, seed)
        at = {"name": self.identities.located(name), "split": split, "n": n, "seed": seed}
        return Drawn(found["fingerprint"], found["n"], found["shape"], {f"data:{found['fingerprint']}": at})

    def cuts(
        self, words: Sequence[str], sender: Net, receiver: Net, shape: list[int], own: list[int] | None = None
    ) -> list[tuple[str, str]]:
        """(sender's cut, receiver's cut) of each word, each seen to be there; `own`: the receiver's shape, if other."""
        found = []
        for word in words:
            first, arrow, second = (part.strip() for part in word.partition("->"))
            if arrow and not (first and second):
                raise ExperimentError(f"Expected cuts as NAME, or SENDER'S -> RECEIVER'S, but got {word!r}.")
            found.append((first, second or first))
        self.identities.require_cuts(which(sender), sender.spec, [a for a, _ in found], shape)
        self.identities.require_cuts(which(receiver), receiver.spec, [b for _, b in found], own or shape)
        return found

    def ways(self, part: Joining, what: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Every matching, stitch, freeze and seed of a part: as a content has them, and as labels do."""
        ways = {word: self.choices.matching(word) for word in part.matchings}
        self.choices.require_stitches(part.stitches)
        for word, matching in ways.items():
            if "weights" in part.freeze and matching["name"] != "task":
                raise ExperimentError(
                    f"freeze = 'weights' goes with the matching 'task', and {word!r} is {matching['name']!r}: put it "
                    f"into {what} of its own."
                )
        found = []
        for (word, matching), stitch, freeze, seed in itertools.product(
            ways.items(), part.stitches, part.freeze, part.seeds
        ):
            rest = {"stitch": stitch, "freeze": freeze, "seed": seed}
            found.append(({"matching": matching, **rest}, {"matching": word, **rest}))
        return found


def both(sender: Net, receiver: Net, a: str | None = None, b: str | None = None) -> dict[str, Any]:
    """The labels of a pair, and of the cuts at which it is joined."""
    cuts = {} if a is None else {"sender_cut": a, "receiver_cut": b}
    return {
        "sender": sender.name,
        "sender_seed": sender.seed,
        "receiver": receiver.name,
        "receiver_seed": receiver.seed,
        **cuts,
    }


def joined(sender: Net, receiver: Net, a: str, b: str, fit: Drawn, test: Drawn) -> dict[str, Any]:
    """The part of a content that says what is joined where, and by which samples it is fitted and scored."""
    return {
        "sender": sender.ref,
        "sender_cut": a,
        "receiver": receiver.ref,
        "receiver_cut": b,
        "fit": fit.fingerprint,
        "test": test.fingerprint,
    }


def which(net: Net) -> dict[str, Any]:
    """What decides which cuts a network has: its architecture, or the model that it is."""
    return {"architecture": net.spec} if "trained" in net.ref else dict(net.ref)


def _met(senders: Sequence[Net], receivers: Sequence[Net], pairing: str) -> Iterator[tuple[Net, Net]]:
    """The pairs whose seeds meet; a network without a seed meets every one."""
    if pairing == "matched" and all(net.seed is not None for net in (*senders, *receivers)):
        # Not by looking at every pair, of which there may be far more than meet.
        same = defaultdict(list)
        for receiver in receivers:
            same[receiver.seed].append(receiver)
        yield from ((sender, receiver) for sender in senders for receiver in same[sender.seed])
        return
    for sender, receiver in itertools.product(senders, receivers):
        free = sender.seed is None or receiver.seed is None
        if free or pairing == "all" or (sender.seed == receiver.seed) == (pairing == "matched"):
            yield sender, receiver
