"""seamripper: do two neural networks represent the same thing at this layer, and can you trust the number?

::

    models → cut → activations → stitch + matching → match → measures → controls → audits → verdict → report

Ten lines from two trained networks to a figure with its interval::

    import seamripper as sr

    colour, digit = sr.load("colour-0.safetensors"), sr.load("digit-0.safetensors")
    sender, receiver = sr.split(colour, "layer2"), sr.split(digit, "layer2")
    match = sr.match(sender, receiver, sr.load_data("mnist/correlated", "train", n=10_000))
    result = sr.evaluate(match, sr.load_data("mnist/correlated", "test"))
    print(result.top1, result.agreement)

And what that figure is worth, by the same comparison with counterparts whose answer is known::

    fit, test = (sr.load_data("mnist/correlated", split, n=4000) for split in ("train", "test"))
    print(sr.audit(sender, receiver, fit, test, conflict=sr.load_data("mnist/digit", "test")))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seamripper.activations import Activations as Activations, collect as collect
    from seamripper.audits import Audited as Audited, Verdict as Verdict, audit as audit
    from seamripper.comparing import Comparison as Comparison, compare as compare
    from seamripper.cut import Cut as Cut, Split as Split, cuts as cuts, split as split
    from seamripper.data import Samples as Samples, load_data as load_data
    from seamripper.errors import SeamripperError as SeamripperError
    from seamripper.estimate import Estimate as Estimate
    from seamripper.experiment import Experiment as Experiment, Store as Store, plan as plan, run as run
    from seamripper.matching import Functional as Functional, Match as Match, evaluate as evaluate, match as match
    from seamripper.measures import Pair as Pair, score as score
    from seamripper.models import Model as Model, Training as Training, load as load, train as train
    from seamripper.report import Run as Run

_NAMES = {
    "activations": ("Activations", "collect"),
    "audits": ("Audited", "Verdict", "audit"),
    "comparing": ("Comparison", "compare"),
    "cut": ("Cut", "Split", "cuts", "split"),
    "data": ("Samples", "load_data"),
    "errors": ("SeamripperError",),
    "estimate": ("Estimate",),
    "experiment": ("Experiment", "Store", "plan", "run"),
    "matching": ("Functional", "Match", "evaluate", "match"),
    "measures": ("Pair", "score"),
    "models": ("Model", "Training", "load", "train"),
    "report": ("Run",),
}
"""The public names by module, each imported when it is first used: `import seamripper` takes no time.

Everything else is reached through its package: `seamripper.matching.Task`, `seamripper.measures.Measure`.
"""

_HOME = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"seamripper has no {name!r}: {_advice(name)}")
    return getattr(importlib.import_module(f"seamripper.{_HOME[name]}"), name)


def _advice(name: str) -> str:
    """Where a name is that only a package has, or the nearest public name."""
    from seamripper._words import did_you_mean

    if not name.startswith("_"):
        for package in ("matching", "stitches", "measures", "controls", "audits", "audits.interventions", "data"):
            if name in importlib.import_module(f"seamripper.{package}").__all__:
                return f"it is seamripper.{package}.{name}."
    return did_you_mean(name, __all__)


def __dir__() -> list[str]:
    return list(__all__)
