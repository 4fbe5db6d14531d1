"""Worker: what a job computes with: the models and samples that were loaded before, and the tensors of the store."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seamripper._files import sha256_of
from seamripper.errors import ExperimentError
from seamripper.experiment.identity import identity_of
from seamripper.experiment.job import Job
from seamripper.experiment.tensors import WORK, Tensors

if TYPE_CHECKING:
    from torch import Tensor

    from seamripper.activations import Activations
    from seamripper.audits import DetectorAtCut
    from seamripper.cut import Split
    from seamripper.data import Samples
    from seamripper.matching import Functional, Match, Matching
    from seamripper.models import Model
    from seamripper.stitches import Stitch

T = TypeVar("T")
_MODELS, _HALVES, _DATA, _ANSWERS, _DETECTORS = 16, 64, 8, 64, 16
"""How many models, halves, sets of samples, answers to them, and detectors are kept; those not used for longest go
first."""
_MATCHED = 2**29
"""Bytes of weights that the matches of audits may hold on to."""


class Recent(OrderedDict[str, T]):
    """Values by name, of which what was not asked for longest goes first, while their `size` is above `most`.

    One value is kept whatever its size, which by default is how many they are.

    >>> squares = Recent[int](2)
    >>> [squares.get_or_make(str(n), lambda: n * n) for n in (1, 2, 1, 3)], list(squares)
    ([1, 4, 1, 9], ['1', '3'])
    """

    def __init__(self, most: int, size: Callable[[Recent[T]], int] = len) -> None:
        super().__init__()
        self._most, self._size = most, size

    def __getitem__(self, name: str) -> T:
        self.move_to_end(name)
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: T) -> None:
        super().__setitem__(name, value)
        while len(self) > 1 and self._size(self) > self._most:
            self.popitem(last=False)

    def get_or_make(self, name: str, make: Callable[[], T]) -> T:
        """The value of this name, made if there is none."""
        if name not in self:
            self[name] = make()
        return self[name]


def bytes_of_matches(matched: Mapping[str, tuple[Functional, Match]]) -> int:
    """Bytes of the weights of all networks and stitches of some matches, each counted once."""
    matches = [match for _, match in matched.values()]
    modules = [part for m in matches for part in (m.layer, m.sender.model.module, m.receiver.model.module)]
    once = {id(module): module for module in modules}
    return sum(tensor.nbytes for module in once.values() for tensor in module.state_dict().values())


class Worker:
    """A worker by its name. It keeps what it has loaded, and sees the tensors of a store, never its journals.

    For the job that it has started, `where` says where things are, and `inputs` names the tensors of the jobs that it
    needs.
    """

    def __init__(self, store: str | os.PathLike[str], name: str = "", *, device: str | None = None) -> None:
        """`device` is where its models compute, by default in main memory."""
        self.folder, self.name, self.device = Path(store), name, device
        self.tensors = Tensors(self.folder)
        self.where: Mapping[str, Any] = {}
        self.inputs: Mapping[str, Mapping[str, str]] = {}
        self.key = ""
        self.matched: Recent[tuple[Functional, Match]] = Recent(_MATCHED, bytes_of_matches)
        """The counterparts of a receiver are the same whoever the sender is, and most of an audit's work."""
        self._models: Recent[Model] = Recent(_MODELS)
        self._halves: Recent[Split] = Recent(_HALVES)
        self._data: Recent[Samples] = Recent(_DATA)
        self._answers: Recent[Tensor] = Recent(_ANSWERS)
        self._kind = ""
        self._last: tuple[object, Any] | None = None
        self._detectors: Recent[DetectorAtCut] = Recent(_DETECTORS)

    def start(self, job: Job) -> None:
        """Turn to another job."""
        if job.kind != self._kind:
            self._kind, self._last = job.kind, None
        self.key, self.where, self.inputs = job.key, job.where, job.inputs

    def again(self, key: object, make: Callable[[], T]) -> T:
        """What `make` gives, and gave if the last job of this kind asked for the same key.

        Only the last is kept, as it may be large, and only until a job of another kind is started.
        """
        if self._last is None or self._last[0] != key:
            self._last = None
            self._last = key, make()
        return self._last[1]

    def samples(self, fingerprint: str) -> Samples:
        """The samples of this fingerprint."""

        def load() -> Samples:
            from seamripper.data import load_data

            at = self._where("data", fingerprint)
            samples = load_data(at["name"], at["split"], n=at["n"], seed=at["seed"])
            if samples.fingerprint != fingerprint:
                raise ExperimentError(
                    f"The samples of {at['name']} ({at['split']}) are not those that the experiment was planned with: "
                    "their files were changed. Run it again, and it will be planned again."
                )
            return samples

        return self._data.get_or_make(fingerprint, load)

    def model(self, which: Mapping[str, str]) -> Model:
        """The model that a content names: `trained` by a job of the store, or `loaded`, by its fingerprint.

        It computes on the worker's device, and in the precision `dtype` if the content names one.
        """

        def load() -> Model:
            from seamripper._devices import as_dtype

            model = own_precision()
            if "dtype" in which:
                model.module.to(as_dtype(which["dtype"]))
            return model

        def own_precision() -> Model:
            from seamripper.models import load

            # By a name that says nothing of the machine: records of the same result are the same everywhere.
            if "trained" in which:
                model = load(str(self.tensor(which["trained"], "model")), device=self.device)
                return replace(model, source=f"trained {which['trained'][:16]}")
            at = self._where("model", which["loaded"])
            model = load(at["load"], device=self.device)
            if identity_of(model) != which["loaded"]:
                raise ExperimentError(
                    f"{at['load']} is not the model that the experiment was planned with: its file was changed. Run it "
                    "again, and it will be planned again."
                )
            return replace(model, source=at["said"])

        return self._models.get_or_make(_name(which), load)

    def half(self, which: Mapping[str, str], cut: str, samples: Samples) -> Split:
        """The model, cut for inputs like the samples."""

        def make() -> Split:
            from seamripper.cut import split

            model = self.model(which)
            return split(model, cut, model.example(2, input=model.present(samples).shape))

        name = f"{_name(which)} {cut} {samples.shape}"
        return self._halves.get_or_make(name, make)

    def answers(self, which: Mapping[str, str], half: Split, samples: Samples) -> Tensor:
        """What a model as it is answers to samples, whole and without any stitch: the same wherever it is cut."""

        def run() -> Tensor:
            from seamripper.matching import answers_of

            return answers_of(half, samples)

        return self._answers.get_or_make(f"{_name(which)} {samples.fingerprint}", run)

    def detector(self, which: Mapping[str, str], half: Split, fit: Samples, test: Samples, word: str) -> DetectorAtCut:
        """The detector that a word of the audit `distribution` means, at a model's cut: the same for every sender."""

        def make() -> DetectorAtCut:
            from seamripper.audits import Distribution, audits

            audit = audits.make(word)
            assert isinstance(audit, Distribution)
            return audit.at_cut(half, fit, test)

        names = (_name(which), half.cut.name, fit.fingerprint, test.fingerprint, word)
        return self._detectors.get_or_make(" ".join(names), make)

    def matching(self, record: Mapping[str, Any]) -> Matching:
        """The matching that a content records."""
        from seamripper.matching import matchings

        record = dict(record)
        own = record.pop("own", None)
        return matchings.from_record(record, None if own is None else self.word(own))

    def stitch(self, word: str) -> Stitch | str:
        """The stitch that a content names; "auto" is left to the match."""
        from seamripper.stitches import stitches

        return word if word == "auto" else stitches.make(self.word(word))

    def word(self, word: str) -> str:
        """The word that makes a choice: a user's own file, which a content names by its sha256, by its path."""
        sha, colon, rest = word.partition(":")
        path = self.where.get(f"file:{sha}")
        if not colon or path is None:
            return word
        if sha256_of(Path(path)) != sha:
            raise ExperimentError(f"{path} was changed since the experiment was planned: run it again.")
        return f"{path}:{rest}"

    def activations(self, key: str) -> Activations | None:
        """Activations that a job of the store has computed; None if no such job was planned for this one."""
        if key not in self.inputs:
            return None
        from seamripper.activations import Activations

        return Activations.load(self.tensor(key, "activations"))

    def tensor(self, key: str, role: str) -> Path:
        """A whole file that a job which this one needs has written."""
        return self.tensors.get(self.inputs[key][role])

    def keep(self, write: Callable[[Path], None]) -> str:
        """Keep a file in the store; its name there."""
        return self.tensors.put(write)

    def work(self, key: str) -> Path:
        """A folder for what a job leaves behind while it is not finished."""
        return self.folder / WORK / key[:32]

    def _where(self, what: str, name: str) -> Any:
        return self.where[f"{what}:{name}"]


def _name(which: Mapping[str, str]) -> str:
    """The name of a model among those that are kept."""
    return " ".join(which.values())
