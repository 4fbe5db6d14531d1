"""Experiment: the frozen description of a study."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field
from pydantic.fields import FieldInfo

from seamripper._doors import require, require_path
from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError
from seamripper.experiment.parts.base import Part, parts
from seamripper.experiment.tables import Data, Network, Precision, Table, Word
from seamripper.experiment.toml import Where, as_tuples, ordinal, place_of, read_toml

_Name = Annotated[str, Field(pattern=r"^[^/]+$")]
"""Of a model: a seed stands behind the slash."""
_MOST = 1_000_000
"""Jobs that can be planned at once. So many take about 2 GB and a minute; a slip of the pen asks for far more."""


class Resources(Table):
    """What a job takes: CPUs are `threads` of the experiment; `gpus` may be a share, 0.25 say."""

    gpus: Annotated[float, Field(ge=0)] = 0.0


class Experiment(Table):
    """A study: read from TOML with `Experiment.read`, or built in Python. It is a frozen value.

    Besides the fields below it has one for each part of a study, `stitch`, `audit` and so on: a tuple of the parts of
    that kind, written `[[stitch]]` in TOML. `threads` is how many threads a job computes with. It is part of what
    decides the result, because sums that are added up in another order differ in the last digits; how many jobs run at
    once is not.
    """

    name: Annotated[str, Field(pattern=r"^[\w][\w .-]*$")]
    about: str = ""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    dtype: Precision | None = None
    """The precision that models compute in, by default their own. Networks of the study are trained in float32."""
    data: Word | Data | None = None
    models: Mapping[_Name, Network] = {}
    matchings: Mapping[Word, Word] = {}
    """Matchings under names of the study's own: `fast = "task?epochs=4"`."""
    resources: Resources = Resources()
    folder: str = "."
    """The folder that relative file names start from: that of the TOML file."""
    file: Annotated[str, Field(exclude=True, repr=False)] = ""
    """The TOML file itself, for messages."""

    def __init__(self, **given: Any) -> None:
        _add_parts()
        super().__init__(**given)

    # As in `Table`: what is read from a file is validated as a whole, and not made by this.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Experiment:
        """The experiment that a TOML file describes; an error names the key and the line."""
        _add_parts()
        return read_toml(Path(require_path(path, "path", error=ExperimentError)), cls)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Experiment:
        """The experiment that a store, or a methods card, describes; its relative file names start from here."""
        return cls(**as_tuples(dict(record)))

    def place(self, where: Where) -> str:
        """A key of the study as messages name it, with the line of the file that the study was read from."""
        return place_of(where, self.file)

    def parts(self) -> Iterator[tuple[str, Part]]:
        """Every part of the study, with what messages call it: the 2nd [[stitch]]."""
        for name in parts:
            for k, part in enumerate(getattr(self, name) if name in _PARTS else (), 1):
                yield f"the {ordinal(k)} [[{name}]]", part

    def network(self, word: str) -> tuple[Network, tuple[int | None, ...]]:
        """The network that `word` means, and the seeds of it: `digit`, or `digit/1` for one seed."""
        name, _, seed = word.partition("/")
        if name not in self.models:
            raise ExperimentError(f"There is no model {word!r}: {did_you_mean(name, list(self.models))}")
        network = self.models[name]
        if network.load is not None:
            if seed:
                raise ExperimentError(f"The model {name!r} is loaded and has no seeds: ask for just {name!r}.")
            return network, (None,)
        if not seed:
            return network, network.seeds
        if not seed.isdecimal() or int(seed) not in network.seeds:
            seeds = ", ".join(map(str, network.seeds))
            raise ExperimentError(f"The model {name!r} has no seed {seed!r}: it has {seeds}.")
        return network, (int(seed),)

    def samples(self, own: str | Data | None, what: str) -> Data:
        """The samples of a part: its own, or those of the experiment."""
        chosen = self.data if own is None else own
        if chosen is None:
            raise ExperimentError(f"Expected {what} or the experiment to have `data`, but neither has.")
        if isinstance(chosen, Data):
            return chosen
        # A name alone takes the numbers from the experiment's.
        return self.data.model_copy(update={"name": chosen}) if isinstance(self.data, Data) else Data(name=chosen)

    def require_size(self) -> None:
        """Refuse an experiment of more jobs than can be planned, counted from its lists before any job is made."""
        sizes = {f"[models.{name}]": len(network.seeds) for name, network in self.models.items()}
        sizes |= {title: part.size(self) for title, part in self.parts()}
        total = sum(sizes.values())
        if total > _MOST:
            largest = max(sizes, key=lambda title: sizes[title])
            raise ExperimentError(
                f"The study {self.name!r} asks for {total:,} jobs, {sizes[largest]:,} of them in {largest}, and at "
                f"most {_MOST:,} can be planned at once. Shorten the lists of {largest}, or split the study into "
                "several files."
            )


_PARTS: dict[str, type[Part]] = {}
"""The parts that an experiment has fields for."""


def _add_parts() -> None:
    """Give the experiment a field for each part: when it is first used, as third parties' parts import this package."""
    # A part whose name means something else here has no table: its key is refused like any other unknown one.
    taken = Experiment.model_fields.keys() - _PARTS.keys()
    asked = {name: part for name, part in parts.items() if part.asked_for and name not in taken}
    asked = {name: part for name, part in asked.items() if not hasattr(Experiment, name)}
    if asked != _PARTS:
        fields = Experiment.__pydantic_fields__
        for name in _PARTS:
            del fields[name]
        for name, part in asked.items():
            fields[name] = FieldInfo(annotation=tuple[part, ...], default=())  # type: ignore[valid-type]
        _PARTS.clear()
        _PARTS.update(asked)
        Experiment.model_rebuild(force=True)


def as_experiment(experiment: Experiment | str | os.PathLike[str]) -> Experiment:
    """The experiment, or the one that a TOML file describes."""
    if isinstance(experiment, (str, os.PathLike)):
        return Experiment.read(experiment)
    advice = "Experiment.read('study.toml') reads one."
    require(experiment, Experiment, "experiment", error=ExperimentError, advice=advice)
    return experiment
