"""[[noise]]: a job for each receiver, cut, radius and number of classes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from seamripper.errors import ExperimentError
from seamripper.experiment.expand._expansion import Expansion, Net, which
from seamripper.experiment.job import Job
from seamripper.experiment.kinds.noise import require_noise_way
from seamripper.experiment.spec import Noising


def noises(work: Expansion, part: Noising) -> Iterator[Job]:
    """A job for each receiver, cut, radius and number of classes."""
    for word in part.matchings:
        require_noise_way(word, work.choices.matching(word))
    ways = work.ways(part, "a [[noise]]")
    for receiver in (net for word in part.receivers for net in work.nets(word)):
        shape, known = _made_for(work, receiver, part)
        work.identities.require_cuts(which(receiver), receiver.spec, part.cuts, shape)
        grid = itertools.product(part.cuts, part.radius, part.classes or (known,), ways)
        for cut, radius, classes, (chosen, said) in grid:
            if classes > known:
                raise ExperimentError(
                    f"Expected `classes` of a [[noise]] to be at most {known}, as many as {receiver.name!r} can "
                    f"name, but got {classes}."
                )
            content = {
                "receiver": receiver.ref,
                "receiver_cut": cut,
                "input": shape,
                "radius": radius,
                "classes": classes,
                "per_class": part.per_class,
                "per_class_test": part.per_class_test,
                **chosen,
                "rank": part.rank,
                "threads": work.experiment.threads,
            }
            labels = {
                "sender": "clustered noise",
                "receiver": receiver.name,
                "receiver_seed": receiver.seed,
                "receiver_cut": cut,
                "radius": radius,
                "classes": classes,
                **said,
            }
            yield Job("noise", content, labels, receiver.needs, receiver.where)


def _made_for(work: Expansion, net: Net, part: Noising) -> tuple[list[int], int]:
    """The shape of one input of a network, and how many classes it has."""
    if net.data is not None and not part.input:
        shape = work.drawn(net.data, "test", None, 0).shape
    else:
        shape = list(part.input) or work.identities.made_for(net.spec)["input"]
    if not shape:
        raise ExperimentError(f"Expected a [[noise]] to have `input`, as {net.name!r} takes inputs of any shape.")
    return shape, work.identities.classes(which(net), net.spec, shape)
