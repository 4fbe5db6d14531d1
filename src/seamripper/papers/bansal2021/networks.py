"""Section 2: the networks themselves, so that later items tell their own time."""

from __future__ import annotations

from seamripper.experiment import Experiment
from seamripper.papers.bansal2021.setting import BASE, LABELS, NAMES, TIMES, accuracy_of, networks, that_of
from seamripper.papers.claims import Claim, Clause
from seamripper.papers.items import Item, PaperTable
from seamripper.papers.profiles import Profile

_KINDS = ("base", "rotation", "few", "thin", *LABELS, *TIMES)
_TASKS = {"rotation": "quarter turns", "animals": "object or animal"}


def _experiment(own: Profile) -> Experiment:
    return Experiment(
        name="networks",
        about="the networks of all items (Bansal et al. 2021)",
        models=networks(own, *_KINDS),
    )


CLAIMS = (
    Claim("Have the networks learnt enough for the claims about good networks to be testable?", "", accuracy_of("base"),
        "at least", bound=BASE, beyond=True, answers=("yes", "no")),
    Claim("Is a network with more data, training or width better than one with less?", "", accuracy_of("base"), "above",
        that_of("few"), also=tuple(Clause(accuracy_of("base"), "above", that_of(name)) for name in ("quarter", "thin")),
        beyond=True, answers=("yes", "no")),
)  # fmt: skip
_SHOWS = PaperTable(
    "Accuracy of the networks, each on its own task",
    ("network", "task", "accuracy"),
    tuple((NAMES["model"][name], _TASKS.get(name, "ten classes"), accuracy_of(name)) for name in _KINDS),
)
ITEM = Item("networks", ("Networks",), "The networks alone, each on its own task.", _experiment, CLAIMS, (_SHOWS,),
    ("Labels of the test images are right for all of them.",), NAMES)  # fmt: skip
