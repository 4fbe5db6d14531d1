"""BenchSet: the networks that measures are rated on, and what each family of them uses."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from seamripper._doors import require, require_path
from seamripper._words import did_you_mean
from seamripper.cut import Cut, heads
from seamripper.errors import CutError, ExperimentError
from seamripper.experiment import Data, Experiment, Network, Part
from seamripper.experiment.identity import Identities
from seamripper.experiment.tables import Table, Word, Words
from seamripper.experiment.toml import as_tuples, place_of, read_toml
from seamripper.models import Architecture, load

_Name = Annotated[str, Field(pattern=r"^[^/]+$")]


class BenchSet(Table):
    """Families of networks, read from TOML with `BenchSet.read`, or built in Python. It is a frozen value.

    A family is one entry of `models`: networks that were trained alike from several seeds, or one network that is
    loaded. `data` are samples on which the cues agree, `conflict` samples on which they do not, and `information` says
    in a word what each family uses. `cuts` are by default those behind each block. `receivers` are the families that
    the test `shortcut` compares the others with, by default all.
    """

    name: Annotated[str, Field(pattern=r"^[\w][\w .-]*$")]
    about: str = ""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    data: Word | Data
    conflict: Word | Data | None = None
    models: Annotated[Mapping[_Name, Network], Field(min_length=1)]
    information: Mapping[Word, Word] = {}
    cuts: Words = ()
    receivers: Words = ()
    matchings: Mapping[Word, Word] = {}
    """Matchings under names of the set's own: `task = "task?epochs=4"` says how the stitches are trained."""
    folder: str = "."
    file: Annotated[str, Field(exclude=True, repr=False)] = ""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> BenchSet:
        """The set that a TOML file describes; an error names the key and the line."""
        bench_set = read_toml(Path(require_path(path, "models", error=ExperimentError)), cls)
        bench_set.require_names()
        return bench_set

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> BenchSet:
        """The set that a methods card describes; its relative file names start from here."""
        return cls(**as_tuples(dict(record)))

    def require_names(self) -> None:
        """Refuse families that there are not, in `information` and in `receivers`."""
        for key, names in (("information", self.information), ("receivers", self.receivers)):
            for name in names:
                if name not in self.models:
                    near = did_you_mean(name, list(self.models))
                    raise ExperimentError(f"{place_of((key,), self.file)}: there is no model {name!r}: {near}")

    def experiment(
        self, name: str, asked: Iterable[Part], *, about: str = "", matchings: Mapping[str, str] | None = None
    ) -> Experiment:
        """The study of these networks that asks for these parts."""
        kinds: dict[str, list[Part]] = {}
        for part in asked:
            kinds.setdefault(part.name, []).append(part)
        return Experiment(
            name=f"{self.name} {name}",
            about=about,
            threads=self.threads,
            data=self.data,
            models=self.models,
            matchings={**self.matchings, **(matchings or {})},
            folder=self.folder,
            file=self.file,
            **{kind: tuple(parts) for kind, parts in kinds.items()},
        )

    @functools.cached_property
    def layouts(self) -> dict[str, tuple[Cut, ...]]:
        """The cuts of each family, in the order in which its networks reach them."""
        identities, data = Identities({}, folder=self.folder), samples_of(self.data)
        shape = identities.data(data.word, "test", data.n_test, data.seed)["shape"]
        layouts = {}
        for family, network in self.models.items():
            spec = network.load or Architecture.parse(str(network.train)).spec
            model = load(identities.absolute_name(spec))
            example = model.example(2, input=model.shown_shape(shape))
            try:
                layouts[family] = heads(model, list(self.cuts) or None, example).cuts
            except CutError as e:
                e.add_note(f"This is about the model {family!r}.")
                raise
        return layouts

    @property
    def shapes(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """The shape of one sample at each cut, by family and cut."""
        return {(family, cut.name): cut.shape for family, cuts in self.layouts.items() for cut in cuts}

    def cut_names(self, family: str, *, least: int = 1, what: str = "") -> tuple[str, ...]:
        """The names of a family's cuts; fewer than `least` are refused for `what` needs them."""
        names = tuple(cut.name for cut in self.layouts[family])
        if len(names) < least:
            raise ExperimentError(
                f"{what} needs {least} cuts or more, but the model {family!r} has {len(names)} here "
                f"({', '.join(names)}). Name more of them in `cuts`."
            )
        return names


def samples_of(data: str | Data) -> Data:
    """Samples by name as a table."""
    return Data(name=data) if isinstance(data, str) else data


def as_bench_set(models: BenchSet | str | os.PathLike[str]) -> BenchSet:
    """The set, or the one that a TOML file describes."""
    if isinstance(models, (str, os.PathLike)):
        return BenchSet.read(models)
    require(models, BenchSet, "models", error=ExperimentError, advice="BenchSet.read('zoo.toml') reads one.")
    models.require_names()
    return models
