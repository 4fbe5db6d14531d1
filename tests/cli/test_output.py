"""How the command line looks: on a terminal of 80 columns, with and without colours, and where nobody is looking."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from types import SimpleNamespace

import pytest
from rich.console import Console

from seamripper._progress import Progress
from seamripper.cli import main, output
from seamripper.cli.output import (
    _bar,
    _bar_watcher,
    _standing_bar,
    _standing_words,
    print_table,
    print_verdict,
    say,
    time_left,
)
from seamripper.experiment import Standing

SENTENCE = "Where the cues disagree the stitched network gives the receiver's answer on few of the samples. " * 3


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self) -> bool:
        return True

    def lines_of(self, write: Callable[[], None]) -> list[str]:
        """The lines that this writes: pytest puts its own standard output back between fixture and test."""
        start = len(self.getvalue())
        with redirect_stdout(self):
            write()
        return self.getvalue()[start:].splitlines()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 80 columns that shows colours."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def test_sentences_wrap_between_words_at_the_width_of_the_terminal(terminal: Terminal) -> None:
    first, *lines = terminal.lines_of(lambda: say(f"margin:\n  {SENTENCE}"))
    assert first == "margin:"
    assert len(lines) == 4
    assert all(line.startswith("  ") and len(line) <= 80 for line in lines)
    assert " ".join(lines).split() == SENTENCE.split(), "no word is broken"


def test_where_no_terminal_is_looking_a_sentence_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(SENTENCE)
    print_verdict("DIFFERENT", "bad")
    assert capsys.readouterr().out == f"{SENTENCE}\nDIFFERENT\n", "and has no colours"


def test_a_verdict_is_coloured_unless_nobody_wants_that(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.lines_of(lambda: print_verdict("SAME", "good")) == ["\x1b[1;32mSAME\x1b[0m"]
    assert terminal.lines_of(lambda: print_verdict("NOT SO", "bad")) == ["\x1b[1;31mNOT SO\x1b[0m"]
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.lines_of(lambda: print_verdict("NOT SO", "bad")) == ["\x1b[1mNOT SO\x1b[0m"]


def test_a_list_can_be_read_at_80_columns(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    written = terminal.lines_of(lambda: main(["list", "measures"]))
    lines = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in written]
    at = lines.index("concentricity_difference (direction distance, symmetric yes, needs rows)")
    assert lines[at + 1].startswith("    The difference in concentricity")
    assert max(map(len, lines)) <= 80
    monkeypatch.setenv("COLUMNS", "160")
    assert any("┃" in line for line in terminal.lines_of(lambda: main(["list", "measures"]))), (
        "where there is room, it is a table"
    )


def test_a_table_breaks_no_word_at_80_columns(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit is two tables, each with the first column; where there is room it is one."""
    columns = ["control", *(f"figure-{k}" for k in range(7))]
    rows = [["random_sender", *(f"{k / 7:.4f} [0.1234, 0.9876]" for k in range(7))], ["the sender itself", *"abcdefg"]]
    written = terminal.lines_of(lambda: print_table("A title", columns, rows))
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in written]
    assert max(map(len, plain)) <= 80
    words = set(re.split(r"[\s│┃┏┓┡┩┳╇┴└┘─━]+", " ".join(plain)))
    assert {word for text in (*columns, *rows[0], *rows[1]) for word in text.split()} <= words
    assert sum("random_sender" in line for line in plain) == 2
    monkeypatch.setenv("COLUMNS", "300")
    wide = terminal.lines_of(lambda: print_table("A title", columns, rows))
    assert sum("random_sender" in line for line in wide) == 1


def test_a_bar_says_one_time_that_is_left(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a task knows of itself, or its pace so far; nothing where neither is known."""
    moment = 100.0
    monkeypatch.setattr(output.time, "monotonic", lambda: moment)
    begun: dict[str, tuple[float, int]] = {}
    assert time_left(Progress("train", 1, 5), begun) == "", "nothing is known at the first step"
    moment = 130.0
    assert time_left(Progress("train", 2, 5), begun) == "about 1 min 30 s left"
    assert time_left(Progress("audit", 0, 5, left=7.2), begun) == "about 8 s left"
    bar = _bar()
    _bar_watcher(bar)(Progress("audit", 1, 5, left=7.2))
    console = Console(file=terminal, width=80)
    line = "".join(terminal.lines_of(lambda: console.print(bar.get_renderable())))
    assert line.count("left") == 1
    assert "0:00" not in line
    assert "-:--" not in line


def test_the_bar_of_a_run_moves_within_a_job_and_its_time_is_no_finer_than_known() -> None:
    facts = {"done": 1, "failed": 0, "blocked": 0, "total": 4, "running": ("train a",), "elsewhere": 0}
    now = Standing(**facts, seconds=10.0, left=386.0, share=0.4, places=1)
    (row, _) = _standing_bar(now).renderables
    bar = next(iter(row.columns[0].cells))  # type: ignore[union-attr]
    assert (bar.completed, bar.total) == (0.4, 1)
    assert _standing_words(now)[-1] == "about 7 min left"


def test_a_job_that_takes_long_does_the_work_of_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the first of four jobs is an eighth; after ten times its time it is still not done, nor are others."""
    from seamripper.experiment import drive

    seconds = 5.0
    monkeypatch.setattr(drive.time, "monotonic", lambda: seconds)
    jobs = {key: key for key in "abcd"}
    pace = SimpleNamespace(seconds=lambda keys: 10.0 * len(list(keys)))
    plan = SimpleNamespace(failed=set(), blocked=set())
    known = {"total": 4, "pending": jobs, "pace": pace, "graph": SimpleNamespace(jobs=jobs), "running": {"a": 0.0}}
    known |= {"failed": set(), "blocked": set(), "planned": plan, "theirs": (), "begun": 0.0}
    driver = SimpleNamespace(**known, engine=SimpleNamespace(places=1))
    assert drive._Driver._standing(driver).share == pytest.approx(1 / 8)
    seconds = 100.0
    assert drive._Driver._standing(driver).share == pytest.approx(0.95 / 4)
    driver.pending = {key: key for key in "abc"}
    assert drive._Driver._standing(driver).left == pytest.approx(20.0), "two jobs are left, and the one that runs"
