"""An identity stitch between a model and itself is the model, bit for bit, for every model of the list."""

from __future__ import annotations

import pytest
import torch
from cut_models import case
from torch import Tensor

from seamripper.cut import cuts, split
from seamripper.data.samples import Samples
from seamripper.matching import Task, match

LIST = [
    "resnet18", "resnet50", "vgg19", "mobilenet_v2", "efficientnet_b0", "vit_tiny", "convnext_tiny", "bert", "lenet",
    "autoencoder", "ChoosesInBack",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LIST)
def test_an_identity_stitch_is_the_model(name: str) -> None:
    known = case(name)
    batch = known.batch(3)
    fit = Samples("toy", batch, torch.zeros(3, dtype=torch.long), torch.arange(3), classes=1)
    legal = [cut.name for cut in cuts(known.module, known.example)]
    # Where the path behind the cut depends on the data, its only place that every input passes is named.
    chosen = ["b"] if name == "ChoosesInBack" else [legal[len(legal) // 3], legal[2 * len(legal) // 3]]
    for cut in chosen:
        halves = split(known.module, cut, known.example)
        stitched = match(halves, halves, fit, stitch="identity", matching=Task())
        assert stitched.status.startswith("nothing to find")
        for n in (1, 4):
            other = known.batch(n)
            answer = stitched(other)
            assert isinstance(answer, Tensor)
            assert torch.equal(answer, known.answer(other)), (cut, n)
