"""Controls of a third party reach every rule by what they declare of themselves, and by no name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
import test_conflict as conflict_planted
import test_mixing as mixing_planted

from seamripper.audits.mixing import Mixing
from seamripper.audits.mixing_reading import OWN_TOLERANCE, TOLERANCE
from seamripper.audits.rank import Rank
from seamripper.controls import Case, Control, Counterpart, Known, Origin, controls

PACKAGE = """
from test_other_controls import Anew, Frozen, Hiss, Raw
"""


@dataclass(frozen=True)
class Raw(Control):
    """The sender before it was trained, as a package of checkpoints may have it."""

    name: ClassVar[str] = "raw"
    about: ClassVar[str] = "the sender's first checkpoint"
    known: ClassVar[Known] = "nothing"

    def stitches(self, case: Case) -> int:
        """One."""
        return 1

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """What `random_sender` draws from the first seed."""
        (raw,) = controls.make("random_sender?seeds=1").counterparts(case)
        yield Counterpart("first checkpoint", 0, raw.sender, case.fit, case.test)


@dataclass(frozen=True)
class Anew(Control):
    """A network that has learnt what the receiver has, anew."""

    name: ClassVar[str] = "anew"
    about: ClassVar[str] = "a network trained like the receiver"
    known: ClassVar[Known] = "same"

    def stitches(self, case: Case) -> int:
        """One."""
        return 1

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """It was trained from the seed 5."""
        sender = conflict_planted.network("first", 5)
        yield Counterpart("trained anew", 0, sender, *case.receiver_samples)


@dataclass(frozen=True)
class Frozen(Anew):
    """The receiver once more."""

    name: ClassVar[str] = "frozen"
    own_weights: ClassVar[bool] = True

    def stitches(self, case: Case) -> int:
        """One per seed."""
        return len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """The receiver."""
        yield from controls.make("self").counterparts(case)


@dataclass(frozen=True)
class Hiss(Control):
    """Noise of a third party's own."""

    name: ClassVar[str] = "hiss"
    about: ClassVar[str] = "noise at the cut"
    known: ClassVar[Known] = "nothing"
    origin: ClassVar[Origin] = "noise"

    def stitches(self, case: Case) -> int:
        """One per seed."""
        return len(case.seeds)

    def counterparts(self, case: Case) -> Iterator[Counterpart]:
        """Clusters of noise."""
        yield from controls.make("clustered_noise").counterparts(case)


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The controls as a package of its own that is installed."""
    (tmp_path / "their_controls.py").write_text(PACKAGE)
    info = tmp_path / "their_controls-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-controls\nVersion: 1.0\n")
    lines = [f"{cls.name} = their_controls:{cls.__name__}" for cls in (Raw, Anew, Frozen, Hiss)]
    (info / "entry_points.txt").write_text("\n".join(["[seamripper.controls]", *lines]))
    monkeypatch.syspath_prepend(tmp_path)
    controls.reload()
    yield
    monkeypatch.undo()
    controls.reload()


def test_conflict_reads_them_as_its_own() -> None:
    """An untrained network of any name gives the set its power, and one of the same information is its measure."""
    receiver = conflict_planted.network("first", 1)
    ours, theirs = (
        conflict_planted.put(receiver, conflict=conflict_planted.CONFLICT, controls=chosen)
        for chosen in (("self", "random_sender?seeds=1"), ("frozen", "raw"))
    )
    assert (theirs.answer, theirs.figures["control"]) == ("yes", "frozen")
    assert theirs.figures["nothing"] == ours.figures["nothing"]
    assert theirs.effect == ours.effect
    assert list(theirs.controls) == ["frozen", "raw"]
    other = conflict_planted.network("second", 1)
    assert conflict_planted.put(other, conflict=conflict_planted.CONFLICT, controls=("anew", "raw")).answer == "no"


def test_of_several_that_have_learnt_nothing_the_best_counts() -> None:
    chosen = ("self", "anew", "random_sender", "raw")
    verdict = conflict_planted.put(
        conflict_planted.network("first", 1), conflict=conflict_planted.CONFLICT, controls=chosen
    )
    # The one that does not repeat the receiver's accidents decides.
    assert list(verdict.controls) == ["anew", "random_sender", "raw", "self"]
    drawn = max(share.value for name in ("random_sender", "raw") for share in verdict.controls[name])
    alone = conflict_planted.put(
        conflict_planted.network("first", 1), conflict=conflict_planted.CONFLICT, controls=("anew", "random_sender")
    )
    assert drawn == max(share.value for share in alone.controls["random_sender"])
    assert verdict.figures["nothing"] == alone.figures["nothing"]


def test_noise_is_not_shown_changed_inputs() -> None:
    verdict = conflict_planted.put(
        conflict_planted.network("first", 1), conflict=conflict_planted.CONFLICT, controls=("self", "hiss")
    )
    assert verdict.answer == "unknown"
    assert list(verdict.controls) == ["self"]


def test_mixing_reads_them_as_its_own() -> None:
    ours = mixing_planted.put("first", 0, controls=("self", "random_sender"))
    theirs = mixing_planted.put("first", 0, controls=("frozen", "raw"))
    assert (ours.answer, theirs.answer) == ("yes", "yes")
    assert (theirs.figures["control"], theirs.figures["known_different"]) == ("frozen", "raw")
    assert "weaker evidence" in theirs.sentence
    assert theirs.figures["looks"] == ours.figures["looks"]
    both = mixing_planted.put("first", 0, controls=("self", "random_sender", "raw"))
    assert both.figures["known_different"] == "random_sender and raw"
    assert list(both.controls) == ["self", "random_sender", "raw"]


def test_the_tolerance_is_that_of_what_is_declared() -> None:
    other = mixing_planted.put("second", controls=("anew", "raw"))
    assert (other.answer, other.figures["control"]) == ("no", "anew")
    assert "weaker evidence" not in other.sentence
    assert TOLERANCE < OWN_TOLERANCE
    same = mixing_planted.evidence(conflict_planted.network("first", 1), controls=("anew", "frozen"))
    assert Mixing(n=400).put(same).figures["control"] == "anew"


def test_rank_reads_them_as_its_own() -> None:
    given = mixing_planted.evidence(
        conflict_planted.network("first", 1), controls=("self", "frozen", "hiss", "clustered_noise", "raw")
    )
    verdict = Rank().put(given)
    assert list(verdict.controls) == ["native", "self", "frozen", "hiss", "clustered_noise"]
    assert verdict.controls["hiss"] == verdict.controls["clustered_noise"]
    assert verdict.controls["frozen"] == verdict.controls["self"]


def test_the_built_in_controls_declare_what_the_rules_read() -> None:
    declared = {name: (cls.known, cls.origin, cls.own_weights) for name, cls in controls.items()}
    networks = {name: kind for name, (kind, origin, _) in declared.items() if origin == "network"}
    assert networks.items() >= {("self", "same"), ("other_seed", "same"), ("random_sender", "nothing")}
    assert {name for name, kind in networks.items() if kind == "nothing"} == {"random_sender", "raw"}
    assert {name for name, (_, origin, _) in declared.items() if origin == "noise"} == {"clustered_noise", "hiss"}
    assert {name for name, (_, _, own) in declared.items() if own} == {"self", "shifted_labels", "frozen"}
