"""Experiment: the frozen description of a study, a grid of models × cuts × matchings × measures × controls × seeds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from seamripper._doors import require, require_path
from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError
from seamripper.experiment.toml import mistake, read_toml

Seed = Annotated[int, Field(ge=0, lt=2**32)]
Word = Annotated[str, Field(min_length=1)]
Words = tuple[Word, ...]
Some = Annotated[Words, Field(min_length=1)]
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1)]
Value = str | bool | Annotated[int, Field(ge=-(2**63), lt=2**63)] | float
"""Whole numbers as TOML has them, of 64 bits: those beyond would fit into no column of a table."""


Name = Annotated[str, Field(pattern=r"^[^/]+$")]
"""Of a model: what stands behind a slash is a seed."""


class _Part(BaseModel):
    """Frozen; an unknown key is an error, and so is a value of another type than the key's."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as e:
            _, sentence = mistake(e, given, type(self))
            raise ExperimentError(f"{type(self).__name__} cannot be made so: {sentence}") from e

    # As RootModel of pydantic does: parts within a whole are then checked together, and told with the way to them.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class Data(_Part):
    """Samples by name: `n` of the train split to fit on, `n_test` of the test split to score on, drawn by `seed`.

    Models are shown them as each was trained to want them; with `ready`, all as the set itself is normalised.

    >>> Data(name="mnist/correlated", n=4000)
    Data(name='mnist/correlated', n=4000, n_test=None, seed=0, ready=False)
    """

    name: Word
    n: Annotated[int, Field(ge=2)] | None = None
    n_test: Annotated[int, Field(ge=2)] | None = None
    seed: Seed = 0
    ready: bool = False

    @property
    def word(self) -> str:
        """The samples as `load_data` takes them."""
        return f"{self.name}{'&' if '?' in self.name else '?'}ready=true" if self.ready else self.name


class Network(_Part):
    """A model of the study: one that is trained here, once for each seed, or one that is loaded.

    `train` names an architecture of the zoo, `data` what it is trained on; options of the training that are not
    given are those of Smith et al. 2025. `load` takes what `seamripper.load` takes; such a model has no seeds.
    """

    train: Word | None = None
    data: Word | None = None
    n: Annotated[int, Field(ge=2)] | None = None
    seeds: Seeds = (0,)
    optimiser: Literal["sgd", "adam"] | None = None
    lr: Annotated[float, Field(gt=0)] | None = None
    momentum: Annotated[float, Field(ge=0, lt=1)] | None = None
    weight_decay: Annotated[float, Field(ge=0)] | None = None
    batch: Annotated[int, Field(ge=2)] | None = None
    epochs: Annotated[int, Field(ge=1)] | None = None
    schedule: Literal["constant", "cosine"] | None = None
    load: Word | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.train is None) == (self.load is None):
            raise ValueError("expected either `train` (an architecture of the zoo) or `load` (a model that there is)")
        if self.train is not None and self.data is None:
            raise ValueError("expected `data`: what the network is trained on")
        # Not whatever is set: a description that is written down and read back has every key.
        fields = type(self).model_fields.items()
        given = sorted(name for name, field in fields if name != "load" and getattr(self, name) != field.default)
        if self.load is not None and given:
            raise ValueError(f"a model that is loaded takes no {given[0]!r}: that is for one trained here")
        return self

    @property
    def recipe(self) -> dict[str, Any]:
        """The options of the training that are given."""
        names = ("optimiser", "lr", "momentum", "weight_decay", "batch", "epochs", "schedule")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


Ways = Literal["task", "direct", "regression", "class_mapping", "embedding_mapping"]


class Way(_Part):
    """A matching of the study under a name of its own: `way` is task, direct, regression …; the rest its options.

    Options of the training (`lr`, `epochs` …) stand beside the matching's own.
    """

    way: Ways
    init: Literal["random", "identity", "direct"] | None = None
    loss: Literal["cross_entropy", "bce"] | None = None
    label_map: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    augment: Literal["none", "flip_crop"] | None = None
    optimise: bool | None = None
    optimiser: Literal["adam", "sgd"] | None = None
    lr: Annotated[float, Field(gt=0)] | None = None
    momentum: Annotated[float, Field(ge=0, lt=1)] | None = None
    weight_decay: Annotated[float, Field(ge=0)] | None = None
    epochs: Annotated[int, Field(ge=0)] | None = None
    batch: Annotated[int, Field(ge=1)] | None = None
    l1: Annotated[float, Field(ge=0)] | None = None
    schedule: Literal["constant", "steps", "cosine"] | None = None
    warmup: Annotated[float, Field(ge=0, lt=1)] | None = None
    form: Literal["auto", "least_squares", "orthogonal", "reduced_rank"] | None = None
    ridge: Annotated[float, Field(ge=0)] | None = None
    rank: Annotated[int, Field(ge=1)] | None = None
    rtol: Annotated[float, Field(ge=0)] | None = None
    squared: bool | None = None

    @model_validator(mode="after")
    def _of_its_kind(self) -> Self:
        given = [name for name in self.model_fields_set - {"way"} if getattr(self, name) is not None]
        for name in sorted(given):
            if name not in _OPTIONS[self.way]:
                raise ValueError(f"the matching {self.way!r} has no option {name!r}")
        return self

    @property
    def record(self) -> dict[str, Any]:
        """The matching as `matchings` takes it."""
        given = {name: getattr(self, name) for name in sorted(self.model_fields_set) if getattr(self, name) is not None}
        record: dict[str, Any] = {"name": given.pop("way")}
        # Direct matching solves: its `batch` is its own.
        trained = _TRAINING if self.way != "direct" else ()
        training: dict[str, Any] = {name: given.pop(name) for name in trained if name in given}
        record |= {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
        return record | ({"training": training} if training else {})


_TRAINING = ("optimiser", "lr", "momentum", "weight_decay", "epochs", "batch", "l1", "schedule", "warmup")
_TRAINED = set(_TRAINING)
_OPTIONS = {
    "task": _TRAINED | {"init", "loss", "label_map", "augment", "optimise"},
    "regression": _TRAINED | {"init"},
    "class_mapping": _TRAINED | {"label_map"},
    "embedding_mapping": _TRAINED | {"squared"},
    "direct": {"form", "ridge", "rank", "rtol", "batch"},
}


class Pairs(_Part):
    """What is compared: senders × receivers, by name. `digit/1` is the network `digit` of seed 1 alone.

    `pairing` says which seeds meet: `matched`, sender and receiver of one seed; `others`, of different seeds; `all`. A
    loaded model has no seed, and meets every one.
    """

    senders: Some
    receivers: Some
    pairing: Literal["matched", "others", "all"] = "matched"
    data: Word | Data | None = None


class Joining(_Part):
    """How a stitch is found: at every cut, by every matching, with every seed.

    A cut is a name for both models, or `layer1 -> layer2` for the sender's and the receiver's.
    """

    cuts: Some
    matchings: Some = ("task",)
    stitches: Some = ("auto",)
    freeze: Annotated[tuple[Literal["all", "weights"], ...], Field(min_length=1)] = ("all",)
    seeds: Seeds = (0,)


class Stitching(Joining, Pairs):
    """Stitches of every pair; and the same with every control.

    `rank` asks for the numerical rank at the receiver's first layer behind the cut, of what arrives there by the
    stitch, and of the receiver's own activations.
    """

    controls: Words = ()
    rank: bool = False


class Controlling(Joining, Pairs):
    """Controls of every pair, without the pair's own stitches."""

    controls: Some


class Noising(Joining):
    """Stitches from clustered noise, for every receiver, radius and number of classes; no data is needed.

    `classes` are clusters; by default as many as the receiver has classes. `per_class` samples of each are fitted on,
    and `per_class_test` scored. `input` is the shape of one input of the receiver: by default what it was made for.
    """

    receivers: Some
    radius: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)] = (0.1,)
    classes: tuple[Annotated[int, Field(ge=2)], ...] = ()
    per_class: Annotated[int, Field(ge=1)] = 6000
    per_class_test: Annotated[int, Field(ge=1)] = 1000
    input: tuple[Annotated[int, Field(ge=1)], ...] = ()
    rank: bool = False


class Comparing(Pairs):
    """Every measure between all cuts of every pair, from one pass over the data for both, in `parts` parts.

    The parts are passes over some of the data each, made apart and merged, so that one big comparison spreads over
    processes and machines. They are part of the result: sums that were added up in another order differ in last digits.
    """

    measures: Some = ("linear_cka",)
    cuts: Words = ()
    sender_cuts: Words = ()
    receiver_cuts: Words = ()
    sampling: Literal["positions", "flatten", "pool"] = "positions"
    split: Literal["train", "test"] = "test"
    parts: Annotated[int, Field(ge=1, le=1000)] = 1
    keep: Annotated[int, Field(ge=0)] = 1000
    folds: Annotated[int, Field(ge=2)] = 5
    batch: Annotated[int, Field(ge=1)] | None = None
    interval: bool = True
    exact: bool = False
    seed: Seed = 0


class Auditing(Pairs):
    """An audit of every pair at every cut: controls, conflict set or interventions, and the judgement.

    `others` names networks trained as the receiver was: of each, those seeds that neither side has.
    """

    cuts: Some
    matching: Word | None = None
    stitch: Word = "auto"
    freeze: Literal["all", "weights"] = "all"
    conflict: Word | Data | None = None
    interventions: Words | None = None
    others: Words = ()
    controls: Some | None = None
    audits: Some = ("all",)
    seeds: Seeds = (0, 1, 2)


class Picturing(Pairs):
    """Images of every pair at every cut, by every matching: of `n` test samples, and of what becomes of them.

    The receiver answers with images, as an autoencoder does, or an image arrives at its cut: `layer2 -> before:conv1`.
    With `receiver_data` the sender is shown `data`, and the receiver's samples are others; the matching is then one of
    class_mapping and embedding_mapping. `judge` names a classifier of the receiver's samples, whose word on all images
    that are made of the test samples is among the figures: that of the receiver's seed, or of its first.
    """

    cuts: Some
    receiver_data: Word | Data | None = None
    matchings: Some = ("direct",)
    stitch: Word = "auto"
    seed: Seed = 0
    n: Annotated[int, Field(ge=1, le=1000)] = 8
    judge: Word | None = None


class Calling(_Part):
    """A function of the user's own, `FILE.py:FUNCTION`, called for every point of a grid; it returns its figures."""

    function: Word
    grid: Mapping[Word, Annotated[tuple[Value, ...], Field(min_length=1)]] = {}
    seeds: Annotated[tuple[Seed, ...], Field()] = ()
    args: Mapping[Word, Value] = {}


class Resources(_Part):
    """What a job takes: CPUs are `threads` of the experiment; `gpus` may be a share, 0.25 say."""

    gpus: Annotated[float, Field(ge=0)] = 0.0


class Experiment(_Part):
    """A study: read from TOML with `Experiment.read`, or built in Python. It is a frozen value.

    `threads` is how many threads a job computes with. It is part of the result, as sums that are added up in another
    order differ in the last digits; how many jobs run side by side is not.

    >>> Experiment(name="one", call=(Calling(function="mine.py:f", seeds=(0, 1)),)).threads
    1
    """

    name: Annotated[str, Field(pattern=r"^[\w][\w .-]*$")]
    about: str = ""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    data: Word | Data | None = None
    models: Mapping[Name, Network] = {}
    matchings: Mapping[Word, Way] = {}
    stitch: tuple[Stitching, ...] = ()
    control: tuple[Controlling, ...] = ()
    noise: tuple[Noising, ...] = ()
    compare: tuple[Comparing, ...] = ()
    audit: tuple[Auditing, ...] = ()
    pictures: tuple[Picturing, ...] = ()
    call: tuple[Calling, ...] = ()
    resources: Resources = Resources()
    folder: str = "."
    """Where file names of the description are counted from: the folder of the TOML file."""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Experiment:
        """The experiment that a TOML file describes; a mistake in it is told with its key and line."""
        return read_toml(Path(require_path(path, "path", error=ExperimentError)), cls)

    def matching(self, word: str) -> dict[str, Any]:
        """The record of the matching that `word` means: one of `matchings`, or one by its own name as it is."""
        known = {way: Way(way=way) for way in get_args(Ways)} | dict(self.matchings)
        if word not in known:
            raise ExperimentError(f"There is no matching {word!r}: {did_you_mean(word, list(known))}")
        return known[word].record

    def network(self, word: str) -> tuple[Network, tuple[int | None, ...]]:
        """The network that `word` means, and the seeds of it: `digit`, or `digit/1` for one seed."""
        name, _, seed = word.partition("/")
        if name not in self.models:
            raise ExperimentError(f"There is no model {word!r}: {did_you_mean(name, list(self.models))}")
        network = self.models[name]
        if network.load is not None:
            if seed:
                raise ExperimentError(f"The model {name!r} is loaded and has no seeds: ask for {name!r} alone.")
            return network, (None,)
        if not seed:
            return network, network.seeds
        if not seed.isdecimal() or int(seed) not in network.seeds:
            raise ExperimentError(
                f"The model {name!r} has no seed {seed!r}: it has {', '.join(map(str, network.seeds))}."
            )
        return network, (int(seed),)

    def samples(self, own: str | Data | None, what: str) -> Data:
        """The samples of a part: its own, or those of the experiment."""
        chosen = self.data if own is None else own
        if chosen is None:
            raise ExperimentError(f"Expected {what} to have `data`, or the experiment, but neither has.")
        if isinstance(chosen, Data):
            return chosen
        # A name alone takes the numbers from the experiment's.
        return self.data.model_copy(update={"name": chosen}) if isinstance(self.data, Data) else Data(name=chosen)


def as_experiment(experiment: Experiment | str | os.PathLike[str]) -> Experiment:
    """The experiment, or the one that a TOML file describes."""
    if isinstance(experiment, (str, os.PathLike)):
        return Experiment.read(experiment)
    advice = "Experiment.read('study.toml') reads one."
    require(experiment, Experiment, "experiment", error=ExperimentError, advice=advice)
    return experiment
