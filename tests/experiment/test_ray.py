"""The engine `ray`, on a real cluster of several processes: the same numbers, and workers that may die."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import ExperimentError
from seamripper.experiment import Experiment, Local, Ray, Store, run
from seamripper.experiment.engines import Terms

pytestmark = pytest.mark.ray

REAL = """
[data]
name = "digits/correlated"
n = 150
n_test = 80

[models.digit]
train = "zoo:R_1111?width=0.125"
data = "digits/digit"
n = 300
training = "?epochs=1"
seeds = [0, 1]

[[stitch]]
senders = ["digit/1"]
receivers = ["digit/0"]
cuts = ["layer1", "layer2"]
pairing = "all"
matchings = ["direct"]
seeds = [0, 1]
controls = ["random_sender"]

[[compare]]
senders = ["digit/1"]
receivers = ["digit/0"]
pairing = "all"
measures = ["linear_cka", "opd", "minibatch_cka"]
parts = 4
"""
SLOW = """
[[call]]
function = "mine.py:f"
grid = { k = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }
"""

Rows = Callable[[Path], list[Any]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes, each a raylet of its own with one CPU."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


def on_ray(path: Path, store: Path, address: str) -> list[str]:
    words = ["run", str(path), "--store", str(store), "--engine", f"ray?address={address}", "--quiet"]
    return [sys.executable, "-m", "seamripper", *words]


def actors() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::_Actor"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_ray_and_local_give_the_same_to_the_byte(rows: Rows, cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(REAL)
    done = subprocess.run(on_ray(tmp_path / "study.toml", tmp_path / "ray", cluster.address), timeout=240)
    assert done.returncode == 0
    run(Experiment.read(tmp_path / "study.toml"), tmp_path / "local", engine=Local(2))
    assert rows(tmp_path / "ray") == rows(tmp_path / "local")
    assert {row[1] for row in rows(tmp_path / "ray")} == {"train", "stitch", "control", "compare"}
    with Store(tmp_path / "ray") as store:
        workers = {attempt["worker"] for attempt in store.attempts()}
    assert len(workers) == 2
    assert all(worker.startswith("ray-") for worker in workers)


def test_workers_that_are_killed_are_replaced(rows: Rows, cluster: Any, tmp_path: Path) -> None:
    # All but the first job wait for a sign, which is given when two workers were killed.
    sign = tmp_path / "sign"
    code = f"import pathlib, time\ndef f(k):\n    while k and not pathlib.Path({str(sign)!r}).exists():\n"
    (tmp_path / "mine.py").write_text(f"{code}        time.sleep(0.05)\n    return {{'k': k}}\n")
    (tmp_path / "study.toml").write_text(SLOW)
    driver = subprocess.Popen(on_ray(tmp_path / "study.toml", tmp_path / "s", cluster.address), stderr=subprocess.PIPE)
    killed: set[int] = set()
    end = time.monotonic() + 120
    while len(killed) < 2:
        assert driver.poll() is None
        assert time.monotonic() < end
        there = [pid for pid in actors() if pid not in killed]
        if there and list((tmp_path / "s").glob("journals/*")):
            os.kill(there[0], signal.SIGKILL)
            killed.add(there[0])
        time.sleep(0.05)
    sign.touch()
    driver.wait(timeout=120)
    assert driver.stderr is not None
    said = driver.stderr.read().decode()
    driver.stderr.close()
    assert driver.returncode == 0, said
    assert "another one tries again" in said
    assert [row[2] for row in rows(tmp_path / "s")] == ["done"] * 10


def test_a_driver_that_is_killed_loses_nothing(rows: Rows, cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import time\ndef f(k):\n    time.sleep(0.4)\n    return {'k': k}\n")
    (tmp_path / "study.toml").write_text(SLOW)
    words = on_ray(tmp_path / "study.toml", tmp_path / "s", cluster.address)
    driver = subprocess.Popen(words)
    end = time.monotonic() + 120
    while (
        not (lines := [line for path in tmp_path.glob("s/journals/*") for line in path.read_text().splitlines()])
        or len(lines) < 4
    ):
        assert time.monotonic() < end
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    assert subprocess.run(words, timeout=120).returncode == 0
    done = [
        json.loads(line)[1]["key"] for path in tmp_path.glob("s/journals/*") for line in path.read_text().splitlines()
    ]
    assert len(done) == len(set(done)) == 10, "nothing that was finished ran again"
    assert [row[2] for row in rows(tmp_path / "s")] == ["done"] * 10


def family(pid: int) -> list[int]:
    """A process and all that it has started, and these have."""
    children = [int(kid) for task in Path(f"/proc/{pid}/task").glob("*/children") for kid in task.read_text().split()]
    return [pid, *(member for child in children for member in family(child))]


def listening(pids: list[int]) -> set[tuple[str, str]]:
    """(name, address) of each socket at which the processes listen: by `ss`, or by the kernel where there is none."""
    if shutil.which("ss"):
        done = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True)
        rows = [line.split() for line in done.stdout.splitlines()]
        return {(row[-1], row[3]) for row in rows if any(f"pid={pid}," in row[-1] for pid in pids)}
    owners = {}
    for pid in pids:
        name = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        owners |= {str(fd.readlink()): name for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()}
    rows = [line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    mine = [(owners[f"socket:[{row[9]}]"], row[1]) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in owners]
    return {(name, address.replace("0100007F:", "127.0.0.1:")) for name, address in mine}


def test_without_a_cluster_ray_is_started_here_and_for_this_machine_alone(rows: Rows, tmp_path: Path) -> None:
    here = f"pathlib.Path({str(tmp_path)!r})"
    code = f"import pathlib, time\ndef f(k):\n    ({here} / 'begun').touch()\n"
    code += f"    while not ({here} / 'go').exists():\n        time.sleep(0.05)\n    return {{'k': k}}\n"
    (tmp_path / "mine.py").write_text(code)
    (tmp_path / "study.toml").write_text(SLOW)
    words = ["run", str(tmp_path / "study.toml"), "--store", str(tmp_path / "s"), "--engine", "ray?workers=1"]
    env = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    driver = subprocess.Popen([sys.executable, "-m", "seamripper", *words], env=env)
    try:
        end = time.monotonic() + 120
        while not (tmp_path / "begun").exists():
            assert driver.poll() is None
            assert time.monotonic() < end, "no job was begun"
            time.sleep(0.05)
        sockets = listening(family(driver.pid))
        for name in ("gcs_server", "raylet", "ray::_Actor", "python"):
            assert any(name in who for who, _ in sockets), f"{name} is not among {sockets}"
        assert [at for _, at in sockets if "127.0.0.1" not in at and not at.startswith("[::1]")] == []
        (tmp_path / "go").touch()
        assert driver.wait(120) == 0
    finally:
        driver.kill()
        driver.wait()
    assert len(rows(tmp_path / "s")) == 10


def test_what_no_node_has_is_refused_and_not_waited_for(cluster: Any, tmp_path: Path) -> None:
    for terms, asked in ((Terms(str(tmp_path), 1, 0.5), "1 CPU and 0.5 GPU"), (Terms(str(tmp_path), 2), "2 CPU")):
        engine = Ray(cluster.address)
        try:
            with pytest.raises(ExperimentError, match=f"asks for {asked}, and no node of the Ray cluster has that"):
                engine.require(terms)
        finally:
            engine.close()


def test_a_node_that_does_not_see_the_store_is_told_of(cluster: Any, tmp_path: Path) -> None:
    """A node whose own /…/store is another folder: it is started where something else is mounted there."""
    store = tmp_path / "store"
    store.mkdir()
    inside = f"mount -t tmpfs tmpfs {store} && exec ray start --address={cluster.address} --num-cpus=1 --block"
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-m", "true"], capture_output=True).returncode:
        pytest.skip("this machine does not let a process have mounts of its own")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    node = subprocess.Popen([unshare, "-m", "sh", "-c", inside], env=env, start_new_session=True, **quiet)
    engine = Ray(cluster.address)
    try:
        engine.require(Terms(str(store)))
        end = time.monotonic() + 120
        while sum(one["Alive"] for one in engine._ray.nodes()) < 3:
            assert node.poll() is None
            assert time.monotonic() < end, "the node did not join"
            time.sleep(0.2)
        with pytest.raises(ExperimentError, match=r"does not see the store .* Put the store on a disk that all nodes"):
            engine.begin(Terms(str(store)))
        assert list(store.iterdir()) == []
    finally:
        engine.close()
        os.killpg(node.pid, signal.SIGKILL)
        node.wait()


def test_an_address_where_nothing_is_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(k):\n    return {'k': k}\n")
    (tmp_path / "study.toml").write_text(SLOW)
    words = on_ray(tmp_path / "study.toml", tmp_path / "s", "127.0.0.1:1")
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "No Ray cluster could be reached at 127.0.0.1:1" in done.stderr


def test_without_ray_it_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(k):\n    return {'k': k}\n")
    (tmp_path / "study.toml").write_text(SLOW)
    code = "import sys; sys.modules['ray'] = None; from seamripper.cli import main; main(sys.argv[1:])"
    words = ["run", str(tmp_path / "study.toml"), "--store", str(tmp_path / "s"), "--engine", "ray"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "pip install 'seamripper[ray]'" in done.stderr
