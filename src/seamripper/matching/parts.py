"""Losses behind a frozen tail, a part of the batch at a time: what a tail computes on its way then stays small.

Memory that is larger than an allocator keeps is given back and taken anew at each step, and caches do not hold it. On
two cores, half of the time of a step through EfficientNet-Lite0 went into that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._devices import move
from seamripper.cut.fast import TOLERANCE, gap
from seamripper.cut.halves import Context, Tail

_VALUES = 1 << 21
"""The largest tensor on the way through a tail has about so many values at most."""
_FEWEST = 16
"""Fewer samples at a time make a tail slower again."""
_FEW = 4
Run = Callable[[Tensor, int], Tensor]
"""(rows, the number of the first of them) → what they add to the loss of each stitch."""


def part_of(tail: Tail, rows: Tensor, context: Context) -> int:
    """How many of the rows to put through the tail at a time; all of them if it looks at them together (their mean)."""
    first, second = (slice(0, _FEW), slice(_FEW, 2 * _FEW))
    both = slice(0, 2 * _FEW)
    n = len(rows)
    if n <= _FEWEST:
        return n
    with torch.no_grad():

        def answers(part: slice) -> Tensor:
            answer: Tensor = tail(rows[part], {name: value[part] for name, value in context.items()} or None)
            return answer

        widest = _widest(tail, lambda: answers(first)) // _FEW
        size = max(_FEWEST, _VALUES // max(1, widest))
        if size >= n:
            return n
        alone = torch.cat([answers(first), answers(second)])
        return size if gap(answers(both), alone) <= TOLERANCE else n


def _widest(tail: nn.Module, run: Callable[[], Tensor]) -> int:
    """The number of values in the largest tensor that a module of the tail gives, or that it answers."""
    sizes: list[int] = []

    def note(_: nn.Module, __: Any, given: Any) -> None:
        sizes.append(given.numel() if isinstance(given, Tensor) else 0)

    hooks = [part.register_forward_hook(note) for part in tail.modules()]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return max(sizes, default=0)


def losses_in_parts(rows: Tensor, run: Run, size: int) -> Tensor:
    """The sum of what `run` gives for all rows, `size` of them at a time; each has its gradient before the next is run.

    A row may add to one loss alone, that of its stitch: rows of equally many stitches, one after the other.

    >>> rows = torch.tensor([[1.0], [2.0], [3.0], [4.0]], requires_grad=True)
    >>> mean = lambda part, _: part.square().sum()[None] / 4
    >>> loss = losses_in_parts(rows, mean, 3)
    >>> loss.sum().backward(); loss.tolist(), rows.grad.flatten().tolist()
    ([7.5], [0.5, 1.0, 1.5, 2.0])
    """
    losses: Tensor = _InParts.apply(rows, run, size)  # type: ignore[no-untyped-call]
    return losses


class _InParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, run: Run, size: int) -> Tensor:
        total, gradients = torch.zeros(()), []
        with torch.set_grad_enabled(ctx.needs_input_grad[0]):
            for start in range(0, len(rows), size):
                part = rows[start : start + size].detach().requires_grad_(torch.is_grad_enabled())
                losses = run(part, start)
                total = move(total, losses.device) + losses.detach()
                if torch.is_grad_enabled():
                    gradients.append(_gradient(losses, part))
        ctx.save_for_backward(torch.cat(gradients) if gradients else None)
        return total

    @staticmethod
    def backward(ctx: Any, given: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        each = given.repeat_interleave(len(gradient) // len(given))
        return gradient * each.reshape(-1, *[1] * (gradient.dim() - 1)).to(gradient), None, None


def _gradient(losses: Tensor, part: Tensor) -> Tensor:
    """The gradient at the rows; zeros where the tail lets none through."""
    if not losses.requires_grad:
        return torch.zeros_like(part)
    (gradient,) = torch.autograd.grad(losses.sum(), part, allow_unused=True)
    return torch.zeros_like(part) if gradient is None else gradient
