"""Weights in and out of files: read without running anything, fitted key by key, checked to be finite."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seamripper._files import read_header, read_record
from seamripper._words import shape_text
from seamripper.errors import CheckpointError, FileError, ModelError

_PICKLED = (".pt", ".pth", ".bin")
_WRAPPERS = ("state_dict", "model_state_dict", "model")
_SHOWN = 3
_WHOLE = (torch.int16, torch.int32, torch.int64)
"""Not int8 and uint8: libraries that quantise keep packed weights in these, and unpack them as they compute."""
_SAVE = "Where it was made, save only the weights: torch.save(model.state_dict(), FILE)."


def read_weights(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The state dict in a .safetensors, .pt or .pth file. A pickle that holds anything else is not opened."""
    path = Path(path)
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    if path.suffix in _PICKLED:
        return _read_pickled(path)
    raise CheckpointError(
        f"Expected weights in a file that ends in .safetensors, {', '.join(_PICKLED)}, but got {path}."
    )


def load_weights(module: nn.Module, weights: Mapping[str, Tensor], *, origin: str) -> None:
    """Put `weights` into `module`, every key and every shape, or change nothing and say what does not fit."""
    wanted = module.state_dict()
    given = _without_prefix(weights, wanted)
    tied = {wanted[k].data_ptr() for k in given if k in wanted}
    missing = [k for k in wanted if k not in given and not _may_lack(k, wanted[k], tied)]
    extra = [k for k in given if k not in wanted]
    misshapen = [
        f"{k} (expected {_size(wanted[k])}, got {_size(given[k])})"
        for k in wanted
        if k in given and wanted[k].shape != given[k].shape
    ]
    whole = [f"{k} ({given[k].dtype})" for k in wanted if k in given and _is_number_lost(wanted[k], given[k])]
    problems = [
        f"{len(keys)} {what}: {_first(keys)}"
        for what, keys in (
            ("missing", missing),
            ("extra", extra),
            ("of another shape", misshapen),
            ("not of floating point", whole),
        )
        if keys
    ]
    if problems:
        raise CheckpointError(
            f"The weights in {origin} do not fit {type(module).__name__}, which has {len(wanted)} tensors. "
            f"{'; '.join(problems)}. Give the options (width, classes, …) that the weights were made with."
        )
    # A plain dict has no version, so batch norms of old files may lack num_batches_tracked.
    module.load_state_dict(dict(given), strict=False)


def check_finite(module: nn.Module, *, origin: str) -> None:
    """Refuse a model with NaN or Inf in it, or with weights that are whole numbers, by the first such tensor's name."""
    for name, weight in module.named_parameters():
        if weight.dtype in _WHOLE:
            raise ModelError(
                f"{origin}: the weight {name} holds whole numbers ({weight.dtype}), and networks compute with floating "
                "point. Export the model with its weights as they were trained."
            )
    for name, tensor in module.state_dict().items():
        if not isinstance(tensor, Tensor):
            # Quantised layers keep their packed weights and the name of their type there.
            continue
        if nn.parameter.is_lazy(tensor):
            raise ModelError(
                f"{origin}: {name} has no shape yet, as it is lazy. Run the module once on an input first."
            )
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            bad = int((~torch.isfinite(tensor)).sum())
            raise ModelError(
                f"{origin}: {name} holds NaN or Inf in {bad} of its {tensor.numel()} values, so no "
                "comparison with it means anything. Train or export the model again."
            )


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    read_header(path)
    kind, _ = read_record(path)
    if kind not in (None, "model"):
        raise CheckpointError(f"Expected {path} to hold the weights of a model, but it holds a {kind}.")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as e:
        raise CheckpointError(f"{path} could not be read: {e}. Copy it again.") from e


def _read_pickled(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise FileError(f"There is no file {path}.")
    try:
        with warnings.catch_warnings():
            # A TorchScript archive is refused by the error below; its warning would say the same twice.
            warnings.simplefilter("ignore")
            loaded: Any = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as e:
        raise CheckpointError(
            f"{path} is a pickle that holds more than weights. It was not opened, because opening such a "
            f"file can run code. {_SAVE}"
        ) from e
    except Exception as e:
        first = (str(e).splitlines() or [""])[0]
        raise CheckpointError(f"{path} holds no weights that can be read ({type(e).__name__}: {first}). {_SAVE}") from e
    return _state_dict_in(loaded, path)


def _state_dict_in(loaded: object, path: Path) -> dict[str, Tensor]:
    """The state dict itself, or the one that a training script wrapped together with epoch and optimiser."""
    inner = loaded
    if isinstance(loaded, Mapping):
        inner = next((loaded[k] for k in _WRAPPERS if isinstance(loaded.get(k), Mapping)), loaded)
    if isinstance(inner, Mapping) and inner and all(isinstance(v, Tensor) for v in inner.values()):
        return {str(k): v for k, v in inner.items()}
    held = f"a {type(loaded).__name__}"
    if isinstance(loaded, Mapping):
        held += f" with the keys {_first([str(k) for k in loaded])}" if loaded else " with nothing in it"
    raise CheckpointError(f"Expected {path} to hold a state dict (names and tensors), but it holds {held}.")


def _without_prefix(weights: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights without the `module.` that DataParallel puts before every name."""
    prefix = "module."
    if weights and all(k.startswith(prefix) for k in weights) and not any(k.startswith(prefix) for k in wanted):
        return {k.removeprefix(prefix): v for k, v in weights.items()}
    return dict(weights)


def _may_lack(key: str, tensor: Tensor, tied: set[int]) -> bool:
    """Whether a file may leave this out: a counter that old PyTorch lacked, or a weight tied to one given."""
    return key.endswith("num_batches_tracked") or (tensor.numel() > 0 and tensor.data_ptr() in tied)


def _is_number_lost(wanted: Tensor, given: Tensor) -> bool:
    """Whether a weight comes as whole or complex numbers: copied into the network, it would run, and mean nothing."""
    return wanted.is_floating_point() and not given.is_floating_point()


def _size(tensor: Tensor) -> str:
    return shape_text(tensor.shape) or "one number"


def _first(keys: Iterable[str]) -> str:
    listed = list(keys)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
