"""`hf:FOLDER` or `hf:NAME`: models of Hugging Face's transformers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch import nn

from seamripper._words import did_you_mean, need
from seamripper.data.tokens import vocabulary_of
from seamripper.errors import CheckpointError, MissingExtraError, ModelError
from seamripper.models.contract import InputContract, nearest_interpolation
from seamripper.models.libraries import import_torchvision
from seamripper.models.model import Model
from seamripper.models.running import use_seed
from seamripper.models.source import ModelSource

_HEADS = {
    "sequence-classification": "AutoModelForSequenceClassification",
    "token-classification": "AutoModelForTokenClassification",
    "image-classification": "AutoModelForImageClassification",
    "masked-lm": "AutoModelForMaskedLM",
    "causal-lm": "AutoModelForCausalLM",
}
_RESAMPLING = {0: "nearest", 2: "bilinear", 3: "bicubic"}
"""Pillow's numbers for ways of resizing."""


@dataclass(frozen=True)
class HuggingFace(ModelSource):
    """A model of transformers in float32, its bare body or with the `head` asked for, never with a cache."""

    name, about = "hf", "a model of transformers, from a folder or by name; config.json has all but its head"
    head: str | None = None
    pretrained: bool = True

    @property
    def architecture(self) -> str | None:
        """The word of the same architecture, untrained: the one source whose models are trained unless told not to."""
        head = "" if self.head is None else f"head={self.head}&"
        return f"hf:{self.model}?{head}pretrained=0"

    def build(self) -> Model:
        """The model, and what its image processor or tokenizer says of its inputs."""
        # First of all: transformers imports torchvision where there is one, even for text, and it may need its repair.
        with contextlib.suppress(MissingExtraError):
            import_torchvision()
        transformers = need("transformers", extra="hf", what="A Hugging Face model")
        if self.head is not None and self.head not in _HEADS:
            raise ModelError(f"There is no head {self.head!r}: {did_you_mean(self.head, list(_HEADS))}")
        try:
            config: Any = transformers.AutoConfig.from_pretrained(self.model, trust_remote_code=False)
        except Exception as e:
            raise ModelError(
                f"Expected {self.model!r} to be a folder with a config.json, or the name of a model to fetch, "
                f"but transformers could not read it ({_first_line(e)})."
            ) from e
        if hasattr(config, "use_cache"):
            config.use_cache = False  # A cache is a second output that goes around a cut.
        module, new = self._module(transformers, config)
        # Files may hold half precision, which CPUs are slow at and figures suffer from.
        module.float()
        classes = int(config.num_labels) if self.head and self.head.endswith("classification") else None
        record = {"untrained": new} if new else {}
        shape = _image(config)
        wants = _tokenizer(self.model) if shape is None else _processor(transformers, self.model, shape)
        return Model(module, self.label, input=shape, classes=classes, record=record, wants=wants)

    def _module(self, transformers: ModuleType, config: Any) -> tuple[nn.Module, list[str]]:
        """The network, and the names of weights that its files lack, which are new and random."""
        try:
            # Seeded because a head that the files do not hold is new and random.
            with use_seed(self.seed), _quiet(transformers):
                auto = getattr(transformers, _HEADS[self.head] if self.head else "AutoModel")
                if not self.pretrained:
                    return auto.from_config(config, trust_remote_code=False), []
                # Never code from a folder: without the flag transformers would ask at the terminal.
                module, loading = auto.from_pretrained(
                    self.model, config=config, trust_remote_code=False, output_loading_info=True
                )
        except Exception as e:
            raise ModelError(f"transformers could not build {self.label!r}: {_first_line(e)}") from e
        new = sorted(loading["missing_keys"])
        # A new head is what was asked for, and a new pooler is of no account.
        body = f"{module.base_model_prefix}." if self.head else ""
        lacking = [key for key in new if key.startswith(body) and "pooler" not in key]
        if lacking:
            raise CheckpointError(
                f"The files of {self.label} lack {len(lacking)} of the weights that its config.json asks for, first "
                f"{lacking[0]}: is it the folder of another model?"
            )
        return module, new


def _processor(transformers: ModuleType, name: str, shape: tuple[int, ...]) -> InputContract | None:
    """What the model's image processor does to a picture; None if there is no such file."""
    try:
        reader = transformers.image_processing_base.ImageProcessingMixin
        says, _ = reader.get_image_processor_dict(name)
    except (OSError, ValueError, AttributeError):
        return None
    scale = float(says.get("rescale_factor", 1 / 255)) * 255 if says.get("do_rescale", True) else 255.0
    plain = not says.get("do_normalize", True)
    return InputContract(
        f"the image processor of {name}",
        mean=(0.0,) if plain else tuple(says.get("image_mean") or (0.5,)),
        std=(1.0,) if plain else tuple(says.get("image_std") or (0.5,)),
        range=(0.0, scale),
        size=(shape[1], shape[2]),
        interpolation=nearest_interpolation(_RESAMPLING.get(says.get("resample", 2), "bicubic")),
    )


def _tokenizer(name: str) -> InputContract | None:
    """Which tokenizer a text model knows, by the bytes of its vocabulary; None if its folder has none."""
    known = vocabulary_of(name)
    return None if known is None else InputContract(f"the folder {name}", tokenizer=known)


def _image(config: Any) -> tuple[int, ...] | None:
    size, channels = getattr(config, "image_size", None), getattr(config, "num_channels", 3)
    if isinstance(size, int):
        return (channels, size, size)
    return (channels, *size) if isinstance(size, list | tuple) else None


@contextlib.contextmanager
def _quiet(transformers: ModuleType) -> Iterator[None]:
    """Without transformers' progress bars and notes on stderr: a library is silent, its caller speaks."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
