"""Section 2: the networks themselves, trained and untrained, and the check that an identity stitch changes nothing."""

from __future__ import annotations

from seamripper.experiment import Experiment, StitchPart
from seamripper.papers.claims import Claim
from seamripper.papers.hernandez2022.setting import BASE, FEW, NAMES, RANDOM, random_nets, samples, trained_nets
from seamripper.papers.items import Item, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select, Units

_CUT = "layer2.0"
_UNTRAINED = tuple(name + RANDOM for name in FEW)


def _experiment(own: Profile) -> Experiment:
    names = tuple(dict.fromkeys(name for pair in own.pairs for name in pair))
    return Experiment(
        name="section-2.2",
        about="the networks of all items (Hernandez et al. 2022, section 2.2)",
        data=samples(own),
        models={**trained_nets(own, *names, "resnet34"), **random_nets(own, *names)},
        stitch=tuple(
            StitchPart(senders=(word,), receivers=(word,), cuts=(_CUT,), stitches=("identity",))
            for word in (*names, *(name + RANDOM for name in names), "resnet34")
        ),
    )  # fmt: skip


def _accuracy(*models: str) -> Select:
    return Select("accuracy", kind="train", model=models)


_ALONE = Select("receiver_here", kind="stitch", receiver=Units(_UNTRAINED, "untrained networks"))
_CHANCE = _ALONE.with_name("accuracy of the untrained networks")
CLAIMS = (
    Claim("Each small ResNet reaches an accuracy above 90 %", "section 2.2", _accuracy(*FEW), "above", 0.9, ours=False,
        profile="paper"),
    Claim("Untrained networks have an accuracy of around 10 %", "section 2.2, footnote 3", _CHANCE, "at most",
        bound=0.15),
    Claim("Have the networks learnt enough for the claims about them to be testable?", "",
        _accuracy(*FEW, "resnet34"), "at least", bound=BASE, beyond=True, answers=("yes", "no")),
    Claim("Does an identity stitch reproduce the network?", "",
        Select("kl", kind="stitch", stitch="identity", receiver=FEW).with_name(
            "divergence of the answers with an identity stitch from those without"), "at most", bound=0.0, beyond=True,
        answers=("yes", "no"), remark="The authors' own check."),
)  # fmt: skip
_SHOWS = PaperTable(
    "Accuracy of the networks",
    ("network", "trained, paper", "trained, ours", "untrained, paper", "untrained, ours"),
    tuple((name, "above 0.9", Select("accuracy", kind="train", model=name), "about 0.1",
        Select("receiver_here", kind="stitch", receiver=name + RANDOM)) for name in FEW),
)  # fmt: skip
ITEM = Item("section-2.2", ("Section 2.2",),
    "The small ResNets and ResNet-34, trained and untrained, and an identity stitch in each.", _experiment, CLAIMS,
    (_SHOWS,), (), NAMES)  # fmt: skip
