"""run: carry out an experiment, on any engine, and go on where an earlier run was stopped.

::

    plan → ready jobs → claim → engine → answer → journal → ledger → jobs that waited for it become ready
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seamripper._doors import require, require_function, require_path
from seamripper.errors import ExperimentError, StoreError
from seamripper.experiment.engines import Answer, Engine, Local, Order, Terms, engine_named
from seamripper.experiment.expand import require_size
from seamripper.experiment.job import Job
from seamripper.experiment.journal import Entry, Journal
from seamripper.experiment.kept import Kept
from seamripper.experiment.kinds import kind_named
from seamripper.experiment.plan import Plan, plan
from seamripper.experiment.provenance import provenance
from seamripper.experiment.spec import Experiment, as_experiment
from seamripper.experiment.store import Store

_TRIES, _SOON = 6, 2
"""So many workers may die over one job before it counts as failed: machines are taken away, and then it is not the
job's fault. Behind so many deaths it goes to the end of the queue, so that one bad job does not hold up the others."""
_BEAT, _LOOK, _TICK, _TELL = 5.0, 0.5, 0.25, 0.2
"""Seconds between heartbeats; between looks at what another run has done; that an engine is waited for; and between two
tellings of how it stands."""


@dataclass(frozen=True)
class Standing:
    """How a run stands: jobs done (of those that were to be run), running, failed, and seconds left, about."""

    done: int
    failed: int
    blocked: int
    total: int
    running: tuple[str, ...]
    elsewhere: int
    seconds: float
    left: float | None
    places: int

    @property
    def ended(self) -> int:
        """Jobs that need not be thought of any more."""
        return self.done + self.failed + self.blocked


@dataclass(frozen=True)
class Summary:
    """What a run came to: how many jobs it did itself, found done, saw fail, and could not do."""

    experiment: str
    store: str
    run: str | None
    did: int
    before: int
    elsewhere: int
    failed: tuple[str, ...]
    blocked: int
    seconds: float
    messages: tuple[str, ...] = ()

    def as_record(self) -> dict[str, Any]:
        """The summary as JSON has it."""
        return {**vars(self), "failed": list(self.failed), "messages": list(self.messages)}


def _nobody(_: Standing) -> None:
    """The watcher that looks away."""


def store_of(experiment: Experiment) -> Path:
    """Where the results of an experiment are kept unless something else is said: runs/NAME."""
    return Path("runs") / experiment.name


def run(
    experiment: Experiment | str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    *,
    engine: Engine | str | None = None,
    retry_failed: bool = False,
    announce: Callable[[str], None] = lambda _: None,
    watch: Callable[[Standing], None] = _nobody,
) -> Summary:
    """Carry out what is not done yet; results are in the store, `seamripper.Store(…)`.

    It may be stopped or killed at any moment and started again: nothing that was finished is done twice. A second run
    on the same store shares the work. A job that fails keeps its error as its result, and does not stop the others.
    """
    experiment = as_experiment(experiment)
    engine = Local() if engine is None else engine_named(engine)
    require(retry_failed, bool, "retry_failed", error=ExperimentError)
    for name, function in (("announce", announce), ("watch", watch)):
        require_function(function, name, error=ExperimentError)
    given = store.folder if isinstance(store, Store) else store
    folder = store_of(experiment) if given is None else Path(require_path(given, "store", error=StoreError))
    # Before the store: one that is refused leaves none behind.
    require_size(experiment)
    with Store(folder, write=True) as open_store:
        open_store.take_in(announce)
        open_store.mend(announce)
        planned = plan(experiment, open_store)
        if retry_failed:
            open_store.ledger.forget(planned.failed)
            planned = replace(planned, failed=frozenset())
        open_store.ledger.remember(
            experiment.name, experiment.model_dump(mode="json", exclude={"folder"}), planned.graph
        )
        return drive(planned, open_store, engine, announce=announce, watch=watch)


def drive(
    planned: Plan,
    store: Kept,
    engine: Engine,
    *,
    announce: Callable[[str], None],
    watch: Callable[[Standing], None],
    name: str | None = None,
    keep_helpers: bool = False,
) -> Summary:
    """Carry out a plan on a store of either kind. `keep_helpers` is for shards, of which others may need them too."""
    if not planned.needed:
        return _nothing_to_do(planned, store.folder)
    experiment = planned.experiment
    terms = Terms(str(store.folder.resolve()), experiment.threads, experiment.resources.gpus)
    engine.require(terms)
    name = name or f"run-{time.strftime('%Y%m%dT%H%M%S')}-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return _Driver(planned, store, engine, terms, name, announce, watch, keep_helpers).run()


def _nothing_to_do(planned: Plan, folder: Path) -> Summary:
    failed = tuple(sorted(planned.failed & planned.graph.jobs.keys()))
    before = sum(key in planned.done for key in planned.graph.jobs)
    blocked = len(planned.blocked & {key for key, _ in planned.graph.goals})
    return Summary(planned.experiment.name, str(folder), None, 0, before, 0, failed, blocked, 0.0)


@dataclass(eq=False)
class _Driver:
    """One run. What is to be done stands in `pending`, with what each job still waits for."""

    planned: Plan
    store: Kept
    engine: Engine
    terms: Terms
    name: str
    announce: Callable[[str], None]
    watch: Callable[[Standing], None]
    keep_helpers: bool = False
    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    blocked: set[str] = field(default_factory=set)
    pending: dict[str, set[str]] = field(default_factory=dict)
    ready: deque[str] = field(default_factory=deque)
    running: dict[str, float] = field(default_factory=dict)
    theirs: set[str] = field(default_factory=set)
    """Jobs that another run has claimed."""
    deaths: Counter[str] = field(default_factory=Counter)
    messages: list[str] = field(default_factory=list)
    did: int = 0
    elsewhere: int = 0

    def __post_init__(self) -> None:
        self.graph, self.pace = self.planned.graph, self.planned.pace
        self.users = self.graph.users()
        self.done = set(self.planned.done)
        self.failed = set(self.planned.failed)
        self.blocked = set(self.planned.blocked)
        self.before = sum(key in self.done for key in self.graph.jobs)
        self.begun = time.monotonic()
        self.beaten = self.looked = self.told = 0.0
        self._lay_out()
        self.total = len(self.pending)

    def run(self) -> Summary:
        """Until nothing is left that can be done."""
        self.store.ledger.begin(self.name, self.planned.experiment.name, self._provenance())
        with contextlib.ExitStack() as stack:
            stack.callback(self._ended)
            stack.callback(self.engine.close)
            self.engine.begin(self.terms)
            journal: Journal | None = None
            while self.pending:
                self._start()
                for answer in self.engine.wait(_TICK):
                    if journal is None:
                        journal = stack.enter_context(self.store.journal(self.name))
                    self._hear(answer, journal)
                self._see_others()
                self._beat()
                self._tell()
        failed = tuple(sorted(self.failed & self.graph.jobs.keys()))
        seconds = time.monotonic() - self.begun
        return Summary(
            self.planned.experiment.name,
            str(self.store.folder),
            self.name,
            self.did,
            self.before,
            self.elsewhere,
            failed,
            len(self.blocked & {key for key, _ in self.graph.goals}),
            seconds,
            tuple(self.messages),
        )

    # ---- what is to be done

    def _lay_out(self) -> None:
        """What is to be done, from what is done: at the beginning, and when something is found damaged."""
        stuck = self.failed | self.blocked
        needed = {k: job for k, job in self.graph.needed(frozenset(self.done)).items() if k not in stuck}
        self.pending = {key: {n for n in job.needs if n not in self.done} for key, job in needed.items()}
        self.ready = deque(key for key, missing in self.pending.items() if not missing and key not in self.running)

    def _start(self) -> None:
        """Hand out what is ready and not claimed by another run."""
        while self.ready and (free := self.engine.free):
            some = [self.ready.popleft() for _ in range(min(free, len(self.ready)))]
            # What was laid out anew meanwhile may name a job that is under way.
            some = [key for key in some if key in self.pending and key not in self.running]
            claimed = set(self.store.ledger.claim(some, self.name))
            self.theirs |= set(some) - claimed
            for key in some:
                if key in claimed:
                    self._hand_out(self.graph.jobs[key])

    def _hand_out(self, job: Job) -> None:
        """Give a job to the engine, with what the jobs that it needs have left."""
        found = {need: self.store.ledger.result(need) for need in job.needs}
        gone = [need for need, entry in found.items() if entry is None]
        if gone:
            # Let go of by a run of another study, which needed it no more: it is done again.
            self.store.ledger.release([job.key], self.name)
            self.done -= set(gone)
            self._lay_out()
            self.total = max(self.total, len(self.pending))
            return
        self.running[job.key] = time.monotonic()
        inputs = {need: dict(entry.tensors) for need, entry in found.items() if entry is not None}
        self.engine.start(Order(job.key, job.kind, dict(job.content), dict(job.where), inputs))

    # ---- what comes of it

    def _hear(self, answer: Answer, journal: Journal) -> None:
        """Take in how an order has ended."""
        key = answer.key
        self.running.pop(key, None)
        if answer.ending == "stop":
            raise StoreError(f"{answer.note} The run was stopped. What was finished before is kept: run it again.")
        if answer.ending == "damaged":
            self._mend(answer)
        elif answer.ending == "died":
            self._bury(answer, journal)
        else:
            self._enter(answer, journal)

    def _enter(self, answer: Answer, journal: Journal) -> None:
        job = self.graph.jobs[answer.key]
        state = "done" if answer.ending == "done" else "failed"
        facts = (answer.record, answer.tensors, answer.seconds, answer.started, answer.worker, self.name)
        self.store.enter(journal, Entry(job.key, job.kind, state, *facts))  # type: ignore[arg-type]
        self.did += 1
        if state == "done":
            self.pace.learn(job, answer.seconds)
            shutil.rmtree(self.store.work(job.key), ignore_errors=True)
            self._settle(job.key)
        else:
            self._say(f"{job} failed: {answer.record['message']}")
            self._fail(job.key)

    def _settle(self, key: str) -> None:
        """A job is done: others may begin, and what only helped it may go."""
        self.done.add(key)
        self.pending.pop(key, None)
        for user in self.users[key]:
            if user in self.pending and key in self.pending[user]:
                self.pending[user].discard(key)
                if not self.pending[user] and user not in self.running:
                    self.ready.append(user)
        self._let_go((key, *self.graph.jobs[key].needs))

    def _fail(self, key: str) -> None:
        """A job has failed, and what needs it cannot be done."""
        self.failed.add(key)
        self.pending.pop(key, None)
        waiting, idle = list(self.users[key]), list(self.graph.jobs[key].needs)
        while waiting:
            user = waiting.pop()
            if user in self.pending:
                del self.pending[user]
                self.blocked.add(user)
                waiting += self.users[user]
                idle += self.graph.jobs[user].needs
        self._let_go(idle)

    def _let_go(self, keys: Iterable[str]) -> None:
        """Of helpers that nothing waits for any more, remove the tensors; those not begun need not be."""
        for key in dict.fromkeys(keys):
            helps = kind_named(self.graph.jobs[key].kind).helps
            if not helps or self.users[key] & self.pending.keys():
                continue
            if key in self.pending and key not in self.running:
                del self.pending[key]
                if key in self.ready:
                    self.ready.remove(key)
                self.total -= 1
            if key in self.done and not self.keep_helpers:
                entry = self.store.ledger.result(key)
                self.store.ledger.forget([key])
                for name in () if entry is None else entry.tensors.values():
                    self.store.tensors.drop(name)

    def _bury(self, answer: Answer, journal: Journal) -> None:
        """A worker has died over a job: another is to try, but not for ever."""
        key, job = answer.key, self.graph.jobs[answer.key]
        self.deaths[key] += 1
        if self.deaths[key] < _TRIES:
            self._say(f"A worker died over {job} ({answer.note}): another one tries again.")
            if self.deaths[key] < _SOON:
                self.ready.appendleft(key)
            else:
                self.ready.append(key)
            return
        # A process that nobody killed has ended itself.
        itself = answer.note.startswith("exit code")
        hint = "Does its code end the process, by os._exit say?" if itself else "Is there enough memory for it?"
        message = f"{_TRIES} workers died over this job, the last was {answer.note}. {hint}"
        record = {"error": "WorkerDied", "message": message, "traceback": ""}
        self._enter(Answer(key, "failed", record, worker=answer.worker, started=time.time()), journal)

    def _mend(self, answer: Answer) -> None:
        """A tensor is damaged: it is set aside, and the job that made it is done again."""
        made = [n for n in self.graph.jobs[answer.key].needs if answer.note in self._tensors(n)]
        aside = self.store.tensors.set_aside(answer.note)
        put = f"It was set aside ({aside}), and" if aside else "It is gone, and"
        for key in made:
            self._say(f"The tensor {answer.note[:12]} is damaged. {put} {self.graph.jobs[key]} is done again.")
        self.store.ledger.forget(made)
        self.store.ledger.release([answer.key], self.name)
        self.done -= set(made)
        self._lay_out()
        self.total += len(made)

    def _tensors(self, key: str) -> list[str]:
        entry = self.store.ledger.result(key)
        return [] if entry is None else list(entry.tensors.values())

    # ---- beside other runs

    def _see_others(self) -> None:
        """What another run had claimed: is it done, has it failed, or has that run died?"""
        if not self.theirs or time.monotonic() - self.looked < _LOOK:
            return
        self.looked = time.monotonic()
        self.store.take_in(self.announce)
        states = self.store.ledger.states()
        for key in sorted(self.theirs):
            if key in states:
                self.theirs.discard(key)
                self.elsewhere += 1
                (self._settle if states[key] == "done" else self._fail)(key)
        held, living = self.store.ledger.claims(), set(self.store.ledger.living())
        for key in sorted(self.theirs):
            if held.get(key) not in living:
                self.theirs.discard(key)
                if key in self.pending:
                    self.ready.append(key)

    def _beat(self) -> None:
        if time.monotonic() - self.beaten > _BEAT:
            self.beaten = time.monotonic()
            self.store.ledger.beat(self.name)

    def _ended(self) -> None:
        with contextlib.suppress(StoreError):
            self.store.ledger.end(self.name)

    # ---- telling

    def _say(self, message: str) -> None:
        self.messages.append(message)
        self.announce(message)

    def _tell(self) -> None:
        if not self.pending or time.monotonic() - self.told > _TELL:
            self.told = time.monotonic()
            self.watch(self._standing())

    def _standing(self) -> Standing:
        seconds = time.monotonic() - self.begun
        ended = self.total - len(self.pending)
        work = self.pace.seconds(self.graph.jobs[key] for key in self.pending)
        work -= sum(time.monotonic() - since for since in self.running.values())
        left = max(0.0, work) / max(1, self.engine.places) if ended else None
        names = tuple(str(self.graph.jobs[key]) for key in self.running)
        failed = len(self.failed - self.planned.failed)
        blocked = len(self.blocked - self.planned.blocked)
        return Standing(
            ended - failed - blocked,
            failed,
            blocked,
            self.total,
            names,
            len(self.theirs),
            seconds,
            left,
            self.engine.places,
        )

    def _provenance(self) -> dict[str, Any]:
        experiment = self.planned.experiment
        return {**provenance(experiment.folder), "engine": self.engine.name, "threads": self.terms.threads}


def jobs_in(planned: Plan) -> Iterator[tuple[Job, str]]:
    """Every job of a plan with how it stands: done, failed, blocked or to run."""
    needed, blocked = planned.needed, planned.blocked
    for key, job in planned.graph.jobs.items():
        state = "to run" if key in needed else "failed" if key in planned.failed else "done"
        yield job, "blocked" if key in blocked else state
