"""The control `random_sender`: the sender's architecture, untrained."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seamripper._devices import leave, settle_like
from seamripper._fingerprint import tensors_of
from seamripper.controls.base import Case, Control, Counterpart
from seamripper.cut.split import Split, as_model, split
from seamripper.errors import CutError, InapplicableError, SeamripperError
from seamripper.models import Model, load
from seamripper.models.running import derive_seed, use_seed
from seamripper.models.source import recipe_of, source_of


@dataclass(frozen=True)
class RandomSender(Control):
    """The sender with every parameter and buffer drawn anew: it has learnt nothing (Bansal 2021; Smith 2025, G).

    It shows what the stitch, the receiver and an untrained network's view of the input can do together: on Correlated
    digits it brought Smith's Digit receiver from 97.8 % to 99. `seeds` is how many are drawn; None means one for each
    of the case's seeds. With n of them no p-value is below 1 / (n + 1).

    >>> RandomSender(seeds=5).seeds_from((0, 4))
    (0, 4, 1, 2, 3)
    """

    name = "random_sender"
    paper = "Bansal, Nakkiran, Barak 2021; Smith, Mannering, Marcu 2025, appendix G"
    formula = "tail(stitch(head₀(x))),  head₀ with random parameters"
    about = "the sender with every parameter and buffer drawn again at random: it has learnt nothing"
    known = "nothing"
    draws = True
    least = {"seeds": 1}

    seeds: int | None = None

    def seeds_from(self, given: tuple[int, ...]) -> tuple[int, ...]:
        """The seeds to draw from: the given ones, then the smallest that are not among them."""
        more = (seed for seed in itertools.count() if seed not in given)
        return tuple(itertools.islice(itertools.chain(given, more), len(given) if self.seeds is None else self.seeds))

    def stitches(self, case: Case) -> int:
        """One per seed that is drawn from."""
        return len(self.seeds_from(case.seeds))

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """An untrained sender for each seed."""
        if not (case.looks and tensors_of(case.sender.model.module)):
            raise InapplicableError(
                f"The sender ({case.sender.model.source}) is not a network, so it has no parameters to draw again."
            )
        for seed in self.seeds_from(case.seeds):
            sender, label = _draw_anew(case.sender, seed)
            yield Counterpart(label, seed, sender, case.fit, case.test)


def _draw_anew(sender: Split, seed: int) -> tuple[Split, str]:
    """The sender drawn anew and cut where it was, and its label."""
    model = sender.model
    module, left = reinitialise(model, seed)
    recipe = recipe_of(model)
    record = {} if recipe is None else {"architecture": recipe}
    source = f"untrained {model.source} of seed {seed}"
    untrained = Model(module, source, model.input, model.classes, record, model.wants)
    try:
        new = split(untrained, sender.cut.name, sender.example, way=sender.way)
    except CutError as e:
        raise InapplicableError(f"With newly drawn weights, the sender could not be cut at the same place. {e}") from e
    return new, "untrained sender" + (f", with its own {', '.join(left)}" if left else "")


_UNTRAINED = 7
"""Keeps these seeds apart from those of training: a random sender must not be the sender's own initialisation."""


def reinitialise(model: nn.Module | Model, seed: int) -> tuple[nn.Module, tuple[str, ...]]:
    """A new network like `model`, drawn from `seed`, and the names of the tensors that could not be drawn anew.

    If a package can build the network, it is built again. Otherwise `reset_parameters` is called on every module of a
    copy, and tensors that no reset has reached are drawn from a normal distribution with their own mean and standard
    deviation; a tensor without negative values (a variance) gets none. Integers (indices, masks) and single constants
    stay, and are named.

    A sender that is still trained in part is not a control: the code in circulation for Bansal et al. 2021 resets only
    the first convolution and the classifier.

    >>> trained = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    >>> _ = trained[1].running_mean.fill_(5.0), trained.register_buffer("order", torch.tensor([1, 0]))
    >>> new, left = reinitialise(trained, 0)
    >>> new[1].running_mean, torch.equal(new[0].weight, trained[0].weight), left
    (tensor([0., 0.]), False, ('order',))
    """
    trained, own_seed = as_model(model), derive_seed(seed, _UNTRAINED)
    built = _rebuild(trained, own_seed)
    if built is not None:
        return built, ()
    leave(trained.module)
    twin = copy.deepcopy(trained.module)
    with use_seed(own_seed), torch.no_grad():
        left = _reset(twin)
    return twin.eval().requires_grad_(False), left


def _rebuild(model: Model, seed: int) -> nn.Module | None:
    """The architecture from its package, untrained; None if no package builds it, or builds something else."""
    recipe = recipe_of(model)
    if recipe is None:
        return None
    try:
        source = source_of(recipe)
        # By a package: code of the user's is not run a second time.
        if not source.buildable or source.architecture is None:
            return None
        built = load(f"{source.architecture}{'&' if '?' in source.architecture else '?'}seed={seed}").module
    except SeamripperError:
        return None
    old, new = tensors_of(model.module), tensors_of(built)
    # The user may have changed the network since it was built; then the package's is another.
    if {name: t.shape for name, t in old.items()} != {name: t.shape for name, t in new.items()}:
        return None
    for name, tensor in new.items():
        tensor.data = tensor.data.to(old[name].dtype)
    return settle_like(built, model.module).eval().requires_grad_(False)


def _reset(module: nn.Module) -> tuple[str, ...]:
    """Reset every module, children before parents; redraw tensors that no reset has reached; name the rest."""
    before = {name: (t, t._version, t.clone()) for name, t in tensors_of(module).items()}
    for part in reversed(list(module.modules())):
        # Some of torch's own modules have it with an underscore.
        for name in ("reset_parameters", "_reset_parameters"):
            method = getattr(part, name, None)
            if callable(method) and _needs_no_argument(method):
                method()
    left = []
    for name, tensor in tensors_of(module).items():
        old, version, values = before.get(name, (None, 0, tensor))
        # Equal values alone would not show that no reset came by: a bias that was zero is reset to zero.
        untouched = tensor is old and tensor._version == version and torch.equal(tensor, values)
        if untouched and not _redraw(tensor):
            left.append(name)
    return tuple(left)


def _needs_no_argument(method: Callable[..., object]) -> bool:
    parameters = inspect.signature(method).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _redraw(tensor: Tensor) -> bool:
    """Fill the tensor with random numbers of its mean and spread; False for integers and constants."""
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
