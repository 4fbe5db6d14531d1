"""Fusing: a traced, frozen network computed the way that is fastest on this machine.

`fuse` is the whole interface; its caller holds the result to the plain network. It takes three steps: it folds
batch normalisation into the convolutions, writes ReLU and max pooling so that they keep NaN, and lets TorchScript
freeze and fuse the rest.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional as F
from torch.nn.utils.fusion import fuse_conv_bn_eval

from seamripper.cut.values import probes

_RELU_CALLS = (torch.relu, torch.relu_, F.relu, F.relu_)
_POOL_CALLS = (F.max_pool2d, torch.max_pool2d)


def fuse(graph: fx.GraphModule, example: Tensor) -> Callable[..., tuple[Tensor, ...]]:
    """The same function, faster; the graph is changed on the way."""
    fold_norms(graph)
    keep_not_finite(graph)
    with warnings.catch_warnings():
        # TorchScript is deprecated, and still the only one that fuses a frozen network within a second.
        warnings.simplefilter("ignore")
        script = torch.jit.trace(graph.eval(), probes(example)[0], check_trace=False)  # type: ignore[no-untyped-call]
        return torch.jit.optimize_for_inference(torch.jit.freeze(script.eval()))


def fold_norms(graph: fx.GraphModule) -> bool:
    """Fold every batch normalisation that follows a convolution directly; True if there was one."""
    modules = dict(graph.named_modules())
    uses: dict[str, int] = {}
    for node in graph.graph.nodes:
        if node.op == "call_module":
            uses[str(node.target)] = uses.get(str(node.target), 0) + 1
    folded = False
    for node in list(graph.graph.nodes):
        before = node.args[0] if node.args else None
        if node.op != "call_module" or not isinstance(before, fx.Node) or before.op != "call_module":
            continue
        conv, norm = modules[str(before.target)], modules[str(node.target)]
        alone = len(before.users) == 1 and uses[str(before.target)] == uses[str(node.target)] == 1
        if isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d) and norm.track_running_stats and alone:
            graph.set_submodule(str(before.target), fuse_conv_bn_eval(conv, norm))
            node.replace_all_uses_with(before)
            graph.graph.erase_node(node)
            folded = True
    graph.recompile()
    return folded


class NaNKeepingMaxPool(nn.Module):
    """The maximum of each window, and NaN where a window holds anything that is not finite.

    >>> NaNKeepingMaxPool(nn.MaxPool2d(2))(torch.tensor([[[[1.0, 2.0, 3.0, float("nan")]] * 2]]))
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
    """Put operations that keep NaN in the places of those that do not; how many there were.

    Fused kernels compute max(x, 0) with an instruction that answers 0 for a NaN: a network that overflows, or divides
    by zero, would show plain numbers at every cut behind. Here ReLU is a clamp to [0, ∞], which costs the same, and a
    max pool gets zero times the average of the same windows. Both are the same numbers for finite inputs.

    >>> graph = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> keep_not_finite(graph), graph(torch.tensor([-1.0, 2.0, float("nan"), float("inf")]))
    (1, tensor([0., 2., nan, inf]))
    """
    count = 0
    for node in list(graph.graph.nodes):
        substitute = _substitute(graph, node)
        if substitute is None:
            continue
        name = f"_keeping_{count}"
        graph.add_submodule(name, substitute)
        with graph.graph.inserting_before(node):
            new = graph.graph.call_module(name, (node.args[0] if node.args else node.kwargs["input"],))
        node.replace_all_uses_with(new)
        graph.graph.erase_node(node)
        count += 1
    graph.recompile()
    return count


def _substitute(graph: fx.GraphModule, node: fx.Node) -> nn.Module | None:
    module = graph.get_submodule(str(node.target)) if node.op == "call_module" else None
    if (
        type(module) is nn.ReLU
        or (node.op == "call_function" and node.target in _RELU_CALLS)
        or (node.op == "call_method" and node.target in ("relu", "relu_"))
    ):
        return nn.Hardtanh(0.0, math.inf)
    if type(module) is nn.MaxPool2d and _plain(module):
        return NaNKeepingMaxPool(module)
    if node.op == "call_function" and node.target in _POOL_CALLS:
        given: dict[str, Any] = {k: v for k, v in node.kwargs.items() if k != "input"}
        pool = _pool_of(*node.args[1:], **given)
        return NaNKeepingMaxPool(pool) if _plain(pool) else None
    return None


def _pool_of(
    kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: Any = False, **more: Any
) -> nn.MaxPool2d:
    return nn.MaxPool2d(kernel_size, stride or None, padding, dilation, more.get("return_indices", False), ceil_mode)


def _plain(pool: nn.MaxPool2d) -> bool:
    """Whether an average over the same windows can be had."""
    return pool.dilation in (1, (1, 1)) and not pool.return_indices
