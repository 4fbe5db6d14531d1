"""What the items of Bansal et al. 2021 have in common: sizes, networks, stitches, gates and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from seamripper.experiment import ComparePart, Data, Network, StitchPart
from seamripper.papers.claims import Gate
from seamripper.papers.profiles import Profile, Size, with_options
from seamripper.papers.results import ALONE, Row, Select

CUTS = ("relu", "layer1", "layer2", "layer3", "layer4")
"""Behind the stem and behind each stage: of the quick profile's networks, which have one block a stage, every block."""
EARLY, LATE = CUTS[:2], CUTS[3:]
STITCH = "bn_affine"
"""BN – 1×1 convolution – BN."""
LABELS = {
    "animals": "labels=animal",
    "noise-10": "label_noise=0.1",
    "noise-50": "label_noise=0.5",
    "noise-100": "label_noise=1",
    "people": "labels=worst",
}
"""Networks that were trained with other labels, and the option of the data that gives them."""
TIMES = ("eighth", "quarter", "half")
"""Checkpoints of the training, by the part of it that they have had."""
RANDOM = tuple(f"random-{k}" for k in range(5))
ANY_RANDOM = frozenset(RANDOM)
"""Untrained networks, one for each receiver: every parameter and buffer as it was drawn."""
BASE = 0.5
"""What a network must reach on CIFAR-10 for claims about good networks to be testable. The bound is ours, and was set
when the accuracy of a trial training was known (0.64): it keeps out networks that have learnt little, and does not show
that a network is as good as the paper's."""
CLOSE = 0.05
"""A drop in accuracy that counts as small. The bound is ours; by a summary, the paper's Table 1 has 3 % between seeds
and 5 % for self-supervised networks."""

_TRAINING = "balogh?lr=0.003&batch=128&epochs=8&schedule=cosine&warmup=0.05"
_THEIRS = "smith?weight_decay=0.0005&epochs=160&schedule=steps&drops=0.5,0.75"
# Settled by trials with networks of seeds that no item uses (7 and 8). The stem that halves the maps twice makes
# networks and stitches several times cheaper, which buys seeds and images: 40,000 images give an accuracy of 0.70,
# where the stem of 3 × 3 on 10,000 had given 0.63 at twice the cost. With twice the images to fit on, stitches of a
# network into itself lost half as much.
SIZES = {
    "network": Size("networks as {}", "zoo:R_1111?width=0.25", "zoo:resnet18?stem=3x3"),
    "thin": Size("thin ones as {}", "zoo:R_1111?width=0.0625", "zoo:resnet18?stem=3x3&width=0.25"),
    "seeds": Size("{#} networks of each kind", (0, 1, 2, 3, 4), (0, 1, 2, 3, 4)),
    "images": Size("trained on {} images", 40_000, None),
    "training": Size("with {}", _TRAINING, _THEIRS),
    "stops": Size("checkpoints after {} epochs", (1, 2, 4), (20, 40, 80)),
    "few_images": Size("weak ones on {} images", 4_000, 10_000),
    "few_training": Size("with {}", with_options(_TRAINING, epochs=16, batch=64), _THEIRS),
    "fit": Size("stitches and probes fitted on {} images", 4_000, None),
    "test": Size("scored on {}", 2_000, None),
    "compared": Size("CKA on {} test images", 1_000, None),
    "stitch": Size("stitches trained with {}", "task?epochs=8&batch=64&schedule=cosine&rates=0.003,0.01,0.03",
        "task?lr=0.001&epochs=20&batch=256&schedule=cosine"),
    "mixing": Size("audits with {}", "mixing?n=300", "mixing"),
    "kernels": Size("kernels of {} positions", (1, 3, 5), (1, 3, 5, 7, 9)),
}  # fmt: skip

_KINDS = {
    "base": "a well-trained network",
    "itself": "the receiver itself",
    "rotation": "a self-supervised network",
    "few": "a network trained on fewer images",
    "thin": "a thin network",
    "animals": "a network of objects and animals",
    "noise-10": "a network with 10 % label noise",
    "noise-50": "a network with 50 % label noise",
    "noise-100": "a network with random labels",
    "people": "a network with people's wrong labels",
    "eighth": "the network after an eighth of its training",
    "quarter": "the network after a quarter of its training",
    "half": "the network after half of its training",
    **dict.fromkeys(RANDOM, "a random network"),
}
NAMES: dict[str, Any] = {
    "sender": _KINDS | {ANY_RANDOM: "a random network"},
    "receiver": _KINDS | {ANY_RANDOM: "a random network"},
    "model": _KINDS,
    "stitch": {STITCH: "a stitch of BN – 1 × 1 – BN"},
    "receiver_cut": {"relu": "the stem", **{f"layer{k}": f"Stage {k}" for k in (1, 2, 3, 4)}},
}
READ_SECOND_HAND = (
    "Of the paper there was the abstract, the captions and a summary: its numbers stand in plots, and none of them is "
    "shown here."
)
CUT_BY_STAGE = "Cuts are behind the stem and each stage, where the paper cuts behind every block."

# ---- networks and samples


def networks(own: Profile, *names: str) -> dict[str, Network]:
    """Networks of these kinds, one for each seed; `itself` is `base` by another name, `random` is one for each seed."""
    every: dict[str, Network] = {}
    for name in names:
        if name == "random":
            words = [with_options(own.network, seed=100 + k) for k in range(len(own.seeds))]
            every |= {random: Network(load=word) for random, word in zip(RANDOM, words, strict=False)}
        else:
            every[name] = _network(own, name)
    return every


def _network(own: Profile, name: str) -> Network:
    plain: dict[str, Any] = {"train": own.network, "data": "cifar10", "n": own.images, "seeds": own.seeds}
    if name in TIMES:
        return Network(**plain, training=with_options(own.training, stop=own.stops[TIMES.index(name)]))
    if name == "few":
        return Network(**plain | {"n": own.few_images}, training=own.few_training)
    if name == "rotation":
        plain |= {"train": with_options(own.network, classes=4), "data": "cifar10?rotate=true"}
    if name == "thin":
        return Network(**plain | {"train": own.thin}, training=own.training)
    if name == "animals":
        plain["train"] = with_options(own.network, classes=2)
    if name in LABELS:
        plain["data"] = f"cifar10?{LABELS[name]}"
    return Network(**plain, training=own.training)


def samples(own: Profile) -> Data:
    """The samples that stitches are fitted and scored on: of those to fit on, every network was trained on all.

    As they are drawn by the same seed, the images of the weak networks are the first of those of the others.
    """
    return Data(name="cifar10", n=own.fit, n_test=own.test)


# ---- parts of experiments


def into_next(own: Profile, sender: str, receiver: str, **more: Any) -> Iterator[StitchPart]:
    """Stitches of every sender into the receiver of the next seed, so that no two share their first weights."""
    for k, seed in enumerate(own.seeds):
        yield stitches((f"{sender}/{own.seeds[k - 1]}",), f"{receiver}/{seed}", pairing="all", **more)


def from_random(own: Profile, receiver: str, **more: Any) -> Iterator[StitchPart]:
    """Stitches of a random network into each receiver."""
    for random, seed in zip(RANDOM, own.seeds, strict=False):
        yield stitches((random,), f"{receiver}/{seed}", **more)


def stitches(senders: tuple[str, ...], receiver: str, **more: Any) -> StitchPart:
    """Stitches of the paper's kind, at every cut unless others are given."""
    fixed: dict[str, Any] = {"cuts": CUTS, "matchings": ("theirs",), "stitches": (STITCH,)}
    return StitchPart(senders=senders, receivers=(receiver,), **{**fixed, **more})


def comparisons(own: Profile, *senders: str) -> Iterator[ComparePart]:
    """CKA between each sender and the base network of the next seed; `random` is one for each."""
    data = Data(name="cifar10", n_test=own.compared)
    for k, seed in enumerate(own.seeds):
        for sender in senders:
            word = RANDOM[k] if sender == "random" else f"{sender}/{own.seeds[k - 1]}"
            yield ComparePart(
                senders=(word,), receivers=(f"base/{seed}",), pairing="all", cuts=CUTS, sampling="flatten", data=data
            )


def same_cut(rows: Iterable[Row]) -> Iterator[Row]:
    """CKA between equal cuts, as the figure `cka`."""
    for row in rows:
        if row.get("kind") == "compare" and row["sender_cut"] == row["receiver_cut"]:
            yield {**row, "figure": "cka"}


# ---- parts of claims and figures


def accuracy(sender: Any, receiver: str, cuts: Any = CUTS, **labels: Any) -> Select:
    """Accuracies of stitched networks, by the paper's stitch unless another is named."""
    more = {"kind": "stitch", "stitch": STITCH, **labels}
    return Select("top1", sender=sender, receiver=receiver, receiver_cut=cuts, **more)


def penalty(sender: Any, receiver: str, called: str, cuts: Any = CUTS, **labels: Any) -> Select:
    """The paper's stitching penalty, error(stitched) − error(receiver), of one line of a figure."""
    more = {"kind": "stitch", "stitch": STITCH, **labels}
    return Select("penalty", sender=sender, receiver=receiver, receiver_cut=cuts, **more).with_name(called)


def accuracy_of(model: str) -> Select:
    """The accuracy of networks on their own task."""
    return Select("accuracy", kind="train", model=model)


def that_of(model: str) -> Select:
    """The same of other networks, beside them."""
    return accuracy_of(model).with_name(f"that of {NAMES['model'][model]}")


GOOD = Gate("the well-trained networks are good ones", accuracy_of("base"), "at least", bound=BASE)


def stitchable(cuts: Any) -> Gate:
    """That stitches of this training work at these cuts: a network stitched into itself is still what it was."""
    says = "the stitch is trained well enough to join a network with itself"
    return Gate(says, accuracy("itself", "base", cuts), "no worse", ALONE, bound=CLOSE)
