"""A network of the same architecture that has learnt nothing: every parameter and every buffer as if never trained."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from seamripper._fingerprint import tensors_of
from seamripper.cut.split import as_model
from seamripper.errors import SeamripperError
from seamripper.models import Model, load
from seamripper.models._seeded import derived, seeded
from seamripper.models._spec import Spec

_PACKAGES = ("zoo", "timm", "torchvision")
"""Where an architecture can be built from by its name alone, without running code of the user's a second time."""
_UNTRAINED = 7
"""Set apart from the seeds that networks are trained from: a random sender must not be the sender's own beginning."""


def reinitialised(model: nn.Module | Model, seed: int) -> tuple[nn.Module, tuple[str, ...]]:
    """A new network like `model`, drawn from `seed`, and the names of what could not be drawn anew.

    One that a package can build is built again. Otherwise a copy has the `reset_parameters` of all its parts called,
    and what none of them reaches is redrawn from a normal distribution with its own mean and standard deviation; what
    has no negative value (a variance) gets none. Integers (indices, masks) and lone constants stay, and are named.

    A sender of which a part is still trained is no control: the code in circulation for Bansal et al. 2021 resets the
    first convolution and the classifier alone.

    >>> trained = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    >>> _ = trained[1].running_mean.fill_(5.0), trained.register_buffer("order", torch.tensor([1, 0]))
    >>> new, left = reinitialised(trained, 0)
    >>> new[1].running_mean, torch.equal(new[0].weight, trained[0].weight), left
    (tensor([0., 0.]), False, ('order',))
    """
    known = as_model(model)
    drawn = derived(seed, _UNTRAINED)
    built = _built_again(known, drawn)
    if built is not None:
        return built, ()
    twin = copy.deepcopy(known.module)
    with seeded(drawn), torch.no_grad():
        left = _reset(twin)
    return twin.eval().requires_grad_(False), left


def _built_again(model: Model, seed: int) -> nn.Module | None:
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
    return tuple(name for name, tensor in _unreached(module, before).items() if not _redrawn(tensor))


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
    found = {}
    for name, tensor in tensors_of(module).items():
        was, version, values = before.get(name, (None, 0, tensor))
        if tensor is was and tensor._version == version and torch.equal(tensor, values):
            found[name] = tensor
    return found


def _redrawn(tensor: Tensor) -> bool:
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
