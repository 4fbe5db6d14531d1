"""seamripper serve: the address it tells, what it answers, and how it ends."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest


def can_be_interrupted() -> None:
    """As at a terminal: a shell that starts things in the background has them ignore Ctrl-C, and that is inherited."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def runs(run: Any, tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text("def f(k):\n    return {'double': 2 * k}\n")
    (tmp_path / "study.toml").write_text('[[call]]\nfunction = "mine.py:f"\ngrid = { k = [0, 1] }\n')
    assert run("run", "study.toml", "--quiet").code == 0
    return tmp_path / "runs"


def rows(address: str) -> Any:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
    try:
        connection.request("GET", "/runs.json")
        return json.loads(connection.getresponse().read())["runs"]
    finally:
        connection.close()


Start = Callable[..., subprocess.Popen[str]]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_it_tells_its_address_and_serves_until_it_is_stopped(started: Start, runs: Path, sign: int) -> None:
    serving = started("serve", "--port", 0, preexec_fn=can_be_interrupted)
    assert serving.stdout is not None
    line = serving.stdout.readline()
    assert line.startswith("runs is served at http://127.0.0.1:")
    address = line.split()[4]
    assert [(row["name"], row["state"], row["done"]) for row in rows(address)] == [("study", "finished", 2)]
    serving.send_signal(sign)
    out, err = serving.communicate(timeout=120)
    assert (serving.returncode, out) == (130, "")
    assert err.strip().startswith("seamripper: Stopped.")
    assert len(err.strip().splitlines()) == 1


def test_json_tells_the_address_first(started: Start, runs: Path) -> None:
    serving = started("serve", "runs/study", "--port", 0, "--json", preexec_fn=can_be_interrupted)
    assert serving.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        text += serving.stdout.readline()
    told = json.loads(text)
    assert told["folder"] == "runs/study"
    assert rows(told["address"])[0]["url"] == "/run/"
    serving.send_signal(signal.SIGINT)
    out, err = serving.communicate(timeout=120)
    assert (serving.returncode, err.strip()) == (130, "")
    assert json.loads(out)["error"]["kind"] == "Stopped"


def test_a_host_that_others_reach_is_warned_of(started: Start, runs: Path) -> None:
    serving = started("serve", "--port", 0, "--host", "0.0.0.0", preexec_fn=can_be_interrupted)
    assert serving.stdout is not None
    assert serving.stderr is not None
    assert "http://0.0.0.0:" in serving.stdout.readline()
    assert serving.stderr.readline() == (
        "seamripper: 0.0.0.0 can be reached from other machines: whoever reaches it can read all studies in "
        "runs, without a password.\n"
    )
    serving.send_signal(signal.SIGINT)
    assert serving.wait(timeout=120) == 130


def test_a_port_that_is_taken(run: Any, runs: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = run("serve", "--port", port, "--json")
    assert found.code == 2
    assert found.json["error"]["message"] == (
        f"runs cannot be served on 127.0.0.1, port {port}: Address already in use. Give another --port (0 takes any "
        "that is free), or another --host."
    )
