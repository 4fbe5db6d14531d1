"""What the items of Hernandez et al. 2022 have in common: sizes, networks, pairs, samples and names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from seamripper.experiment import Data, FunctionalPart, Network
from seamripper.papers.claims import Gate
from seamripper.papers.profiles import Profile, Size, with_options
from seamripper.papers.results import Select

SMALL = tuple("R_" + "".join(blocks) for blocks in itertools.product("12", repeat=4))
"""The 16 small ResNets, by the number of blocks in each of four stages."""
RANDOM = "-random"
"""How the names of untrained networks end."""
STEM, IMAGE = "before:layer1", "before:conv1"
"""The first layer, which has no block before it, and the place at which an image arrives."""


def cuts_of_stages(*blocks: int) -> tuple[str, ...]:
    """The layers of a ResNet with so many blocks in each stage: behind its stem, and behind every block.

    >>> cuts_of_stages(1, 2)
    ('before:layer1', 'layer1.0', 'layer2.0', 'layer2.1')
    """
    return (STEM, *(f"layer{stage}.{k}" for stage, n in enumerate(blocks, 1) for k in range(n)))


LAYERS = {name: cuts_of_stages(*map(int, name[2:])) for name in SMALL} | {"resnet34": cuts_of_stages(3, 4, 6, 3)}
"""The cuts of each network. The number of one is that of the blocks before it, as in the paper."""


def opposite(name: str) -> str:
    """The small ResNet with two blocks where this one has one, and one where this one has two.

    >>> opposite("R_1121")
    'R_2212'
    """
    return name.translate(str.maketrans("12", "21"))


def pairs_by_rule(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Each architecture into itself, of another seed, and into its opposite.

    Of an architecture and its opposite, every stage has the four cases 1 → 1, 2 → 2, 1 → 2 and 2 → 1 blocks; and the
    sender is as deep as the receiver, deeper, or less deep.

    >>> pairs_by_rule(("R_1111", "R_2222"))
    (('R_1111', 'R_1111'), ('R_1111', 'R_2222'), ('R_2222', 'R_2222'), ('R_2222', 'R_1111'))
    """
    return tuple((name, receiver) for name in names for receiver in (name, opposite(name)))


FEW = ("R_1111", "R_1212", "R_2121", "R_2222")
"""The small ResNets whose third and fourth stages repeat the first two: they hold the opposite of each of them."""
QUICK, EVERY = pairs_by_rule(FEW), tuple(itertools.product(SMALL, repeat=2))
OPPOSITE = tuple((sender, receiver) for sender, receiver in QUICK if sender != receiver)
AUDITED = (("R_1111", "R_2222"), ("R_2222", "R_1111"))
"""The extremes: the smallest and the largest network in both directions."""
SEEDS, MORE_SEEDS = (0, 1), (0, 1, 2, 3)
BASE = 0.5
"""What a network must reach on CIFAR-10 for a claim about it to be testable. The bound is ours, and was set when the
accuracy of trial trainings was known (0.60): it keeps out networks that have learnt nothing."""
SGD = "optimiser=sgd&lr=0.01&weight_decay=0.01&schedule=cosine&warmup=0.1"
"""The authors' optimiser. In trials with networks of a seed that no item uses, other learning rates, Adam, and three
times as many steps did no better where stitches are hardest to train, into the first layer; test accuracies of these
trials were seen, beside training losses."""

SIZES = {
    "network": Size("networks as {}", "?width=0.25", "?stem=3x3"),
    "pairs": Size("{#} ordered pairs of architectures, by a rule that covers every case", QUICK, EVERY),
    "audited": Size("{#} of them with detectors, least squares stitches and audits", AUDITED, EVERY),
    "random_pairs": Size("{#} ordered pairs with untrained networks", OPPOSITE, EVERY),
    "large": Size(
        "of ResNet-34 {#} layers, the first and the last block of each stage",
        tuple(cut for cut in LAYERS["resnet34"] if cut in (STEM, "layer1.0", "layer1.2", "layer2.0", "layer2.3",
            "layer3.0", "layer3.5", "layer4.0", "layer4.2")),
        LAYERS["resnet34"],
    ),
    "seeds": Size("{#} networks of each architecture", SEEDS, SEEDS, MORE_SEEDS),
    # With two, a gate of most claims and the claim about each shape of pairs stayed open.
    "audited_seeds": Size("{#} networks of the architectures that are audited", MORE_SEEDS, SEEDS),
    # They have one pair of architectures alone: with two seeds, both claims stayed open.
    "large_seeds": Size("{#} networks of ResNet-18 and ResNet-34", MORE_SEEDS, SEEDS),
    "images": Size("networks trained on {} images", 20_000, None),
    "training": Size(
        "networks trained with {}",
        "balogh?lr=0.003&batch=128&epochs=10&schedule=cosine&warmup=0.1",
        "balogh?epochs=100&schedule=cosine&warmup=0.1",
    ),
    "fit": Size("stitches fitted on {} images", 2000, None),
    "pictured": Size("stitches into images fitted on {} images", 1000, None),
    "conflict": Size("audits with {}", "conflict?n=400", "conflict"),
    "mixing": Size("and {}", "mixing?n=300", "mixing"),
    "scored": Size("stitches scored on {} test images", 1000, None),
    "vanilla": Size("vanilla stitches with {}", f"task?{SGD}&epochs=6&batch=32", f"task?{SGD}&epochs=4&batch=256"),
    "similarity": Size(
        "similarity-trained stitches with {}",
        f"regression?{SGD}&epochs=8&batch=32",
        f"regression?{SGD}&epochs=30&batch=256",
    ),
}  # fmt: skip

_BLOCKS = {cut: f"{cut[5]}.{int(cut[7:]) + 1}" for cuts in LAYERS.values() for cut in cuts if cut != STEM}
NAMES: dict[str, Any] = {
    "receiver": {"resnet34": "ResNet-34"},
    "sender": {"resnet34": "ResNet-34"},
    "model": {"resnet34": "ResNet-34"},
    "receiver_cut": {STEM: "stem", IMAGE: "image", **_BLOCKS},
    "case": {
        "trained": "both trained",
        "random sender": "untrained sender",
        "random receiver": "untrained receiver",
        "both random": "both untrained",
    },
    "shape": {
        "deeper sender": "a deeper sender",
        "deeper receiver": "a deeper receiver",
        "as deep": "networks as deep as one another",
    },
    "matching": {"vanilla": "vanilla", "similarity": "similarity-trained", "direct": "direct (exact)"},
    "noun": {"receiver": "architecture", "shape": "shape", "case": "case", "between": "pair of representations"},
}
CASES = tuple(NAMES["case"])


def architecture(own: Profile, name: str) -> str:
    """The word of an architecture in a profile."""
    return f"zoo:{name}{own.network}"


def trained_nets(own: Profile, *names: str, seeds: tuple[int, ...] = ()) -> dict[str, Network]:
    """Networks of these architectures trained on CIFAR-10, one for each seed: those of the profile, or others."""
    audited = {name for pair in own.audited for name in pair}
    more: dict[str, Any] = {"data": "cifar10", "n": own.images, "training": own.training}
    return {
        name: Network(
            train=architecture(own, name),
            seeds=seeds or (own.audited_seeds if name in audited else own.seeds),
            **more,
        )
        for name in names
    }


def random_nets(own: Profile, *names: str) -> dict[str, Network]:
    """Networks of these architectures as they were before any training."""
    words = {name: with_options(architecture(own, name), seed=100 + k) for k, name in enumerate(names)}
    return {name + RANDOM: Network(load=word) for name, word in words.items()}


def samples(own: Profile) -> Data:
    """The images that stitches are fitted on, and those that they are scored on."""
    return Data(name="cifar10", n=own.fit, n_test=own.scored)


def matchings(own: Profile) -> dict[str, str]:
    """Vanilla and similarity-trained stitches."""
    return {"vanilla": own.vanilla, "similarity": own.similarity}


def rounds(seeds: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The seeds of senders and receivers that meet, two by two: never the same, as no network is stitched into itself.

    >>> rounds((0, 1, 2, 3))
    ((0, 1), (1, 0), (2, 3), (3, 2))
    """
    return tuple((seed, seeds[k ^ 1]) for k, seed in enumerate(seeds))


def matrix(sender: str, receiver: str, *, layers: dict[str, tuple[str, ...]], **choices: Any) -> FunctionalPart:
    """Every layer of a sender into every layer of a receiver, by stitches of the paper's form."""
    ends = [layers[word.partition("/")[0].removesuffix(RANDOM)] for word in (sender, receiver)]
    return FunctionalPart(senders=(sender,), receivers=(receiver,), pairing="all", sender_cuts=ends[0],
        receiver_cuts=ends[1], stitch="strided", **choices)  # fmt: skip


def good_enough(*models: str) -> Gate:
    """The gate of claims about these networks: they have learnt their task."""
    return Gate(
        f"each network reaches {BASE:g} of CIFAR-10",
        Select("accuracy", kind="train", model=models),
        "at least",
        bound=BASE,
    )
