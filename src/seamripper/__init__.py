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
    from seamripper.activations import Activations as Activations
    from seamripper.activations import collect as collect
    from seamripper.activations import load_activations as load_activations
    from seamripper.audits import Audit as Audit
    from seamripper.audits import Audited as Audited
    from seamripper.audits import Verdict as Verdict
    from seamripper.audits import audit as audit
    from seamripper.audits.interventions import Intervention as Intervention
    from seamripper.comparing import Comparison as Comparison
    from seamripper.comparing import compare as compare
    from seamripper.comparing import load_comparison as load_comparison
    from seamripper.controls import Case as Case
    from seamripper.controls import Control as Control
    from seamripper.cut import Cut as Cut
    from seamripper.cut import Split as Split
    from seamripper.cut import cuts as cuts
    from seamripper.cut import split as split
    from seamripper.data import Samples as Samples
    from seamripper.data import clustered_noise as clustered_noise
    from seamripper.data import load_data as load_data
    from seamripper.errors import SeamripperError as SeamripperError
    from seamripper.estimate import Estimate as Estimate
    from seamripper.experiment import Experiment as Experiment
    from seamripper.experiment import Store as Store
    from seamripper.experiment import plan as plan
    from seamripper.experiment import run as run
    from seamripper.matching import Direct as Direct
    from seamripper.matching import Functional as Functional
    from seamripper.matching import Match as Match
    from seamripper.matching import Regression as Regression
    from seamripper.matching import Task as Task
    from seamripper.matching import evaluate as evaluate
    from seamripper.matching import load_match as load_match
    from seamripper.matching import match as match
    from seamripper.measures import Measure as Measure
    from seamripper.measures import Pair as Pair
    from seamripper.measures import score as score
    from seamripper.models import Model as Model
    from seamripper.models import Training as Training
    from seamripper.models import load as load
    from seamripper.models import train as train
    from seamripper.report import Run as Run

_HOME = {
    "Activations": "activations",
    "Audit": "audits",
    "Audited": "audits",
    "Case": "controls",
    "Comparison": "comparing",
    "Control": "controls",
    "Cut": "cut",
    "Direct": "matching",
    "Estimate": "estimate",
    "Experiment": "experiment",
    "Functional": "matching",
    "Intervention": "audits.interventions",
    "Match": "matching",
    "Measure": "measures",
    "Model": "models",
    "Pair": "measures",
    "Regression": "matching",
    "Run": "report",
    "Samples": "data",
    "SeamripperError": "errors",
    "Split": "cut",
    "Store": "experiment",
    "Task": "matching",
    "Training": "models",
    "Verdict": "audits",
    "audit": "audits",
    "clustered_noise": "data",
    "collect": "activations",
    "compare": "comparing",
    "cuts": "cut",
    "evaluate": "matching",
    "load": "models",
    "load_activations": "activations",
    "load_comparison": "comparing",
    "load_data": "data",
    "load_match": "matching",
    "match": "matching",
    "plan": "experiment",
    "run": "experiment",
    "score": "measures",
    "split": "cut",
    "train": "models",
}
"""Where each public name lives. Imported when first used: `import seamripper` does nothing, and takes no time."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        from seamripper._words import did_you_mean

        raise AttributeError(f"seamripper has no {name!r}: {did_you_mean(name, list(_HOME))}")
    return getattr(importlib.import_module(f"seamripper.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
