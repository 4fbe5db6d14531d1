"""The zoo: architectures of our own, which need neither torchvision nor timm but carry their layer names."""

from __future__ import annotations

from seamripper.models.zoo import autoencoder, efficientnet_lite, lenet, mobilenet, resnet, vgg, vit
from seamripper.models.zoo.family import Family, Option, Value

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        *resnet.FAMILIES,
        *vgg.FAMILIES,
        *mobilenet.FAMILIES,
        *efficientnet_lite.FAMILIES,
        *lenet.FAMILIES,
        *vit.FAMILIES,
        *autoencoder.FAMILIES,
    )
}

__all__ = ["FAMILIES", "Family", "Option", "Value"]
