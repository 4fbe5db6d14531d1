"""The zoo: architectures of our own, which need neither torchvision nor timm but carry their layer names."""

from __future__ import annotations

from seamripper.models.zoo.base import Architecture, architectures

__all__ = ["Architecture", "architectures"]
