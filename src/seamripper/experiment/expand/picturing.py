"""[[pictures]]: a job for each pair, cut and matching."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from seamripper.errors import ExperimentError
from seamripper.experiment.expand._expansion import Expansion, Net, both, joined, which
from seamripper.experiment.job import Job
from seamripper.experiment.kinds.pictures import (
    require_classes_of,
    require_images,
    require_judged,
    require_mapping,
    showing,
)
from seamripper.experiment.spec import Data, Picturing


def pictures(work: Expansion, part: Picturing) -> Iterator[Job]:
    """A job for each pair, cut and matching."""
    data = work.experiment.samples(part.data, "a [[pictures]]")
    own = data if part.receiver_data is None else work.experiment.samples(part.receiver_data, "a [[pictures]]")
    fit, test = work.samples(data, "train"), work.samples(data, "test")
    own_fit, own_test = work.samples(own, "train"), work.samples(own, "test")
    for name, samples in ((data.name, test), (own.name, own_test)):
        require_images(samples.shape, name)
    ways = {word: work.choices.matching(word) for word in part.matchings}
    for matching in ways.values():
        _require_pictured(work, matching, data, own, apart=part.receiver_data is not None)
    work.choices.require_stitches([part.stitch])
    theirs = {"receiver_fit": own_fit.fingerprint, "receiver_test": own_test.fingerprint}
    for sender, receiver in work.pairs(part):
        judge = None if part.judge is None else _judge(work, part.judge, receiver, own, own_test.shape)
        nets = (sender, receiver, *([judge] if judge else []))
        for a, b in work.cuts(part.cuts, sender, receiver, fit.shape, own_fit.shape):
            answer, arrives = _shapes(work, receiver, b, own_fit.shape)
            for word, matching in ways.items():
                shows = showing(answer, arrives, b, matching=matching["name"])
                if judge:
                    require_judged(answer if shows == "answer" else arrives, own_test.shape)
                content = {
                    **joined(sender, receiver, a, b, fit, test),
                    **(theirs if part.receiver_data is not None else {}),
                    "n": min(fit.n, own_fit.n),
                    "n_test": test.n,
                    "images": min(part.n, test.n, own_test.n),
                    "stitch": part.stitch,
                    "matching": matching,
                    "seed": part.seed,
                    **({"judge": judge.ref} if judge else {}),
                    "threads": work.experiment.threads,
                }
                labels = {
                    **both(sender, receiver, a, b),
                    "matching": word,
                    "stitch": part.stitch,
                    "freeze": "all",
                    "seed": part.seed,
                    "data": data.name,
                    **({"receiver_data": own.name} if part.receiver_data is not None else {}),
                    **({"judge": judge.name} if judge else {}),
                }
                where = {**fit.where, **test.where, **own_fit.where, **own_test.where}
                for net in nets:
                    where |= net.where
                needs = tuple(dict.fromkeys(key for net in nets for key in net.needs))
                yield Job("pictures", content, labels, needs, where)


def _require_pictured(work: Expansion, matching: Mapping[str, Any], data: Data, own: Data, *, apart: bool) -> None:
    """Refuse a matching that these samples, the sender's and the receiver's own, are not for."""
    if apart:
        require_mapping(matching["name"])
    if matching["name"] == "class_mapping":
        sender, receiver = (_classes(work, of) for of in (data, own))
        require_classes_of(matching["label_map"], sender=sender, receiver=receiver)


def _classes(work: Expansion, data: Data) -> int:
    return int(work.identities.data(data.name, "test", data.n_test, data.seed)["classes"])


def _judge(work: Expansion, word: str, receiver: Net, data: Data, shape: list[int]) -> Net:
    """The classifier that looks at a receiver's images: that of the receiver's seed, or its first."""
    _, seeds = work.experiment.network(word)
    name = word.partition("/")[0]
    seed = receiver.seed if receiver.seed in seeds else seeds[0]
    (judge,) = work.nets(name if seed is None else f"{name}/{seed}")
    known, wanted = work.identities.classes(which(judge), judge.spec, shape), _classes(work, data)
    if known < wanted:
        raise ExperimentError(
            f"Expected the judge {word!r} of a [[pictures]] to tell the {wanted} classes of {data.name} apart, but "
            f"it knows {known}."
        )
    return judge


def _shapes(work: Expansion, net: Net, cut: str, shape: list[int]) -> tuple[list[int], list[int]]:
    """The shapes of one answer of a network, and of what passes at a cut of it."""

    def look() -> list[list[int]]:
        from seamripper.cut import split
        from seamripper.models import load

        network = load(work.identities.located(net.spec))
        half = split(network, cut, network.example(2, input=network.shown_shape(shape)))
        return [list(half.answer(half.example).shape[1:]), list(half.cut.shape)]

    answer, passes = work.identities.choice("shapes", [which(net), cut, shape], look)
    return answer, passes
