"""Operations that keep what is not finite, for traced networks that are going to be fused.

Fused kernels compute max(x, 0) with an instruction that answers 0 for a NaN: a network that overflows, or divides by
zero, would show plain numbers at every cut behind. Here ReLU is written as a clamp to [0, ∞], which costs the same, and
a max pool gets zero times the average of the same windows. Both are the same numbers for finite inputs.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F

_RELU_CALLS = (torch.relu, torch.relu_, F.relu, F.relu_)
_POOL_CALLS = (F.max_pool2d, torch.max_pool2d)


class KeepingReLU(nn.Module):
    """max(x, 0), and NaN for NaN.

    >>> KeepingReLU()(torch.tensor([-1.0, 2.0, float("nan"), float("inf")]))
    tensor([0., 2., nan, inf])
    """

    def forward(self, values: Tensor) -> Tensor:
        """The values, none below 0."""
        return F.hardtanh(values, 0.0, math.inf)


class KeepingMaxPool(nn.Module):
    """The maximum of each window, and NaN where a window holds anything that is not finite.

    >>> KeepingMaxPool(nn.MaxPool2d(2))(torch.tensor([[[[1.0, 2.0, 3.0, float("nan")]] * 2]]))
    tensor([[[[2., nan]]]])
    """

    def __init__(self, pool: nn.MaxPool2d) -> None:
        super().__init__()
        self.pool = pool
        self.same = nn.AvgPool2d(pool.kernel_size, pool.stride, pool.padding, pool.ceil_mode)

    def forward(self, maps: Tensor) -> Tensor:
        """The pooled maps."""
        pooled: Tensor = self.pool(maps) + 0.0 * self.same(maps)
        return pooled


def keep_not_finite(graph: fx.GraphModule) -> int:
    """Put the operations that keep NaN in the places of those that do not; how many there were."""
    count = 0
    for node in list(graph.graph.nodes):
        made = _instead(graph, node)
        if made is None:
            continue
        name = f"_keeping_{count}"
        graph.add_submodule(name, made)
        with graph.graph.inserting_before(node):
            new = graph.graph.call_module(name, (node.args[0] if node.args else node.kwargs["input"],))
        node.replace_all_uses_with(new)
        graph.graph.erase_node(node)
        count += 1
    graph.recompile()
    return count


def _instead(graph: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    module = graph.get_submodule(str(node.target)) if node.op == "call_module" else None
    if (
        type(module) is nn.ReLU
        or (node.op == "call_function" and node.target in _RELU_CALLS)
        or (node.op == "call_method" and node.target in ("relu", "relu_"))
    ):
        return KeepingReLU()
    if type(module) is nn.MaxPool2d and _plain(module):
        return KeepingMaxPool(module)
    if node.op == "call_function" and node.target in _POOL_CALLS:
        given: dict[str, Any] = {k: v for k, v in node.kwargs.items() if k != "input"}
        pool = _pool_of(*node.args[1:], **given)
        return KeepingMaxPool(pool) if _plain(pool) else None
    return None


def _pool_of(
    kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: Any = False, **more: Any
) -> nn.MaxPool2d:
    return nn.MaxPool2d(kernel_size, stride or None, padding, dilation, more.get("return_indices", False), ceil_mode)


def _plain(pool: nn.MaxPool2d) -> bool:
    """Whether an average over the same windows can be had."""
    return pool.dilation in (1, (1, 1)) and not pool.return_indices
