"""The joined network in files: safetensors, torch.export and ONNX, each read back and asked the same questions."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seamripper._devices import MAIN_MEMORY, copy_in_memory, to_memory
from seamripper._files import atomic
from seamripper._words import need
from seamripper.cut import Split, split
from seamripper.cut.flow import first_line
from seamripper.cut.values import probes
from seamripper.data.samples import Inputs
from seamripper.errors import FileError, SeamripperError
from seamripper.matching import Match
from seamripper.swapping.joined import JoinedNetwork

TENSORS, PROGRAM, ONNX = "joined.safetensors", "joined.pt2", "joined.onnx"
CLOSE = 1e-4
"""How far answers of the network read back may be off, relative to the largest of them."""


@dataclass(frozen=True)
class Export:
    """One form of the joined network: its file, and how far its answers are off; or why there is none."""

    form: str
    file: str | None
    gap: float | None
    why: str = ""

    def __str__(self) -> str:
        if self.gap is None:
            return f"{self.form}: not written. {self.why}"
        return f"{self.form}: {self.file}, read back, answers differ by at most {self.gap:.1g} of the largest"

    def as_record(self) -> dict[str, Any]:
        """The export as JSON has it."""
        return dict(vars(self))


def write_all(
    match: Match, joined: JoinedNetwork, inputs: Inputs, folder: str | os.PathLike[str]
) -> tuple[Export, ...]:
    """Write the network in every form that it can be written in; answers are compared on `inputs`.

    It is written and read back in main memory, wherever the models are: the files are for any machine.
    """
    place, inputs = Path(folder), to_memory(inputs)
    halves = (match.sender, match.receiver)
    if any(half.model.device != MAIN_MEMORY for half in halves):
        sender, receiver = map(_in_memory, halves)
        match = replace(match, sender=sender, receiver=receiver, layer=copy_in_memory(match.layer))
        joined = JoinedNetwork.of(match)
    example = probes(inputs)[1]
    with torch.no_grad():
        expected = joined.run(inputs)
    forms: dict[str, tuple[Path, Callable[[Path], Tensor]]] = {
        "safetensors": (place / TENSORS, lambda path: _tensors(match, path, inputs)),
        "torch.export": (place / PROGRAM, lambda path: _program(joined, example, path, inputs)),
        "ONNX": (place / ONNX, lambda path: _onnx(joined, example, path, inputs)),
    }
    return tuple(_export(form, path, write, expected) for form, (path, write) in forms.items())


def _in_memory(half: Split) -> Split:
    model = replace(half.model, module=copy_in_memory(half.model.module))
    return split(model, half.cut.name, to_memory(half.example), way=half.way)


def _export(form: str, path: Path, write: Callable[[Path], Tensor], expected: Tensor) -> Export:
    """Write a file and compare its answers; a file that does not give them is not left behind."""
    try:
        with _quiet(), torch.no_grad():
            got = write(path)
        gap = float((got - expected).abs().max() / expected.abs().max().clamp(min=1e-30))
        why = "" if gap <= CLOSE else f"Read back, its answers differ by {gap:.1g} of the largest."
    except SeamripperError as e:
        why = str(e)
    except OSError:
        raise
    # Exporters raise what they like where a model cannot be exported.
    except Exception as e:
        why = f"{type(e).__name__}: {first_line(e)}"
    if why:
        path.unlink(missing_ok=True)
        return Export(form, None, None, why)
    return Export(form, str(path), gap)


def _tensors(match: Match, path: Path, inputs: Inputs) -> Tensor:
    match.save(path)
    try:
        joined = JoinedNetwork.load(path)
    except FileError:
        # Models that were not made by a word that a file may name.
        joined = JoinedNetwork.load(path, old=match.receiver.model, new=match.sender.model)
    return joined.run(inputs)


def program_of(joined: JoinedNetwork, example: Inputs) -> torch.export.ExportedProgram:
    """The network as `torch.export` has it, for any number of samples and tokens; the example has three samples."""
    auto = torch.export.Dim.AUTO
    args = joined.arguments(example)
    axes = tuple(dict.fromkeys(range(arg.dim() if joined.names else 1), auto) for arg in args)
    return torch.export.export(joined, args, dynamic_shapes=(axes,), strict=False)


def _program(joined: JoinedNetwork, example: Inputs, path: Path, inputs: Inputs) -> Tensor:
    stream = io.BytesIO()
    torch.export.save(program_of(joined, example), stream)
    _write(path, stream.getvalue())
    answer: Tensor = torch.export.load(str(path)).module()(*joined.arguments(inputs))
    return answer


def _onnx(joined: JoinedNetwork, example: Inputs, path: Path, inputs: Inputs) -> Tensor:
    _, _, runtime = (need(name, extra="onnx", what="An ONNX file") for name in ("onnx", "onnxscript", "onnxruntime"))
    names = list(joined.names) or ["input"]
    program = torch.onnx.export(
        program_of(joined, example), dynamo=True, verbose=False, input_names=names, output_names=["answer"]
    )
    assert program is not None
    _write(path, program.model_proto.SerializeToString())
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    places = [place.name for place in session.get_inputs()]
    given = {name: to_memory(value).numpy() for name, value in zip(names, joined.arguments(inputs), strict=True)}
    # An input that the network does not use is not in the file.
    (answer,) = session.run(None, {name: given[name] for name in places})
    return torch.from_numpy(np.asarray(answer))


def _write(path: Path, data: bytes) -> None:
    with atomic(path) as file:
        file.write(data)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what exporters say of their own internals."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
