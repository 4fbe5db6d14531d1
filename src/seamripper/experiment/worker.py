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


class Matched(OrderedDict[str, "tuple[Functional, Match]"]):
    """The matches and scores of audits, for the audits that follow: what was not asked for longest goes first.

    The counterparts of a receiver are the same whoever the sender is, and most of an audit's work.
    """

    def __init__(self, most: int = _MATCHED) -> None:
        super().__init__()
        self._most = most

    def __getitem__(self, key: str) -> tuple[Functional, Match]:
        self.move_to_end(key)
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: tuple[Functional, Match]) -> None:
        super().__setitem__(key, value)
        while len(self) > 1 and self._bytes() > self._most:
            self.popitem(last=False)

    def _bytes(self) -> int:
        """Bytes of the weights of all networks and stitches, each counted once."""
        matches = [match for _, match in self.values()]
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
        self.matched = Matched()
        self._models: OrderedDict[str, Model] = OrderedDict()
        self._halves: OrderedDict[str, Split] = OrderedDict()
        self._data: OrderedDict[str, Samples] = OrderedDict()
        self._answers: OrderedDict[str, Tensor] = OrderedDict()
        self._kind = ""
        self._last: tuple[object, Any] | None = None
        self._detectors: OrderedDict[str, DetectorAtCut] = OrderedDict()

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

        return _get_or_make(self._data, fingerprint, load, _DATA)

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

        return _get_or_make(self._models, _name(which), load, _MODELS)

    def half(self, which: Mapping[str, str], cut: str, samples: Samples) -> Split:
        """The model, cut for inputs like the samples."""

        def make() -> Split:
            from seamripper.cut import split

            model = self.model(which)
            return split(model, cut, model.example(2, input=model.present(samples).shape))

        name = f"{_name(which)} {cut} {samples.shape}"
        return _get_or_make(self._halves, name, make, _HALVES)

    def answers(self, which: Mapping[str, str], half: Split, samples: Samples) -> Tensor:
        """What a model as it is answers to samples, whole and without any stitch: the same wherever it is cut."""

        def run() -> Tensor:
            from seamripper.matching import answers_of

            return answers_of(half, samples)

        return _get_or_make(self._answers, f"{_name(which)} {samples.fingerprint}", run, _ANSWERS)

    def detector(self, which: Mapping[str, str], half: Split, fit: Samples, test: Samples, word: str) -> DetectorAtCut:
        """The detector that a word of the audit `distribution` means, at a model's cut: the same for every sender."""

        def make() -> DetectorAtCut:
            from seamripper.audits import Distribution, audits

            audit = audits.make(word)
            assert isinstance(audit, Distribution)
            return audit.at_cut(half, fit, test)

        names = (_name(which), half.cut.name, fit.fingerprint, test.fingerprint, word)
        return _get_or_make(self._detectors, " ".join(names), make, _DETECTORS)

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


def _get_or_make(cache: OrderedDict[str, T], name: str, make: Callable[[], T], most: int) -> T:
    if name not in cache:
        cache[name] = make()
    cache.move_to_end(name)
    while len(cache) > most:
        cache.popitem(last=False)
    return cache[name]
