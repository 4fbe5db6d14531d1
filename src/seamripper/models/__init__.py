"""Models: loading them, the zoo, and training one of it."""

from __future__ import annotations

from seamripper._progress import Progress
from seamripper.models.checkpoint import save_checkpoint
from seamripper.models.contract import InputContract, UnknownInputsWarning
from seamripper.models.libraries import TorchvisionRepairWarning, import_torchvision
from seamripper.models.load import load
from seamripper.models.model import Model
from seamripper.models.running import answer_of, derive_seed, use_layout, use_seed, versions
from seamripper.models.source import ModelSource, OpenSource, recipe_of, source_of, sources
from seamripper.models.train import predict, require_for_networks, train, training_for
from seamripper.models.training import Training, all_finite, shuffled_batches
from seamripper.models.weights import load_weights
from seamripper.models.zoo import Architecture, architectures

__all__ = [
    "Architecture",
    "InputContract",
    "Model",
    "ModelSource",
    "OpenSource",
    "Progress",
    "TorchvisionRepairWarning",
    "Training",
    "UnknownInputsWarning",
    "all_finite",
    "answer_of",
    "architectures",
    "derive_seed",
    "import_torchvision",
    "load",
    "load_weights",
    "predict",
    "recipe_of",
    "require_for_networks",
    "save_checkpoint",
    "shuffled_batches",
    "source_of",
    "sources",
    "train",
    "training_for",
    "use_layout",
    "use_seed",
    "versions",
]
