"""Expansion: what the parts of a study are expanded with: its networks and their trainings, samples, cuts and ways."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError, SeamripperError
from seamripper.experiment.identity import MATCHINGS, STITCHES, Identities
from seamripper.experiment.job import Job
from seamripper.experiment.tables import Data, Joining, Pairs, Study
from seamripper.experiment.toml import Where


@dataclass(frozen=True)
class Net:
    """One network: its name in the study, its reference in contents, and where it comes from."""

    name: str
    seed: int | None
    ref: dict[str, str]
    spec: str
    needs: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None

    @property
    def cuts_decided_by(self) -> dict[str, Any]:
        """What decides which cuts the network has: its architecture, or the model that it is."""
        return {"architecture": self.spec} if "trained" in self.ref else dict(self.ref)


@dataclass(frozen=True)
class DataSetRef:
    """Samples of a study: their fingerprint, and where they are."""

    fingerprint: str
    n: int
    shape: list[int]
    classes: int
    where: Mapping[str, Any]


class Expansion:
    """An experiment while it is expanded, with the trainings and helper jobs that its parts need."""

    def __init__(self, experiment: Study, identities: Identities) -> None:
        self.experiment, self.identities = experiment, identities
        self.trained: dict[str, Job] = {}
        self.helpers: dict[str, Job] = {}

    def require_words(self) -> None:
        """Refuse a matching or training of the study that means nothing, used or not, by its key and line."""
        study, network = self.experiment, self.identities.network
        for name in study.matchings:
            self._require(partial(self.matching, name), ("matchings", name))
        for name, given in study.models.items():
            if given.load is None:
                usual = given.model_copy(update={"training": None})
                self._require(partial(network, usual), ("models", name, "train"))
                self._require(partial(network, given), ("models", name, "training"))

    def _require(self, look: Callable[[], Any], where: Where) -> None:
        try:
            look()
        except SeamripperError as e:
            raise ExperimentError(f"{self.experiment.place(where)}: {e}") from e

    def nets(self, word: str) -> list[Net]:
        """The networks that a word means. Their trainings become jobs."""
        network, seeds = self.experiment.network(word)
        name = word.partition("/")[0]
        precision = {} if self.experiment.dtype is None else {"dtype": str(self.experiment.dtype)}
        if network.load is not None:
            fingerprint = self.identities.loaded_model(network.load)["fingerprint"]
            at = {"load": self.identities.absolute_name(network.load), "said": network.load}
            ref = {"loaded": fingerprint, **precision}
            return [Net(name, None, ref, network.load, (), {f"model:{fingerprint}": at})]
        known = self.identities.network(network)
        assert network.data is not None
        fit, test = self.data_set(network.data, "train", network.n), self.data_set(network.data, "test", None)
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
            # By its name too: a network that goes by two names is trained once, and listed under both.
            self.trained.setdefault(f"{job.key} {name}", job)
            ref = {"trained": job.key, **precision}
            nets.append(Net(name, seed, ref, known["architecture"], (job.key,), {}, network.data))
        return nets

    def pairs(self, part: Pairs) -> Iterator[tuple[Net, Net]]:
        """Senders and receivers that meet."""
        for sender, receiver in itertools.product(part.senders, part.receivers):
            pairs = list(_pairs(self.nets(sender), self.nets(receiver), part.pairing))
            if not pairs:
                raise ExperimentError(
                    f"No seeds of {sender!r} and {receiver!r} are joined by pairing = {part.pairing!r}: 'matched' "
                    "joins equal seeds, 'others' joins different ones, 'all' joins every two."
                )
            yield from pairs

    def splits(self, data: Data) -> tuple[DataSetRef, DataSetRef]:
        """The samples to fit on, and those to score on."""
        return self.samples(data, "train"), self.samples(data, "test")

    def samples(self, data: Data, split: str) -> DataSetRef:
        """The samples of one split."""
        return self.data_set(data.word, split, data.n if split == "train" else data.n_test, data.seed)

    def data_set(self, name: str, split: str, n: int | None, seed: int = 0) -> DataSetRef:
        """The samples of this name, split, number and seed."""
        known = self.identities.data(name, split, n, seed)
        at = {"name": self.identities.absolute_name(name), "split": split, "n": n, "seed": seed}
        where = {f"data:{known['fingerprint']}": at}
        return DataSetRef(known["fingerprint"], known["n"], known["shape"], known["classes"], where)

    def cuts(
        self, words: Sequence[str], pair: tuple[Net, Net], shape: list[int], own: list[int] | None = None
    ) -> list[tuple[str, str]]:
        """(sender's cut, receiver's cut) of each word; all exist. `own` is the receiver's shape, if another."""
        cuts = []
        for word in words:
            first, arrow, second = (part.strip() for part in word.partition("->"))
            if arrow and not (first and second):
                raise ExperimentError(f"Expected cuts as NAME, or SENDER'S -> RECEIVER'S, but got {word!r}.")
            cuts.append((first, second or first))
        sender, receiver = pair
        self.identities.require_cuts(sender.cuts_decided_by, sender.spec, [a for a, _ in cuts], shape)
        self.identities.require_cuts(receiver.cuts_decided_by, receiver.spec, [b for _, b in cuts], own or shape)
        return cuts

    def matching(self, word: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The record of a matching, one of the study's own or any other, and where a user's file for it is."""
        own = self.experiment.matchings
        return self.identities.choice(MATCHINGS, own.get(word, word), also=list(own))

    def ways(self, part: Joining, what: str) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """Every matching, stitch, freeze and seed of a part: for contents, for labels, and where users' files are."""
        matchings = {word: self.matching(word) for word in part.matchings}
        stitches = {word: self.stitch(word) for word in part.stitches}
        for word, (matching, _) in matchings.items():
            if "weights" in part.freeze and matching["name"] != "task":
                raise ExperimentError(
                    f"freeze = 'weights' works only with the matching 'task', and {word!r} is {matching['name']!r}: "
                    f"put it into {what} of its own."
                )
        ways = []
        for (word, (matching, first)), (said, (stitch, second)), freeze, seed in itertools.product(
            matchings.items(), stitches.items(), part.freeze, part.seeds
        ):
            content = {"matching": matching, "stitch": stitch, "freeze": freeze, "seed": seed}
            ways.append((content, {**content, "matching": word, "stitch": said}, {**first, **second}))
        return ways

    def stitches(self, part: Any, what: str) -> Iterator[tuple[Any, ...]]:
        """Sender, receiver, content, labels and places of every stitch that a part with pairs and ways asks for."""
        data = self.experiment.samples(part.data, what)
        fit, test = self.splits(data)
        ways = self.ways(part, what)
        for sender, receiver in self.pairs(part):
            places = merge_where(fit, test, sender, receiver)
            cuts = self.cuts(part.cuts, (sender, receiver), fit.shape)
            require_rates(part, [b for _, b in cuts])
            for a, b in cuts:
                for way, words, files in ways:
                    content = {
                        **pair_content(sender, receiver, a, b, fit, test),
                        **at_rate(part.rates.get(b), way),
                        "threads": self.experiment.threads,
                    }
                    labels = {**pair_labels(sender, receiver, a, b), **words, "data": data.name}
                    yield sender, receiver, content, labels, {**places, **files}

    def stitch(self, word: str) -> tuple[str, dict[str, Any]]:
        """A stitch as a content has it, and where a user's file for it is."""
        return ("auto", {}) if word == "auto" else self.identities.word(STITCHES, word, also=["auto"])

    def measures(self, asked: Iterable[str]) -> tuple[list[str], dict[str, Any]]:
        """Measures as words of a content, in which a user's own file goes by its sha256, and where files are."""
        words, located, files = list[str](), list[str](), dict[str, Any]()
        for word in asked:
            content, place, where = self.identities.own_file(word)
            words.append(content)
            located.append(place)
            files |= where

        def look() -> bool:
            from seamripper.comparing import requested_measures

            return bool(requested_measures(located))

        self.identities.remember(["measures", words], look)
        return words, files


def require_rates(part: Joining, cuts: Sequence[str]) -> None:
    """Refuse a learning rate for a cut at which nothing is stitched."""
    for cut in part.rates:
        if cut not in cuts:
            raise ExperimentError(f"There is a rate for {cut!r}, which is no cut here: {did_you_mean(cut, cuts)}")


def at_rate(rate: float | None, way: dict[str, Any]) -> dict[str, Any]:
    """A way of a content with this learning rate in place of its own, if there is one."""
    if rate is None:
        return way
    matching = way["matching"]
    if "training" not in matching or matching.get("rates"):
        why = "is not trained" if "training" not in matching else "chooses its own"
        raise ExperimentError(
            f"Expected `rates` beside matchings that are trained with one learning rate, but {matching['name']!r} "
            f"{why}: put it into a part of its own."
        )
    return {**way, "matching": {**matching, "training": {**matching["training"], "lr": rate}}}


def pair_labels(sender: Net, receiver: Net, a: str | None = None, b: str | None = None) -> dict[str, Any]:
    """The labels of a pair, and of the cuts at which it is joined."""
    cuts = {} if a is None else {"sender_cut": a, "receiver_cut": b}
    return {
        "sender": sender.name,
        "sender_seed": sender.seed,
        "receiver": receiver.name,
        "receiver_seed": receiver.seed,
        **cuts,
    }


def pair_content(sender: Net, receiver: Net, a: str, b: str, fit: DataSetRef, test: DataSetRef) -> dict[str, Any]:
    """The part of a content that says what is joined where, and which samples it is fitted and scored on."""
    return {
        "sender": sender.ref,
        "sender_cut": a,
        "receiver": receiver.ref,
        "receiver_cut": b,
        "fit": fit.fingerprint,
        "test": test.fingerprint,
        "n": fit.n,
        "n_test": test.n,
    }


def merge_where(*things: Net | DataSetRef | None) -> dict[str, Any]:
    """Where all of these are."""
    return {key: at for thing in things if thing is not None for key, at in thing.where.items()}


def merge_needs(nets: Iterable[Net]) -> tuple[str, ...]:
    """The trainings that these networks need, each once."""
    return tuple(dict.fromkeys(key for net in nets for key in net.needs))


def _pairs(senders: Sequence[Net], receivers: Sequence[Net], pairing: str) -> Iterator[tuple[Net, Net]]:
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
