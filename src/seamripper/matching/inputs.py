"""What models and samples must have in common: the same inputs, and no sample both fitted and scored."""

from __future__ import annotations

import torch
from torch import Tensor

from seamripper._words import shape_text
from seamripper.cut.on_data import views_of
from seamripper.cut.split import Split
from seamripper.data.paired import Paired
from seamripper.data.samples import Inputs, Samples
from seamripper.errors import DataError


def count_shared(name: str, ids: Tensor, samples: Samples | Paired) -> int:
    """How many of `samples` are among the samples `ids` of the data set `name`.

    Variants of a set ("mnist/digit", "mnist/colour") show the same samples, by the same ids.
    """
    if family_of(name) != family_of(samples.name):
        return 0
    return int(torch.isin(samples.ids, ids).sum())


def family_of(name: str) -> str:
    """The data set that samples of this name are from: those of one family are known by the same ids.

    >>> family_of("mnist/digit?size=32"), family_of("folder:some/path")
    ('mnist', 'folder:some/path')
    """
    # Options change what is shown and not which samples they are; the slash in "folder:some/path" is no variant's.
    word = name.partition("?")[0]
    return word if ":" in word else word.partition("/")[0]


def require_inputs(sender: Split, receiver: Split, samples: Samples | Paired) -> None:
    """Both models and the data must speak of the same inputs."""
    views = views_of(samples, sender, receiver)
    for role, half, given in (("sender", sender, views.sender), ("receiver", receiver, views.receiver)):
        got, expected = _input_kinds(given.batch(slice(0, 1))), _input_kinds(half.example)
        if expected != got:
            raise DataError(
                f"The {role} ({half.model.source}) was cut for inputs {_list_kinds(expected)}, but {given.name} has "
                f"{_list_kinds(got)}. Sender and receiver are compared on the same inputs: cut both for them, or "
                "choose other data."
            )


def _input_kinds(inputs: Inputs) -> dict[str, str]:
    """Shape and precision by name."""
    if isinstance(inputs, Tensor):
        return {"input": f"{shape_text(inputs.shape[1:])} ({str(inputs.dtype).removeprefix('torch.')})"}
    # Token sequences may have any length; which inputs there are may not differ.
    return dict.fromkeys(inputs, "")


def _list_kinds(kinds: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}".strip() for name, kind in kinds.items())
