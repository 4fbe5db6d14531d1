"""Models: loading them, the zoo, and training one of it."""

from __future__ import annotations

from seamripper.models.architecture import Architecture
from seamripper.models.checkpoint import save_checkpoint
from seamripper.models.contract import InputContract, UnknownInputsWarning
from seamripper.models.load import load
from seamripper.models.model import Model
from seamripper.models.train import predict, train, training_for
from seamripper.models.training import Training

__all__ = [
    "Architecture",
    "InputContract",
    "Model",
    "Training",
    "UnknownInputsWarning",
    "load",
    "predict",
    "save_checkpoint",
    "train",
    "training_for",
]
