"""Mixture: a way to take a part of an input from another one, by a mask in some basis."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import Tensor

from seamripper.audits.interventions.inputs import limits
from seamripper.data.base import check_seed
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import AuditError, InapplicableError
from seamripper.registry import Choice, Registry

Form = Literal["image", "text", "wave", "vector", "sequence"]
"""(n, c, h, w); named inputs with tokens; (n, 1, t); (n, d), which may be sound as well; (n, t, d)."""


@dataclass(frozen=True)
class Mixture(Choice):
    """The choice of a family of masks. Leaves are frozen dataclasses with a `name` and their options.

    The part that the mask leaves is what `mix` takes if `a` and `b` change places: the two parts make the whole.
    """

    what, error = "mixture", AuditError
    about: ClassVar[str]
    """What is taken from the other input, in words that a sentence can use: "a small rectangle"."""
    forms: ClassVar[tuple[Form, ...]]
    """The inputs that it is for."""
    strengths: ClassVar[tuple[float, ...]] = (1.0,)
    """How large the mask may be, as a share of its usual size, the largest first."""
    local: ClassVar[bool] = False
    """Whether its masks are places, so that a map of what a network listens to can be drawn from them."""
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    """The options of each member of the family that `default` stands for."""

    @abc.abstractmethod
    def mix(self, a: Inputs, b: Inputs, ids: Tensor, *, strength: float, seed: int) -> Inputs:
        """`a` with the part that the mask chooses from `b`; the mask of a row is drawn from its id and the seed.

        `InapplicableError` for inputs of another kind.
        """

    @property
    def words(self) -> str:
        """What this member of the family takes from the other input."""
        return self.about

    def apply(self, a: Samples, b: Samples, *, strength: float = 1.0, seed: int = 0) -> Samples:
        """The samples `a`, each mixed with the sample of `b` in its row."""
        rows = slice(None)
        mixed = self.mix(a.batch(rows), b.batch(rows), a.ids, strength=strength, seed=check_seed(seed))
        if a.pictures and isinstance(mixed, Tensor):
            # A sum of two pictures' frequencies may lie outside the range of pixels.
            mixed = mixed.clamp(*limits(a))
        return a.with_inputs(mixed, name=f"{a.name}, {self.label}")


mixtures: Registry[Mixture] = Registry(Mixture, "seamripper.audits.mixtures", what="mixture", error=AuditError)
"""Every family of mixtures by name. `mixtures.make("rectangle?size=large")` makes a member."""


def form_of(samples: Samples) -> Form:
    """Which form the inputs have; `InapplicableError` for one that no family is for."""
    inputs = samples.inputs
    if isinstance(inputs, Mapping):
        if "input_ids" in inputs:
            return "text"
        raise InapplicableError(f"{samples.name} has named inputs without `input_ids`: no mixture is for those.")
    forms: dict[int, Form] = {
        4: "image",
        2: "vector",
        3: "wave" if inputs.dim() == 3 and inputs.shape[1] == 1 else "sequence",
    }
    if inputs.dim() in forms and (inputs.is_floating_point() or samples.pictures):
        return forms[inputs.dim()]
    kind = str(inputs.dtype).removeprefix("torch.")
    raise InapplicableError(f"{samples.name} has inputs of shape {samples.shape} in {kind}, which no mixture is for.")


def chosen_mixtures(choices: Iterable[Mixture | str] | Mixture | str, samples: Samples) -> tuple[Mixture, ...]:
    """The mixtures that these words name; `default` is all of them for inputs of this form, `none` is none."""
    words = mixtures.several(choices)
    if "none" in words:
        if len(words) > 1:
            raise AuditError("Expected mixtures to be 'none' or a list of others, but got both.")
        return ()

    def usual() -> list[Mixture]:
        form = form_of(samples)
        return [cls(**options) for cls in mixtures.values() if form in cls.forms for options in cls.variants]

    return tuple(mixtures.many(words, {"default": usual}))


def require_tensors(a: Inputs, b: Inputs, what: str, *, dims: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The inputs as two tensors of floats with one of these numbers of axes; an error if they are something else."""
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dim() in dims and a.is_floating_point():
        return a, b
    expected = " or ".join(map(str, dims))
    given = f"{a.dim()} axes in {a.dtype}" if isinstance(a, Tensor) else "named inputs"
    raise InapplicableError(f"The mixture {what!r} is for floats with {expected} axes, but the inputs have {given}.")
