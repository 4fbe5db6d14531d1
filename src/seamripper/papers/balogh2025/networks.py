"""Section 3.1: the networks themselves, so that later items tell their own time."""

from __future__ import annotations

from seamripper.experiment import Experiment
from seamripper.papers.balogh2025.setting import BASE, NAMES, networks, second_networks
from seamripper.papers.claims import Claim, Clause
from seamripper.papers.items import Item, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Select


def _experiment(own: Profile) -> Experiment:
    return Experiment(
        name="section-3.1",
        about="the networks of all items (Balogh & Jelasity 2025, section 3.1)",
        models={**networks(own, "resnet", "vit"), **second_networks(own, "resnet", "vit")},
    )


def _accuracy(model: str) -> Select:
    return Select("accuracy", kind="train", model=model)


CLAIMS = (
    Claim("Have the networks learnt enough for the claims about them to be testable?", "", _accuracy("resnet"),
        "at least", bound=BASE["resnet"], also=(Clause(_accuracy("vit"), "at least", bound=BASE["vit"]),),
        beyond=True, answers=("yes", "no")),
)  # fmt: skip
_SHOWS = PaperTable(
    "Accuracy of the networks",
    ("network", "accuracy"),
    tuple((name, _accuracy(model)) for model, name in NAMES["receiver"].items()),
)
ITEM = Item("section-3.1", ("Section 3.1",), "The networks alone, each on its own task.", _experiment, CLAIMS,
    (_SHOWS,), ("Fashion-MNIST stands for SVHN and ImageNet, which no package registry carries.",), NAMES)  # fmt: skip
