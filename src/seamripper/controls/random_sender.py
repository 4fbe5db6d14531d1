"""The control `random_sender`: the sender's architecture, untrained."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from seamripper._fingerprint import tensors_of
from seamripper._options import require_options
from seamripper.controls.base import Case, Control, Counterpart, Known
from seamripper.cut.split import Split, as_model, split
from seamripper.errors import AuditError, CutError, InapplicableError, SeamripperError
from seamripper.models import Model, load
from seamripper.models.running import derive_seed, use_seed
from seamripper.models.spec import Spec


@dataclass(frozen=True)
class RandomSender(Control):
    """The sender with every parameter and buffer drawn anew: it has learnt nothing (Bansal 2021; Smith 2025, G).

    What it does is what the stitch, the receiver and an untrained network's sight of the input can do together: on
    Correlated digits it brought Smith's Digit receiver from 97.8 % to 99. `seeds` is how many are drawn; None means one
    for each of the case's seeds. With n of them no p-value is below 1 / (n + 1).

    >>> RandomSender(seeds=5).seeds_from((0, 4))
    (0, 4, 1, 2, 3)
    """

    name: ClassVar[str] = "random_sender"
    about: ClassVar[str] = "the sender with every parameter and buffer drawn anew: it has learnt nothing"
    known: ClassVar[Known] = "nothing"
    draws: ClassVar[bool] = True

    seeds: int | None = None

    def __post_init__(self) -> None:
        require_options(self, f"the control {self.name!r}", error=AuditError, seeds=1)

    def seeds_from(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """The seeds to draw from: the given ones, then the least that are not among them."""
        more = (seed for seed in itertools.count() if seed not in given)
        return tuple(itertools.islice(itertools.chain(given, more), len(given) if self.seeds is None else self.seeds))

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """An untrained sender for each seed."""
        if not (case.looks and tensors_of(case.sender.model.module)):
            raise InapplicableError(
                f"The sender ({case.sender.model.source}) is no network, so there is nothing in it to draw anew."
            )
        for seed in self.seeds_from(case.seeds):
            sender, label = _untrained(case.sender, seed)
            yield Counterpart(label, seed, sender, case.fit, case.test)


def _untrained(sender: Split, seed: int) -> tuple[Split, str]:
    """The sender drawn anew and cut where it was, and what to call it."""
    model = sender.model
    module, left = reinitialise(model, seed)
    recipe = model.rebuild()
    record = {} if recipe is None else {"architecture": recipe}
    source = f"untrained {model.source} of seed {seed}"
    try:
        new = split(
            Model(module, source, model.input, model.classes, record, model.wants),
            sender.cut.name,
            sender.example,
            way=sender.way,
        )
    except CutError as e:
        raise InapplicableError(f"The sender, drawn anew, could not be cut where it was. {e}") from e
    return new, "untrained sender" + (f", with its own {', '.join(left)}" if left else "")


_PACKAGES = ("zoo", "timm", "torchvision")
"""Where an architecture can be built from by its name alone, without running code of the user's a second time."""
_UNTRAINED = 7
"""Set apart from the seeds that networks are trained from: a random sender must not be the sender's own beginning."""


def reinitialise(model: nn.Module | Model, seed: int) -> tuple[nn.Module, tuple[str, ...]]:
    """A new network like `model`, drawn from `seed`, and the names of what could not be drawn anew.

    One that a package can build is built again. Otherwise a copy has the `reset_parameters` of all its parts called,
    and what none of them reaches is redrawn from a normal distribution with its own mean and standard deviation; what
    has no negative value (a variance) gets none. Integers (indices, masks) and lone constants stay, and are named.

    A sender of which a part is still trained is no control: the code in circulation for Bansal et al. 2021 resets the
    first convolution and the classifier alone.

    >>> trained = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    >>> _ = trained[1].running_mean.fill_(5.0), trained.register_buffer("order", torch.tensor([1, 0]))
    >>> new, left = reinitialise(trained, 0)
    >>> new[1].running_mean, torch.equal(new[0].weight, trained[0].weight), left
    (tensor([0., 0.]), False, ('order',))
    """
    known = as_model(model)
    drawn = derive_seed(seed, _UNTRAINED)
    built = _rebuild(known, drawn)
    if built is not None:
        return built, ()
    twin = copy.deepcopy(known.module)
    with use_seed(drawn), torch.no_grad():
        left = _reset(twin)
    return twin.eval().requires_grad_(False), left


def _rebuild(model: Model, seed: int) -> nn.Module | None:
    """The architecture from its package, untrained; None where no package knows it, or it is not what it says."""
    recipe = model.rebuild()
    if recipe is None:
        return None
    try:
        spec = Spec.parse(recipe)
        if spec.scheme not in _PACKAGES or spec.architecture is None:
            return None
        built = load(f"{spec.architecture}{'&' if spec.options else '?'}seed={seed}").module
    except SeamripperError:
        return None
    wanted, got = tensors_of(model.module), tensors_of(built)
    # The user may have changed the network since it was built; then the package's is another.
    if {name: t.shape for name, t in wanted.items()} != {name: t.shape for name, t in got.items()}:
        return None
    for name, tensor in got.items():
        tensor.data = tensor.data.to(wanted[name])
    return built.eval().requires_grad_(False)


def _reset(module: nn.Module) -> tuple[str, ...]:
    """Call every part's own reset, children before parents; redraw what none has reached, and name what is left."""
    before = {name: (t, t._version, t.clone()) for name, t in tensors_of(module).items()}
    for part in reversed(list(module.modules())):
        for reset in _resets(part):
            reset()
    return tuple(name for name, tensor in _unreached(module, before).items() if not _redraw(tensor))


def _resets(part: nn.Module) -> list[Callable[[], object]]:
    """The methods by which a module sets its own parameters anew (some of torch's own have an underscore)."""
    methods = [getattr(part, name, None) for name in ("reset_parameters", "_reset_parameters")]
    return [method for method in methods if callable(method) and _needs_nothing(method)]


def _needs_nothing(method: Callable[..., object]) -> bool:
    needed = [
        p
        for p in inspect.signature(method).parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return not needed


def _unreached(module: nn.Module, before: Mapping[str, tuple[Tensor, int, Tensor]]) -> dict[str, Tensor]:
    """The tensors that no reset has touched: the same object, not written to, with the values that it had.

    Values alone would not tell: a bias that was zero is reset to zero.
    """
    unreached = {}
    for name, tensor in tensors_of(module).items():
        was, version, values = before.get(name, (None, 0, tensor))
        if tensor is was and tensor._version == version and torch.equal(tensor, values):
            unreached[name] = tensor
    return unreached


def _redraw(tensor: Tensor) -> bool:
    """Put numbers of the same mean and spread in the tensor's place; False for integers and constants."""
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.numel() < 2:
        return False
    spread = tensor.std(correction=0)
    if not bool(spread > 0):
        return False
    drawn = tensor.mean() + spread * torch.randn_like(tensor)
    if tensor.is_floating_point() and bool((tensor >= 0).all()):
        drawn = drawn.abs()
    tensor.copy_(drawn)
    return True
