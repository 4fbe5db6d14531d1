"""Layouts: convolutions channels last inside the block, and as they were after it, whatever happens in it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seamripper.models import Architecture
from seamripper.models.running import layout_of, use_layout, use_seed

WIDE = Architecture.parse("resnet18?width=0.25").build(0).eval()
NARROW = Architecture.parse("resnet18?width=0.125").build(0).eval()
"""Its first strided 1×1 convolution has 8 channels."""


def drawn(*shape: int) -> Tensor:
    """Images of a generator of their own."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0))


def last(module: nn.Module) -> list[bool]:
    """For each convolution of more than one position, whether its weights lie channels last."""
    found = [m.weight for m in module.modules() if isinstance(m, nn.Conv2d) and m.kernel_size != (1, 1)]
    return [weight.is_contiguous(memory_format=torch.channels_last) for weight in found]


class Viewing(nn.Module):
    """A model that takes a map to lie in memory channel by channel."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = nn.Conv2d(3, 4, 3, padding=1), nn.Linear(4 * 8 * 8, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Answers."""
        found: Tensor = self.out(self.conv(x).view(len(x), -1))
        return found


def test_convolutions_are_channels_last_inside_and_as_they_were_after() -> None:
    images = drawn(4, 3, 28, 28)
    with torch.no_grad():
        plain = WIDE(images)
        with use_layout(WIDE):
            assert all(last(WIDE))
            inside = WIDE(images)
        assert not any(last(WIDE))
        assert torch.equal(WIDE(images), plain), "to the bit, as before"
    torch.testing.assert_close(inside, plain, rtol=1e-4, atol=1e-5)


def test_they_are_put_back_after_an_error() -> None:
    with pytest.raises(KeyError), use_layout(WIDE):
        raise KeyError
    assert not any(last(WIDE))


def test_one_narrow_network_keeps_the_other_as_it_is() -> None:
    """Activations keep the layout in which they come: a wide sender would bring them channels last to the receiver."""
    assert layout_of(WIDE) == torch.channels_last
    assert layout_of(WIDE, NARROW) == layout_of(NARROW) == torch.contiguous_format
    with use_layout(WIDE, NARROW):
        assert not any(last(WIDE))


def test_a_model_that_came_channels_last_leaves_so() -> None:
    with use_seed(0):
        model = nn.Sequential(nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with use_layout(model):
        assert all(last(model))
    assert all(last(model))


def test_a_model_that_cannot_run_so_is_left_alone() -> None:
    with use_seed(0):
        model = Viewing()
    shown = drawn(2, 3, 8, 8)
    with use_layout(model, trial=lambda: model(shown)):
        assert not any(last(model))
        assert model(shown).shape == (2, 2)
    with pytest.raises(RuntimeError, match="view"), use_layout(model):
        model(shown)
