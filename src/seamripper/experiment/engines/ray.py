"""The engine `ray`: the same jobs on a Ray cluster, one actor for each place.

An actor keeps the models that it has loaded. If it dies, its job goes to a new one; if the driver dies, the store knows
what was done. Every node must see the store's folder: tensors are written there by whoever computes them.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamripper._doors import require_whole
from seamripper._words import need
from seamripper.errors import ExperimentError, StoreError
from seamripper.experiment.engines.base import Engine, Terms
from seamripper.experiment.job import Job
from seamripper.experiment.result import Result

_PROBE, _KNOCK = 60.0, 5.0
"""Seconds within which a node must have looked for the store, and within which an address must answer."""


@dataclass(eq=False)
class Ray(Engine):
    """A cluster at `address` (or `RAY_ADDRESS`); without one, Ray on this machine, which no other machine can reach.

    A place takes `threads` CPUs and the experiment's share of a GPU; `workers` limits how many there are.
    """

    name = "ray"

    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.workers is not None:
            require_whole(self.workers, "workers", least=1, error=ExperimentError)
        self._connected = False
        self._actors: list[Any] = []
        self._busy: dict[Any, tuple[int, Job]] = {}

    def require(self, terms: Terms) -> None:
        """Connect, and see whether the cluster has what a job asks for: Ray itself would wait for ever."""
        self.terms = terms
        self._connect()
        if self._fits() < 1:
            total = self._ray.cluster_resources()
            asked = f"{terms.threads} CPU" + (f" and {terms.gpus:g} GPU" if terms.gpus else "")
            raise ExperimentError(
                f"A job of this experiment asks for {asked}, and no node of the Ray cluster has that (all of them "
                f"together have {total.get('CPU', 0):g} CPU and {total.get('GPU', 0):g} GPU). Lower `threads` or "
                "`resources.gpus`, or run it on another cluster."
            )

    def begin(self, terms: Terms) -> None:
        """Start an actor for each place, on nodes that see the store."""
        self.require(terms)
        self._require_store()
        self._actors = [self._start_actor() for _ in range(self.places)]

    @property
    def places(self) -> int:
        """As many as the cluster has room for, or as asked for."""
        return self._fits() if self.workers is None else min(self.workers, self._fits())

    @property
    def free(self) -> int:
        """Actors with nothing to do."""
        return len(self._actors) - len(self._busy)

    def start(self, job: Job) -> None:
        """Hand it to an actor with nothing to do."""
        taken = {number for number, _ in self._busy.values()}
        number = next(k for k in range(len(self._actors)) if k not in taken)
        self._busy[self._actors[number].do.remote(job.as_record())] = number, job

    def wait(self, seconds: float) -> list[Result]:
        """What came of the jobs that have ended, and of those whose actor has died."""
        if not self._busy:
            time.sleep(seconds)
            return []
        ready, _ = self._ray.wait(list(self._busy), timeout=seconds)
        return [self._result(ref) for ref in ready]

    def close(self) -> None:
        """Let go of the actors, and of a Ray that was started here."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors, self._busy = [], {}
        if self._connected:
            self._ray.shutdown()
            self._connected = False

    def _result(self, ref: Any) -> Result:
        number, job = self._busy.pop(ref)
        try:
            result: Result = self._ray.get(ref)
        except self._ray.exceptions.RayError as e:
            # The actor's process, or its node, is gone. (What a job itself raises is a result.)
            self._ray.kill(self._actors[number])
            self._actors[number] = self._start_actor()
            return Result(job.key, job.kind, "died", {"message": type(e).__name__})
        return result

    def _connect(self) -> None:
        self._ray = need("ray", extra="ray", what="The engine 'ray'")
        if self._connected or self._ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address = self.address or os.environ.get("RAY_ADDRESS")
        try:
            if address:
                _knock(address)
                self._ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            else:
                self._start_here()
        except (OSError, RuntimeError, ValueError) as e:
            where = f"at {address}" if address else "on this machine"
            why = (str(e).splitlines() or [type(e).__name__])[0].rstrip(".")
            raise ExperimentError(
                f"No Ray cluster could be reached {where}: {why}. Start one (`ray start --head`), or leave the "
                "engine's `address` and RAY_ADDRESS out to use Ray on this machine."
            ) from e
        self._connected = True

    def _start_here(self) -> None:
        """Start Ray on this machine, for this machine alone: whoever reaches its ports may run code as this user."""
        cores = len(os.sched_getaffinity(0))
        with _loopback(self._ray):
            self._ray.init(
                address="local", num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
            )
        place = self._ray.util.get_node_ip_address()
        if not ipaddress.ip_address(place).is_loopback:
            self._ray.shutdown()
            raise ExperimentError(
                f"Ray {self._ray.__version__} cannot be restricted to this machine: it would listen on {place} and run "
                "code from anyone who reaches it. Start a cluster that is safe there, and give its address, --engine "
                "'ray?address=HOST:PORT'; or use --engine local."
            )

    def _fits(self) -> int:
        """How many places the nodes have room for, each on one node."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        cpus, gpus = self.terms.threads, self.terms.gpus
        return sum(
            min(int(node.get("CPU", 0) // cpus), int(node.get("GPU", 0) / gpus + 1e-9) if gpus else 10**9)
            for node in nodes
        )

    def _start_actor(self) -> Any:
        remote = self._ray.remote(num_cpus=self.terms.threads, num_gpus=self.terms.gpus, max_restarts=0)(_Actor)
        return remote.remote(self.terms)

    def _require_store(self) -> None:
        """Every node must see the store; one that does not would lose what it computes."""
        token = f".seen-{secrets.token_hex(8)}"
        probe = Path(self.terms.store) / token
        try:
            probe.touch()
        except OSError as e:
            raise StoreError(f"The store {self.terms.store} cannot be written: {e.strerror or e}.") from e
        try:
            look = self._ray.remote(num_cpus=0)(_sees)
            nodes = [node["NodeID"] for node in self._ray.nodes() if node["Alive"]]
            place = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            asked = {
                node: look.options(scheduling_strategy=place(node_id=node, soft=False)).remote(str(probe))
                for node in nodes
            }
            for node, ref in asked.items():
                if not self._ray.get(ref, timeout=_PROBE):
                    raise ExperimentError(
                        f"The Ray node {node[:12]} does not see the store {self.terms.store}. Put the store on a disk "
                        "that all nodes share: --store DIR. (Or run it in shards: --shard.)"
                    )
        finally:
            probe.unlink(missing_ok=True)


@contextlib.contextmanager
def _loopback(ray: Any) -> Iterator[None]:
    """Within, a Ray that is started listens on this machine's loopback address alone, as it does on macOS and Windows.

    On Linux Ray takes its first address that others reach, even where 127.0.0.1 is asked for, unless it is told, as it
    is imported, that there are no clusters. Its processes read that from the environment.
    """
    constants, name = ray._private.ray_constants, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    before, given = getattr(constants, "ENABLE_RAY_CLUSTER", True), os.environ.get(name)
    constants.ENABLE_RAY_CLUSTER, os.environ[name] = False, "0"
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        os.environ.pop(name) if given is None else os.environ.update({name: given})


def _knock(address: str) -> None:
    """See whether anybody listens at HOST:PORT: Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_KNOCK).close()


class _Actor:
    """A worker in a process of Ray's."""

    def __init__(self, terms: Terms) -> None:
        from seamripper.experiment.engines.process import use_threads
        from seamripper.experiment.worker import Worker

        use_threads(terms.threads)
        self.worker = Worker(terms.store, f"ray-{os.getpid()}", device=terms.device)

    def do(self, job: dict[str, Any]) -> Result:
        """Carry out a job, given as its record."""
        from seamripper.experiment.engines.process import carry_out

        return carry_out(Job.parse(job), self.worker)


def _sees(path: str) -> bool:
    return Path(path).exists()
