"""Tables: the frozen pieces that a study is described in, shared by its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from seamripper.errors import ExperimentError
from seamripper.experiment.toml import Where, mistake

Seed = Annotated[int, Field(ge=0, lt=2**32)]
Word = Annotated[str, Field(min_length=1)]
Words = tuple[Word, ...]
Some = Annotated[Words, Field(min_length=1)]
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Precision = Literal["float64", "float32", "bfloat16", "float16"]
Value = str | bool | Annotated[int, Field(ge=-(2**63), lt=2**63)] | float
"""Whole numbers as TOML has them, of 64 bits: larger ones would fit into no column of a table."""


class Table(BaseModel):
    """Frozen; an unknown key is an error, and so is a value of another type than the key's."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as e:
            _, sentence = mistake(e, given, type(self))
            raise ExperimentError(f"{type(self).__name__} cannot be made from these values: {sentence}") from e

    # As pydantic's RootModel does: nested tables are then validated together, and an error says where it is.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class Study(Protocol):
    """What parts ask of the study that they belong to."""

    name: str
    threads: int
    dtype: Precision | None
    models: Mapping[str, Network]
    matchings: Mapping[str, str]

    def place(self, where: Where) -> str:
        """A key of the study as messages name it."""

    def network(self, word: str) -> tuple[Network, tuple[int | None, ...]]:
        """The network that a word means, and its seeds."""

    def samples(self, own: str | Data | None, what: str) -> Data:
        """The samples of a part: its own, or those of the study."""


class Data(Table):
    """Samples by name: `n` of the train split to fit on, `n_test` of the test split to score on, drawn by `seed`.

    Each model is shown them as it was trained to want them; with `ready`, all models as the set itself is normalised.

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


class Network(Table):
    """A model of the study: one that is trained here, once for each seed, or one that is loaded.

    `train` names an architecture of the zoo, `data` what it is trained on, and `training` how: a preset, its options,
    or both (`smith`, `smith?epochs=2`); by default the preset for its kind of network. `load` takes what
    `seamripper.load` takes; such a model has no seeds.
    """

    train: Word | None = None
    data: Word | None = None
    n: Annotated[int, Field(ge=2)] | None = None
    seeds: Seeds = (0,)
    training: Word | None = None
    load: Word | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.train is None) == (self.load is None):
            raise ValueError("expected either `train` (an architecture of the zoo) or `load` (an existing model)")
        if self.train is not None and self.data is None:
            raise ValueError("expected `data`: what the network is trained on")
        # Not whatever is set: a description that is written down and read back has every key.
        fields = type(self).model_fields.items()
        given = sorted(name for name, field in fields if name != "load" and getattr(self, name) != field.default)
        if self.load is not None and given:
            raise ValueError(f"a model that is loaded takes no {given[0]!r}: that is for one trained here")
        return self


class Pairs(Table):
    """What is compared: senders × receivers, by name. `digit/1` is the network `digit` of seed 1 alone.

    `pairing` says which seeds meet: `matched`, sender and receiver of one seed; `others`, of different seeds; `all`. A
    loaded model has no seed, and meets every one.
    """

    senders: Some
    receivers: Some
    pairing: Literal["matched", "others", "all"] = "matched"
    data: Word | Data | None = None

    def pairs(self, study: Study) -> int:
        """How many pairs of networks meet, counted without making them."""
        senders, receivers = (
            Counter(seed for word in words for seed in study.network(word)[1])
            for words in (self.senders, self.receivers)
        )
        every = senders.total() * receivers.total()
        if self.pairing == "all":
            return every
        # None is the seed of a model that is loaded.
        seeded = (senders.total() - senders[None]) * (receivers.total() - receivers[None])
        equal = sum(n * receivers[seed] for seed, n in senders.items() if seed is not None)
        return every - seeded + (equal if self.pairing == "matched" else seeded - equal)


class Joining(Table):
    """How stitches are found: at every cut, by every matching, with every stitch and seed.

    A cut is a name for both models, or `layer1 -> layer2` for the sender's and the receiver's. Matchings and stitches
    are words, `task?epochs=3` and `conv?kernel=3`; a matching may be one of the study's own `matchings`. `rates` are
    learning rates by the receiver's cut, where it is not to be that of the matching.
    """

    cuts: Some
    matchings: Some = ("task",)
    stitches: Some = ("auto",)
    freeze: Annotated[tuple[Literal["all", "weights"], ...], Field(min_length=1)] = ("all",)
    seeds: Seeds = (0,)
    rates: Mapping[Word, Annotated[float, Field(gt=0)]] = {}

    @property
    def ways(self) -> int:
        """How many stitches there are between two networks."""
        return len(self.cuts) * len(self.matchings) * len(self.stitches) * len(self.freeze) * len(self.seeds)
