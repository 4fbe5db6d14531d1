"""run: carry out an experiment, on any engine, and go on where an earlier run was stopped.

::

    plan → ready jobs → claim → engine → result → journal → jobs that waited for it become ready
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seamripper._doors import require, require_function, require_path
from seamripper.errors import ExperimentError, StoreError
from seamripper.experiment.engines import Engine, Terms, engines
from seamripper.experiment.experiment import Experiment, as_experiment
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.parts.base import parts
from seamripper.experiment.plan import Plan, plan
from seamripper.experiment.result import Result
from seamripper.experiment.runs import new_run, provenance
from seamripper.experiment.shard import parse_shard, portion
from seamripper.experiment.store import Store

_TRIES, _SOON = 6, 2
"""So many workers may die over one job before it counts as failed: machines are taken away, and then it is not the
job's fault. After so many deaths it goes to the end of the queue, so that one bad job does not hold up the others."""
_BEAT, _LOOK, _TICK, _TELL = 5.0, 0.5, 0.25, 0.2
"""Seconds between heartbeats; between looks at what another run has done; that an engine is waited for; and between two
reports of progress."""


_ALMOST = 0.95
"""A job that runs has done no more than this share of its work, however long it runs."""


@dataclass(frozen=True)
class Standing:
    """The progress of a run: jobs done (of those that were to be run), running, failed, and about how long is left."""

    done: int
    failed: int
    blocked: int
    total: int
    running: tuple[str, ...]
    elsewhere: int
    seconds: float
    left: float | None
    share: float
    """The share of all jobs that has ended, and of those that run as much as their time so far lets expect."""
    places: int


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
        """The summary as JSON."""
        return {**vars(self), "failed": list(self.failed), "messages": list(self.messages)}


def store_of(experiment: Experiment) -> Path:
    """Where the results of an experiment are kept unless something else is said: runs/NAME."""
    return Path("runs") / experiment.name


def run(
    experiment: Experiment | str | os.PathLike[str],
    store: str | os.PathLike[str] | None = None,
    *,
    engine: Engine | str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    shard: str | None = None,
    job: str | None = None,
    retry_failed: bool = False,
    announce: Callable[[str], None] = lambda _: None,
    watch: Callable[[Standing], None] = lambda _: None,
) -> Summary:
    """Run the jobs that are not done yet; the results are in the store, `seamripper.Store(…)`.

    It may be stopped or killed at any moment and started again: nothing that was finished is done twice. A second run
    on the same store shares the work. `shard` runs only a part of the work, "0/4" the first of four, on machines that
    share only the folder; `job` runs only the job with this key, and what it needs. If a job fails, its error is kept
    as its result and the other jobs go on.

    `device` is where the jobs compute (`cpu`, `cuda`, `cuda:1`, `mps`, `auto`): with `cuda`, each worker has a GPU of
    its own, or the share of one that the study's `resources.gpus` says. `dtype` takes the place of the study's.
    """
    experiment = as_experiment(experiment)
    if dtype is not None:
        experiment = Experiment(**{**dict(experiment), "dtype": dtype})
    engine = engines.make(engine or "local")
    require(retry_failed, bool, "retry_failed", error=ExperimentError)
    for name, function in (("announce", announce), ("watch", watch)):
        require_function(function, name, error=ExperimentError)
    part = None if shard is None else parse_shard(shard)
    given = store.folder if isinstance(store, Store) else store
    folder = store_of(experiment) if given is None else Path(require_path(given, "store", error=StoreError))
    # Before the store: an experiment that is refused leaves none behind.
    experiment.require_size()
    word = "run" if part is None else f"shard-{part[0]}-of-{part[1]}"
    with Store(folder, write=True, name=new_run(word)) as open_store:
        planned = plan(experiment, open_store)
        graph = planned.graph
        if part is not None:
            planned = replace(planned, graph=portion(graph, *part))
        if job is not None:
            planned = replace(planned, graph=graph.only(job))
        if retry_failed:
            open_store.forget(planned.failed & planned.graph.jobs.keys())
            planned = replace(planned, failed=frozenset())
        open_store.remember(experiment.name, experiment.model_dump(mode="json", exclude={"folder"}), graph)
        # Another shard may need what helps this one.
        resources = str(open_store.folder.resolve()), experiment.threads, experiment.resources.gpus
        terms = Terms.on(device, *resources)
        summary = _Driver(planned, open_store, engine, terms, announce, watch, keep_helpers=part is not None).run()
        _remove_helpers(open_store, graph)
        return summary


def _remove_helpers(store: Store, graph: Graph) -> None:
    """Unless another run is alive, remove the tensors of helpers that no job of the graph waits for."""
    store.refresh()
    helpers = {key: names for key, names in store.helpers().items() if key in graph.jobs}
    if not helpers or store.runs.living():
        return
    waiting = graph.remaining(frozenset(store.states()))
    needed = {need for job in waiting.values() for need in job.needs}
    for key in helpers.keys() - needed:
        for name in helpers[key]:
            store.tensors.drop(name)


@dataclass(eq=False)
class _Driver:
    """One run. `pending` holds the jobs that are to be done, each with those of its needs that are not done yet."""

    planned: Plan
    store: Store
    engine: Engine
    terms: Terms
    announce: Callable[[str], None]
    watch: Callable[[Standing], None]
    keep_helpers: bool
    pending: dict[str, set[str]] = field(default_factory=dict)
    ready: deque[str] = field(default_factory=deque)
    running: dict[str, float] = field(default_factory=dict)
    """When each job was started that is running."""
    theirs: set[str] = field(default_factory=set)
    """Jobs that another run has claimed."""
    deaths: Counter[str] = field(default_factory=Counter)
    """How many workers have died over each job."""
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
        self.last_beat = self.last_look = self.last_report = 0.0
        self.damage_announced = 0
        self._find_pending()
        self.total = len(self.pending)

    def run(self) -> Summary:
        """Work until nothing is left that can be done."""
        self._announce_damage()
        if not self.planned.needed:
            return self._summary(None)
        self.engine.require(self.terms)
        experiment = self.planned.experiment
        made_with = {**provenance(experiment.folder), "engine": self.engine.name, "threads": self.terms.threads}
        if self.terms.device is not None:
            made_with["device"] = self.terms.device
        self.store.runs.begin(experiment.name, made_with)
        with contextlib.ExitStack() as stack:
            stack.callback(self._end)
            stack.callback(self.engine.close)
            self.engine.begin(self.terms)
            while self.pending:
                self._start_jobs()
                for result in self.engine.wait(_TICK):
                    self._handle(result)
                self._look_at_other_runs()
                self._beat()
                self._report()
        return self._summary(self.store.name)

    def _summary(self, run: str | None) -> Summary:
        """What the run came to."""
        return Summary(
            self.planned.experiment.name,
            str(self.store.folder),
            run,
            self.did,
            self.before,
            self.elsewhere,
            tuple(sorted(self.failed & self.graph.jobs.keys())),
            len(self.blocked & {key for key, _ in self.graph.goals}),
            0.0 if run is None else time.monotonic() - self.begun,
            tuple(self.messages),
        )

    # ---- what is to be done

    def _find_pending(self) -> None:
        """Find what is to be done from what is done: at the beginning, and when something is found damaged."""
        stuck = self.failed | self.blocked
        needed = {k: job for k, job in self.graph.remaining(frozenset(self.done)).items() if k not in stuck}
        self.pending = {key: {n for n in job.needs if n not in self.done} for key, job in needed.items()}
        self.ready = deque(key for key, missing in self.pending.items() if not missing and key not in self.running)

    def _start_jobs(self) -> None:
        """Start what is ready and not claimed by another run."""
        while self.ready and (free := self.engine.free):
            keys = [self.ready.popleft() for _ in range(min(free, len(self.ready)))]
            # When the pending jobs were found anew, one that is running may have been named again.
            keys = [key for key in keys if key in self.pending and key not in self.running]
            claimed = set(self.store.claim(keys))
            self.theirs |= set(keys) - claimed
            for key in keys:
                if key in claimed:
                    self._start(self.graph.jobs[key])

    def _start(self, job: Job) -> None:
        """Give a job to the engine, with the tensors of the jobs that it needs."""
        states = {need: self.store.state(need) for need in job.needs}
        gone = {need for need, state in states.items() if state != "done"}
        if gone:
            # A run of another study, which needed it no more, has removed it: it is done again.
            self.store.runs.release([job.key])
            self._do_again(gone)
            self.total = max(self.total, len(self.pending))
            return
        self.running[job.key] = time.monotonic()
        inputs = {need: self.store.tensors_of(need) for need in job.needs}
        self.engine.start(replace(job, inputs=inputs))

    def _do_again(self, keys: set[str]) -> None:
        self.done -= keys
        self._find_pending()

    # ---- what comes of it

    def _handle(self, result: Result) -> None:
        """Take note of what came of a job."""
        self.running.pop(result.key, None)
        if result.state == "stopped":
            message = result.record["message"]
            raise StoreError(f"{message} The run was stopped. What was finished before is kept: run it again.")
        if result.state == "damaged":
            self._replace_damaged(result.key, result.record["message"])
        elif result.state == "died":
            self._try_again(result.key, result.record["message"])
        else:
            self._enter(result)

    def _enter(self, result: Result) -> None:
        """Write a result down, and go on with what waited for it."""
        job = self.graph.jobs[result.key]
        self.store.enter(replace(result, run=self.store.name))
        self.did += 1
        if result.state == "done":
            self.pace.learn(job, result.seconds)
            shutil.rmtree(self.store.work(job.key), ignore_errors=True)
            self._mark_done(job.key)
        else:
            self._say(f"{job} failed: {result.record['message']}")
            self._mark_failed(job.key)

    def _mark_done(self, key: str) -> None:
        """A job is done: others may begin, and what only helped it may go."""
        self.done.add(key)
        self.pending.pop(key, None)
        for user in self.users[key]:
            if user in self.pending and key in self.pending[user]:
                self.pending[user].discard(key)
                if not self.pending[user] and user not in self.running:
                    self.ready.append(user)
        self._remove_idle((key, *self.graph.jobs[key].needs))

    def _mark_failed(self, key: str) -> None:
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
        self._remove_idle(idle)

    def _remove_idle(self, keys: Iterable[str]) -> None:
        """Remove the tensors of helpers that nothing waits for any more; those not begun need not be."""
        for key in dict.fromkeys(keys):
            helps = parts[self.graph.jobs[key].kind].helps
            if not helps or self.users[key] & self.pending.keys():
                continue
            if key in self.pending and key not in self.running:
                del self.pending[key]
                if key in self.ready:
                    self.ready.remove(key)
                self.total -= 1
            if key in self.done and not self.keep_helpers:
                for name in self.store.tensors_of(key).values():
                    self.store.tensors.drop(name)

    def _try_again(self, key: str, how: str) -> None:
        """A worker has died over a job: another is to try, but not for ever."""
        job = self.graph.jobs[key]
        self.deaths[key] += 1
        if self.deaths[key] < _TRIES:
            self._say(f"A worker died over {job} ({how}): another one tries again.")
            if self.deaths[key] < _SOON:
                self.ready.appendleft(key)
            else:
                self.ready.append(key)
            return
        # A process that nobody killed has ended itself.
        itself = how.startswith("exit code")
        hint = "Does its code end the process, for example by os._exit?" if itself else "Is there enough memory for it?"
        message = f"{_TRIES} workers died over this job, the last was {how}. {hint}"
        record = {"error": "WorkerDied", "message": message, "traceback": ""}
        self._enter(Result(key, job.kind, "failed", record, started=time.time()))

    def _replace_damaged(self, user: str, tensor: str) -> None:
        """A tensor that a job needs is damaged: it is set aside, and the job that made it is done again."""
        needs = self.graph.jobs[user].needs
        # A helper whose tensor is gone has no result any more.
        makers = {n for n in needs if tensor in self.store.tensors_of(n).values() or self.store.state(n) != "done"}
        aside = self.store.tensors.set_aside(tensor)
        how = f"It was set aside ({aside}), and" if aside else "It is gone, and"
        for key in sorted(makers):
            self._say(f"The tensor {tensor[:12]} is damaged. {how} {self.graph.jobs[key]} is done again.")
        self.store.forget(makers)
        self.store.runs.release([user])
        self._do_again(makers)
        self.total += len(makers)

    # ---- beside other runs

    def _look_at_other_runs(self) -> None:
        """Is what another run had claimed done, has it failed, or has that run died?"""
        if not self.theirs or time.monotonic() - self.last_look < _LOOK:
            return
        self.last_look = time.monotonic()
        self.store.refresh()
        self._announce_damage()
        for key in sorted(self.theirs):
            state = self.store.state(key)
            if state is not None:
                self.theirs.discard(key)
                self.elsewhere += 1
                (self._mark_done if state == "done" else self._mark_failed)(key)
        claims = self.store.runs.claims()
        for key in sorted(self.theirs - claims.keys()):
            self.theirs.discard(key)
            if key in self.pending:
                self.ready.append(key)

    def _beat(self) -> None:
        if time.monotonic() - self.last_beat > _BEAT:
            self.last_beat = time.monotonic()
            self.store.runs.beat()

    def _end(self) -> None:
        # Where the disk is full, the file of the run is left as it is.
        with contextlib.suppress(StoreError):
            self.store.runs.end()

    # ---- reports

    def _announce_damage(self) -> None:
        """Say which lines of journals were found damaged since the last time."""
        damage = self.store.damage
        for sentence in damage[self.damage_announced :]:
            self._say(sentence)
        self.damage_announced = len(damage)

    def _say(self, message: str) -> None:
        self.messages.append(message)
        self.announce(message)

    def _report(self) -> None:
        if not self.pending or time.monotonic() - self.last_report > _TELL:
            self.last_report = time.monotonic()
            self.watch(self._standing())

    def _standing(self) -> Standing:
        ended = self.total - len(self.pending)
        work = self.pace.seconds(self.graph.jobs[key] for key in self.pending)
        now = time.monotonic()
        # A job that takes longer than was expected of it has not done the work of others meanwhile.
        expected = {key: self.pace.seconds([self.graph.jobs[key]]) for key in self.running}
        work -= sum(min(now - since, expected[key]) for key, since in self.running.items())
        under_way = sum(min((now - since) / expected[key], _ALMOST) for key, since in self.running.items())
        failed = len(self.failed - self.planned.failed)
        blocked = len(self.blocked - self.planned.blocked)
        return Standing(
            done=ended - failed - blocked,
            failed=failed,
            blocked=blocked,
            total=self.total,
            running=tuple(str(self.graph.jobs[key]) for key in self.running),
            elsewhere=len(self.theirs),
            seconds=time.monotonic() - self.begun,
            left=max(0.0, work) / max(1, self.engine.places) if ended else None,
            share=(ended + under_way) / max(self.total, 1),
            places=self.engine.places,
        )
