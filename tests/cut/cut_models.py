"""The models of the list, each with an example and fresh batches of any size; and the planted ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from seamripper.data.samples import Inputs
from seamripper.models import load
from seamripper.models.libraries import import_timm, import_torchvision
from seamripper.models.running import answer_of

IMAGES = {
    "resnet18": ("torchvision:resnet18", (3, 48, 48)),
    "resnet50": ("torchvision:resnet50", (3, 32, 32)),
    "mobilenet_v2": ("torchvision:mobilenet_v2", (3, 32, 32)),
    "efficientnet_b0": ("torchvision:efficientnet_b0", (3, 32, 32)),
    "vit_tiny": ("timm:vit_tiny_patch16_224?img_size=64", (3, 64, 64)),
    "convnext_tiny": ("torchvision:convnext_tiny", (3, 32, 32)),
    "timm_efficientnet": ("timm:efficientnet_b0", (3, 32, 32)),
    "lenet": ("zoo:lenet", None),
    "autoencoder": ("zoo:autoencoder", None),
    "narrow_resnet": ("zoo:R_1111?width=0.125", (3, 32, 32)),
    "short_vit": ("timm:vit_tiny_patch16_224?img_size=32&depth=2", (3, 32, 32)),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A user's model, the example it is cut with, and batches that are not the example."""

    module: nn.Module
    example: Inputs
    batch: Callable[[int], Inputs]

    def answer(self, inputs: Inputs) -> Tensor:
        with torch.no_grad():
            return answer_of(self.module, inputs)


@functools.cache
def case(name: str) -> Case:
    """Never changed by a test: what is cut is a copy."""
    if name in IMAGES:
        spec, shape = IMAGES[name]
        model = load(spec, input=shape)
        assert model.input is not None
        return images(model.module, model.input)
    return {"vgg19": _vgg19, "bert": _bert, "minilm": _minilm, "swin": _swin, **PLANTED}[name]()


def images(module: nn.Module, shape: tuple[int, ...]) -> Case:
    return Case(lived_in(module).eval(), noise(2, shape, seed=0), lambda n: noise(n, shape, seed=100 + n))


def noise(n: int, shape: tuple[int, ...], *, seed: int) -> Tensor:
    return torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed))


def lived_in(module: nn.Module) -> nn.Module:
    """With statistics and scales as after training: new ones are 0 and 1, and would hide what is done to them."""
    generator = torch.Generator().manual_seed(1)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            assert part.running_mean is not None
            assert part.running_var is not None
            part.running_mean.uniform_(-0.2, 0.2, generator=generator)
            part.running_var.uniform_(0.5, 2.0, generator=generator)
        scale = getattr(part, "layer_scale", None)
        if isinstance(scale, Tensor):
            scale.data.fill_(0.5)
    return module


def _vgg19() -> Case:
    """torchvision's, with 32 units where it has 4096, which are 120 of its 143 million parameters."""
    vgg = import_torchvision().models.vgg
    with torch.random.fork_rng():
        torch.manual_seed(5)
        with torch.device("meta"):
            module = vgg.VGG(nn.Sequential())
        module.features = vgg.make_layers(vgg.cfgs["E"])
        linear = [nn.Linear(512 * 7 * 7, 32), nn.Linear(32, 32), nn.Linear(32, 10)]
        drawn = [linear.pop(0) if isinstance(layer, nn.Linear) else layer for layer in module.classifier]
        module.classifier = nn.Sequential(*drawn)
    return images(module, (3, 32, 32))


def _transformers() -> Any:
    import_torchvision()  # Repaired first: transformers imports it too.
    import transformers

    return transformers


def _bert() -> Case:
    transformers = _transformers()
    with torch.random.fork_rng():
        torch.manual_seed(5)
        config = transformers.BertConfig(
            vocab_size=50,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            num_labels=3,
        )
        module = transformers.BertForSequenceClassification(config)
    return Case(module.eval(), tokens(2, 8, padded=False), lambda n: tokens(n, 5 + n, padded=True))


def _minilm() -> Case:
    """MiniLM-L6 in its own sizes, its vocabulary aside."""
    transformers = _transformers()
    with torch.random.fork_rng():
        torch.manual_seed(5)
        config = transformers.BertConfig(
            vocab_size=50, hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536
        )
        module = transformers.BertModel(config, add_pooling_layer=False)
    return Case(module.eval(), tokens(2, 8, padded=False), lambda n: tokens(n, 5 + n, padded=True))


def tokens(n: int, length: int, *, padded: bool) -> dict[str, Tensor]:
    """Token ids and what goes with them; `padded` batches have masks and types that an example has not."""
    generator = torch.Generator().manual_seed(n)
    ids = torch.randint(50, (n, length), generator=generator)
    mask, types = torch.ones_like(ids), torch.zeros_like(ids)
    if padded:
        mask[:, 3:] = (torch.arange(3, length) < 3 + torch.arange(n)[:, None]).long()
        types[:, 2:] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def _swin() -> Case:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        module = import_timm().create_model(
            "swin_tiny_patch4_window7_224", img_size=56, embed_dim=24, depths=(2, 1), num_heads=(2, 4), num_classes=5
        )
    return images(module, (3, 56, 56))


class Parts(nn.Module):
    """Linear layers a, b, c and d of width 4, and a head of three classes, for a planted forward to wire."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(3)
            self.a, self.b, self.c, self.d = (nn.Linear(4, 4) for _ in range(4))
            self.head = nn.Linear(4, 3)


class ChoosesInFront(Parts):
    """The samples decide which of two layers is used, before `c`."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x) if x.sum() > 0 else self.b(x).tanh()
        return self.head(self.d(self.c(h).relu()))


class LoopsInFront(Parts):
    """How often `b` is called depends on what it returns."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.a(x)
        while h.norm() > 1:
            h = self.b(h) / 4
        return self.head(self.d(self.c(h).relu()))


class ChoosesInBack(Parts):
    """What comes out of `b` decides between `c` and `d`."""

    def forward(self, x: Tensor) -> Tensor:
        h = self.b(self.a(x).tanh())
        return self.head(self.c(h) if (h - self.b.bias).sum() > 0 else self.d(h).relu())


class ChoosesInside(nn.Module):
    """Control flow in parts that contain no cut: one before it, one after it."""

    def __init__(self) -> None:
        super().__init__()
        self.front, self.middle, self.back = ChoosesInFront(), nn.Linear(3, 4), ChoosesInBack()

    def forward(self, x: Tensor) -> Tensor:
        return self.back(self.middle(self.front(x)))


def signed(n: int) -> Tensor:
    """Batches of either sign in turn, so that both ways of a choice are taken."""
    return 3 * noise(n, (4,), seed=n).abs() * (1 if n % 2 else -1)


def planted(module: nn.Module) -> Case:
    """An example with samples of either sign: the two batches that a split is verified on go two ways."""
    return Case(module.eval(), torch.stack([-3 * signed(1)[0], 2 * signed(1)[0]]), signed)


PLANTED = {
    "ChoosesInFront": lambda: planted(ChoosesInFront()),
    "LoopsInFront": lambda: planted(LoopsInFront()),
    "ChoosesInBack": lambda: planted(ChoosesInBack()),
    "ChoosesInside": lambda: planted(ChoosesInside()),
}
