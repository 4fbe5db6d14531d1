"""Claims as rows of data. Their rules are derived from them in `rules`, their statuses and figures in `decisions`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seamripper.errors import ExperimentError
from seamripper.papers.checks import CHECKS, FAILS, HOLDS, Over, Variants
from seamripper.papers.results import Select

Against = Select | tuple[Select, ...] | float | None
COUNTS = "counts"
"""The check of a claim that is answered by what audits conclude."""


@dataclass(frozen=True)
class Clause:
    """A part of a claim: the cells of `select`, each checked against another value or, if there is none, the bound.

    Of several selections `against`, the one with the higher value counts. With `at_rest` the clause is about so long a
    training, whatever a longer one would do. `profile` is the one that alone runs the cells, if not every one does.
    """

    select: Select
    check: str
    against: Against = None
    bound: float = 0.0
    at_rest: bool = False
    profile: str = ""

    def __post_init__(self) -> None:
        if self.check != COUNTS and self.check not in CHECKS:
            raise ExperimentError(
                f"Expected check to be one of {', '.join((*CHECKS, COUNTS))}, but got {self.check!r}."
            )

    @property
    def beside(self) -> tuple[Select, ...]:
        """The selections that stand against the cells."""
        if isinstance(self.against, Select):
            return (self.against,)
        return self.against if isinstance(self.against, tuple) else ()

    @property
    def number(self) -> float:
        """The number that stands against the cells, where no selection does."""
        return self.against if isinstance(self.against, (int, float)) else self.bound

    @property
    def slack(self) -> float:
        """The bound as the check takes it: where it is what a value is compared with, it is no slack beside that."""
        return self.bound if self.beside or CHECKS[self.check].of_seeds else 0.0


@dataclass(frozen=True)
class Gate:
    """What must hold over every cell of `select` for a claim to be testable at this size.

    `says` completes "testable if": "the base network reaches 50 %". A cell without an interval is decided by its value.
    """

    says: str
    select: Select
    check: str
    against: Against = None
    bound: float = 0.0

    def __post_init__(self) -> None:
        if self.check not in CHECKS:
            raise ExperimentError(f"Expected check of a gate to be one of {', '.join(CHECKS)}, but got {self.check!r}.")

    @property
    def claim(self) -> Claim:
        """The gate as a claim: that it holds over every cell."""
        return Claim(self.says, "", self.select, self.check, self.against, self.bound)


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: what it says and where, which values are checked, and over how many of them it must hold.

    `over` is "every", "some" (one or more), "most", a number (so many or more) or "best" (the best seed of all cells).
    `within` reads the cells along one label first: ("some", "receiver_cut") is one cut or more of each of the rest.
    `also` has further clauses. With `depends`, the question is whether the check depends on a variant. `answers` are
    said in place of "reproduced" and "not reproduced". `beyond` marks a question that the paper does not ask. `gates`
    are what must hold for it to be testable: if one of them fails, nothing is said of the claim.
    """

    says: str
    where: str
    select: Select
    check: str
    against: Against = None
    bound: float = 0.0
    over: Over = "every"
    beyond: bool = False
    within: tuple[Over, str] | None = None
    also: tuple[Clause, ...] = ()
    depends: Variants | None = None
    answers: tuple[str, str] = (HOLDS, FAILS)
    at_rest: bool = False
    profile: str = ""
    ours: bool = True
    """Whether the bound is ours, as the paper gives none."""
    remark: str = ""
    gates: tuple[Gate, ...] = ()

    @property
    def sentence(self) -> str:
        """What the paper says, and where."""
        return f"{self.says} ({self.where})" if self.where else self.says

    def clauses(self, profile: str = "") -> tuple[Clause, ...]:
        """The clauses that a profile runs; all of them by default."""
        first = Clause(self.select, self.check, self.against, self.bound, self.at_rest, self.profile)
        return tuple(c for c in (first, *self.also) if not profile or c.profile in ("", profile))

    def variant(self, value: str) -> Claim:
        """The claim itself for one value of what it may depend on."""
        label = self.depends.label if self.depends else ""
        also = tuple(replace(c, select=c.select.with_labels(**{label: value})) for c in self.also)
        return replace(self, select=self.select.with_labels(**{label: value}), also=also, depends=None)
