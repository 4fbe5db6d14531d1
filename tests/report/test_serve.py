"""serve: what is listed, how it stands, who is answered, and that nothing is written."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import http.client
import json
import math
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from markupsafe import escape

from seamripper.errors import ExperimentError, FileError
from seamripper.experiment import Experiment, Local, Store, run
from seamripper.experiment.job import Graph
from seamripper.experiment.runs import born, provenance
from seamripper.report import serve as module
from seamripper.report.html import asset
from seamripper.report.runs import is_settled, stamp
from seamripper.report.serve import RunServer

HOSTILE = "<img src=x onerror=alert(1)>"
CODE = """
import time

def f(k):
    if k == 9:
        raise ValueError('nine')
    return {'double': 2 * k, 'word': '</script><script>alert(2)</script>'}

def slow(k):
    time.sleep(0.15)
    return {'k': k}
"""


def at_rest(folder: Path) -> None:
    """Wait until a store is seen to be at rest: what is read of it from then on may be kept."""
    while not is_settled(stamp(folder)):
        time.sleep(0.01)


class Answer:
    """What came back."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.text = answer.status, answer.headers, answer.read().decode()

    @property
    def json(self) -> Any:
        return json.loads(self.text)


def asked(server: RunServer, path: str, *, method: str = "GET", host: str | None = None, **more: str) -> Answer:
    """A request over a socket; the path and the headers are sent as they are."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    try:
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", f"127.0.0.1:{server.server_port}" if host is None else host)
        for name, value in more.items():
            connection.putheader(name, value)
        connection.endheaders()
        return Answer(connection.getresponse())
    finally:
        connection.close()


def raw(server: RunServer, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=120) as to:
        to.sendall(data)
        to.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: to.recv(65536), b""))


@pytest.fixture
def serving() -> Iterator[Callable[..., RunServer]]:
    """A server at work on a port of its own: `serving(folder)`."""
    servers: list[tuple[RunServer, threading.Thread]] = []

    def start(folder: Path, **more: Any) -> RunServer:
        server = RunServer(folder, **{"port": 0, **more})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.002})
        thread.start()
        servers.append((server, thread))
        return server

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def study(folder: Path, name: str, numbers: list[int], function: str = "f") -> Path:
    (folder / "mine.py").write_text(CODE)
    path = folder / f"{name}.toml"
    path.write_text(f'[[call]]\nfunction = "mine.py:{function}"\ngrid = {{ k = {numbers} }}\n')
    return path


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with real runs: one finished, one with a failure further down, in a folder of a hostile name."""
    home = tmp_path_factory.mktemp("served")
    run(Experiment.read(study(home, "study", [0, 1, 2, 3])), home / "runs" / "study", engine=Local(1))
    run(Experiment.read(study(home, "worse", [0, 9])), home / "runs" / "old" / HOSTILE, engine=Local(1))
    return home / "runs"


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    """A copy of it that may be changed."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every file and folder, with its bytes and the time of its last change: a file that came and went is told too."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        facts = path.lstat()
        data = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (facts.st_mode, facts.st_mtime_ns, facts.st_nlink, facts.st_size, data)
    return found


# ---- slow and many connections


@pytest.fixture
def connected() -> Iterator[Callable[[RunServer], socket.socket]]:
    """A connection that nothing is sent on: `connected(server)`."""
    with contextlib.ExitStack() as stack:
        yield lambda server: stack.enter_context(socket.create_connection(("127.0.0.1", server.server_port), 20))


def held(server: RunServer) -> int:
    return len(server._open)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.005)


def test_slow_connections_are_dropped_at_one_deadline(serving: Any, tmp_path: Path, connected: Any) -> None:
    """However their bytes trickle in, and while others are answered."""
    server = serving(tmp_path, patience=0.6)
    begun, dropped = time.monotonic(), dict[socket.socket, float]()
    slow = [connected(server) for _ in range(50)]
    assert asked(server, "/runs.json").status == 200
    for byte in b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * 2000:
        # A byte each again and again: a limit on the wait for one byte would never be reached.
        for connection in slow:
            connection.setblocking(False)
            try:
                connection.send(bytes([byte]))
                gone = connection.recv(1) == b""
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                dropped.setdefault(connection, time.monotonic() - begun)
        if len(dropped) == len(slow):
            break
        assert time.monotonic() - begun < 15, f"{len(dropped)} of {len(slow)} were dropped"
        time.sleep(0.01)
    assert len(dropped) == 50
    assert min(dropped.values()) >= 0.6
    assert asked(server, "/runs.json").status == 200


def test_connections_beyond_the_most_are_turned_away_and_room_comes_again(
    serving: Any, tmp_path: Path, connected: Any
) -> None:
    server = serving(tmp_path, most=3)
    idle = [connected(server) for _ in range(3)]
    until(lambda: held(server) == 3)
    refused = asked(server, "/")
    assert refused.status == 503
    assert "too many connections" in refused.text
    assert held(server) == 3
    idle[0].close()
    until(lambda: held(server) == 2)
    assert asked(server, "/").status == 200


def test_an_answer_that_takes_long_to_make_is_not_cut_off(serving: Any, runs: Path) -> None:
    """The deadline is for the request: a long table takes as long as it takes."""
    server = serving(runs, patience=0.3)
    with server.runs._lock, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asked, server, "/runs.json")
        until(lambda: list(server._open.values()) == [math.inf])
        begun = time.monotonic()
        until(lambda: time.monotonic() - begun > 0.5)
        assert held(server) == 1
        server.runs._lock.release()
        try:
            assert answer.result(20).status == 200
        finally:
            server.runs._lock.acquire()


# ---- the list


def test_runs_are_listed_with_how_they_stand(serving: Any, runs: Path) -> None:
    rows = asked(serving(runs), "/runs.json").json["runs"]
    worse, study = rows
    assert (study["name"], study["url"], study["experiment"], study["state"]) == (
        *("study", "/run/study/", "study", "finished"),
    )
    assert (study["done"], study["asked"], study["engine"], study["note"]) == (4, 4, "local", "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", study["started"])
    assert worse["name"] == f"old/{HOSTILE}"
    assert worse["url"] == f"/run/old/{quote(HOSTILE)}/"
    assert (worse["state"], worse["done"], worse["asked"]) == ("1 failed", 1, 2)


def test_the_page_shows_the_same_without_a_script(serving: Any, runs: Path) -> None:
    answer = asked(serving(runs), "/")
    assert answer.status == 200
    assert '<a href="/run/study/">study</a>' in answer.text
    assert '<progress max="4" value="4"></progress>4 of 4' in answer.text
    assert '<td class="failed">1 failed</td>' in answer.text
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in answer.text
    assert '<p id="none" hidden>' in answer.text


def test_pages_say_the_name_of_the_folder_and_not_where_it_lies(serving: Any, runs: Path) -> None:
    server = serving(runs)
    assert "<h1>Runs in runs</h1>" in asked(server, "/").text
    words = "&".join(f"run={quote(word)}" for word in ("study?study", f"old/{HOSTILE}?worse"))
    for address in ("/", "/runs.json", "/run/study/", "/run/study/results.csv", f"/beside?{words}"):
        answer = asked(server, address)
        assert answer.status == 200
        assert str(runs.parent) not in answer.text, address


def test_an_empty_folder_says_how_to_fill_it_and_fills(serving: Any, made: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    server = serving(tmp_path / "new")
    assert '<p id="none">There is none yet: <code>seamripper run STUDY.toml</code>' in asked(server, "/").text
    shutil.copytree(made / "study", tmp_path / "new" / "study")
    assert [row["name"] for row in asked(server, "/runs.json").json["runs"]] == ["study"]


def test_only_so_deep_and_no_store_within_a_store(serving: Any, made: Path, runs: Path) -> None:
    shutil.copytree(made / "study", runs / "a" / "b" / "c")
    shutil.copytree(made / "study", runs / "a" / "b" / "d" / "e")
    shutil.copytree(made / "study", runs / "study" / "damaged" / "old")
    server = serving(runs)
    names = [row["name"] for row in asked(server, "/runs.json").json["runs"]]
    assert names == ["a/b/c", f"old/{HOSTILE}", "study"]
    assert asked(server, "/run/a/b/d/e/").status == 404
    assert asked(server, "/run/study/damaged/old/").status == 404


def test_a_store_itself_can_be_served(serving: Any, runs: Path) -> None:
    server = serving(runs / "study")
    (row,) = asked(server, "/runs.json").json["runs"]
    assert (row["name"], row["url"], row["state"]) == ("study", "/run/", "finished")
    assert "<html" in asked(server, "/run/").text
    assert asked(server, "/run/results.csv").text.startswith("experiment,")


def test_two_experiments_of_a_store_are_two_rows(serving: Any, runs: Path) -> None:
    with Store(runs / "study", write=True) as store:
        store.remember("a & b", {}, Graph({}, ()))
    server = serving(runs)
    rows = [row for row in asked(server, "/runs.json").json["runs"] if row["name"] == "study"]
    assert [row["url"] for row in rows] == ["/run/study/?experiment=a%20%26%20b", "/run/study/?experiment=study"]
    assert asked(server, "/run/study/results.csv?experiment=a%20%26%20b").text == "figure,value\n"
    assert len(asked(server, "/run/study/results.csv?experiment=study").text.splitlines()) == 9
    answer = asked(server, "/run/study/results.csv?experiment=studi")
    assert (answer.status, "did you mean &#39;study&#39;?" in answer.text) == (409, True)


def test_what_is_damaged_breaks_nothing(serving: Any, made: Path, runs: Path) -> None:
    for name in ("torn", "text", "line", "newer", "older", "linked"):
        shutil.copytree(made / "study", runs / name)
    (runs / "torn" / "experiments" / "study.json").write_bytes(b'["half of what was asked')
    (runs / "text" / "store.json").write_text("no store at all")
    (journal,) = (runs / "line" / "journals").iterdir()
    journal.write_bytes(journal.read_bytes().replace(b'"double":4', b'"double":5'))
    (runs / "newer" / "store.json").write_text('{"format": 99}')
    (runs / "older" / "store.json").unlink()
    (runs / "older" / "ledger.sqlite").touch()
    shutil.move(runs / "linked" / "journals", runs.parent / "journals")
    (runs / "linked" / "journals").symlink_to(runs.parent / "journals")
    Store(runs / "new", write=True).close()
    server = serving(runs)
    rows = {row["name"]: row for row in asked(server, "/runs.json").json["runs"]}
    assert {name: row["state"] for name, row in rows.items() if name[:4] != "old/"} == {
        **dict.fromkeys(["torn", "text", "newer", "older", "linked"], "damaged"),
        "line": "waiting",
        "new": "waiting",
        "study": "finished",
    }
    assert "runs/torn/experiments/study.json" in rows["torn"]["note"]
    assert rows["line"]["note"] == "1 damaged line in its journals"
    assert "was written by a newer seamripper" in rows["newer"]["note"]
    assert "was written by an older seamripper" in rows["older"]["note"]
    assert "journals is a link" in rows["linked"]["note"]
    for name in ("torn", "text", "newer", "older", "linked"):
        for path in (f"/run/{name}/", f"/run/{name}/results.csv"):
            answer = asked(server, path)
            assert answer.status == 409, (path, answer.text)
            assert "Traceback" not in answer.text
    assert asked(server, "/run/line/").status == 200
    assert len(asked(server, "/run/line/results.csv").text.splitlines()) == 1 + 6
    assert asked(server, "/").status == 200


def test_a_run_that_was_killed_waits(serving: Any, runs: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with Store(runs / "study", write=True, name="one") as store:
        store.remember("study", {}, Graph({}, (("ab" * 32, {}),)))
        store.runs.begin("study", {"engine": "local"})
    file = runs / "study" / "runs" / "one.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "pid": dead.pid, "born": born(dead.pid)}))
    server = serving(runs)

    def state() -> str:
        return str(asked(server, "/runs.json").json["runs"][1]["state"])

    at_rest(runs / "study")
    assert (state(), state()) == ("running", "running")
    dead.communicate(b"\n")
    assert state() == "waiting", "though no file has changed"


def test_names_that_are_markup_or_no_text_are_shown_and_nothing_more(serving: Any, made: Path, runs: Path) -> None:
    for name in (
        b"quote\"'",
        b"per%cent",
        b"a?b#c",
        b"..%2f..",
        b"bytes\xff",
        b"results.csv",
        b"a;b&c",
        b"line\nbreak",
    ):
        shutil.copytree(made / "study", os.fsdecode(os.fsencode(runs) + b"/" + name))
    with Store(runs / "study", write=True) as store:
        store.remember(f"{HOSTILE}</script>", {}, Graph({}, ()))
    server = serving(runs)
    page, rows = asked(server, "/"), asked(server, "/runs.json").json["runs"]
    assert "<img" not in page.text
    assert page.text.count("<script") == 1
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.text
    assert len(rows) == 11
    for row in rows:
        assert row["url"].isascii()
        assert asked(server, f"{row['url'].partition('?')[0]}results.csv").text.startswith("experiment,"), row
        assert asked(server, row["url"]).status == 200


def test_the_script_draws_rows_as_text_alone(serving: Any, runs: Path, tmp_path: Path) -> None:
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval", "Function("):
        assert word not in asset("serve.js")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    (tmp_path / "rows.json").write_text(asked(serving(runs), "/runs.json").text)
    (tmp_path / "page.js").write_text(
        """
        class Element {
          constructor(tag) { Object.assign(this, {tag, children: [], attributes: {}}); }
          append(...more) { this.children.push(...more); }
          replaceChildren(...more) { this.children = more; }
          setAttribute(name, value) { this.attributes[name] = value; }
        }
        const parts = {tbody: new Element("tbody"), said: new Element("p"), none: new Element("p")};
        globalThis.document = {
          querySelector: name => parts[name], querySelectorAll: () => [{value: "study?study"}],
          getElementById: name => parts[name],
          createElement: tag => new Element(tag),
        };
        const text = require("fs").readFileSync("rows.json", "utf8");
        globalThis.fetch = async path => ({ok: path === "/runs.json", text: async () => text});
        let looks = 0;
        globalThis.setTimeout = look => {
          if (looks++ < 2) return queueMicrotask(look);
          console.log(JSON.stringify(parts));
        };
        """
        + asset("serve.js")
    )
    said = subprocess.run([node, "page.js"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    drawn = json.loads(said.stdout)
    assert drawn["none"]["hidden"] is True
    assert drawn["said"]["textContent"] == ""
    first = drawn["tbody"]["children"][0]["children"]
    assert first[0]["children"][0]["attributes"]["value"] == f"old/{HOSTILE}?worse"
    boxes = [row["children"][0]["children"][0] for row in drawn["tbody"]["children"]]
    assert [box["checked"] for box in boxes] == [False, True], "what was chosen stays so"
    assert first[1]["children"][0]["textContent"] == f"old/{HOSTILE}"
    assert first[1]["children"][0]["attributes"]["href"] == f"/run/old/{quote(HOSTILE)}/"
    assert (first[3]["textContent"], first[3]["className"]) == ("1 failed", "failed")
    assert (first[4]["children"][0]["max"], first[4]["children"][0]["value"]) == (2, 1)
    assert first[4]["children"][1] == "1 of 2"


# ---- two runs


def test_two_runs_are_shown_side_by_side(runs: Path, serving: Callable[..., RunServer]) -> None:
    server = serving(runs)
    words = [f"run={quote(word)}" for word in ("study?study", f"old/{HOSTILE}?worse")]
    page = asked(server, f"/beside?{'&'.join(words)}")
    assert page.status == 200
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "1 figures are in both runs" in page.text, "of the calls, k = 0 alone is in both"
    assert '<th scope="col"><button type="button">study</button></th>' in page.text
    assert HOSTILE not in page.text.replace(str(escape(HOSTILE)), ""), "names are escaped"
    alone = asked(server, f"/beside?{words[0]}")
    assert alone.status == 400
    assert "Expected two runs to be shown side by side, but 1 were chosen." in alone.text
    assert asked(server, f"/beside?{words[0]}&run={quote('../runs/study?study')}").status == 404


# ---- a run


def test_the_table_of_a_run(serving: Any, runs: Path) -> None:
    answer = asked(serving(runs), "/run/study/results.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert [row["value"] for row in rows if row["figure"] == "double"] == ["0.0", "2.0", "4.0", "6.0"]


def test_the_report_of_a_run(serving: Any, runs: Path) -> None:
    server = serving(runs)
    answer = asked(server, "/run/study/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "alert(2)</script>" not in answer.text
    moved = asked(server, f"/run/old/{quote(HOSTILE)}")
    assert (moved.status, moved.headers["Location"]) == (302, f"/run/old/{quote(HOSTILE)}/")


def test_a_report_is_rendered_again_only_if_its_run_has_changed(
    serving: Any, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered: list[str] = []
    page = module.page

    def counted(folder: Path, **more: Any) -> str:
        rendered.append(folder.name)
        return page(folder, **more)

    monkeypatch.setattr(module, "page", counted)
    server = serving(runs)
    at_rest(runs / "study")
    texts = {asked(server, "/run/study/").text for _ in range(3)}
    assert (len(texts), rendered) == (1, ["study"])
    with Store(runs / "study", write=True) as store:
        store.remember("study", {}, Graph({}, ()))
    assert asked(server, "/run/study/").text not in texts
    assert rendered == ["study", "study"]


@pytest.mark.slow
def test_a_run_is_watched_while_it_fills(serving: Any, tmp_path: Path) -> None:
    path = study(tmp_path, "slow", list(range(24)), "slow")
    (tmp_path / "runs").mkdir()
    server = serving(tmp_path / "runs")
    words = [
        sys.executable,
        "-m",
        "seamripper",
        "run",
        str(path),
        "--store",
        "runs/slow",
        "--engine",
        "local?workers=1",
        "--quiet",
    ]
    filling = subprocess.Popen(words, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"})
    seen: list[tuple[str, int]] = []
    tables, reports = set(), set()
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end and (not seen or seen[-1][0] != "finished"):
            for row in asked(server, "/runs.json").json["runs"]:
                assert row["state"] in ("running", "finished", "waiting"), row
                seen.append((row["state"], row["done"]))
                if row["state"] == "running":
                    tables.add(len(asked(server, "/run/slow/results.csv").text.splitlines()))
                    reports.add(asked(server, "/run/slow/").status)
            time.sleep(0.05)
        assert filling.wait(timeout=120) == 0
    finally:
        filling.kill()
        filling.wait()
    counts = [done for _, done in seen]
    assert counts == sorted(counts)
    assert counts[-1] == 24
    assert len({done for state, done in seen if state == "running"}) > 4, "it was seen to fill"
    assert len(tables) > 4
    assert reports == {200}


# ---- who is answered


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:8642", "[::1]", "[::1]:1", "localhost:9999"])
def test_this_machine_is_answered(serving: Any, runs: Path, host: str) -> None:
    assert asked(serving(runs), "/runs.json", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8642", "127.0.0.1.evil.example", "localhost.evil.example", "localhost@evil"),
        *(
            "evil@localhost",
            "127.0.0.1:80:80",
            "127.0.0.1:x",
            "127.0.0.2",
            "0.0.0.0",
            "[::1",
            "::1",
            "",
            "localhost, evil",
        ),
        *(
            "http://localhost",
            "localhost/",
            "localhost evil",
            "127.1",
            "2130706433",
            "[::ffff:127.0.0.1]",
            "localhost.",
        ),
    ],
)
@pytest.mark.parametrize("path", ["/", "/runs.json", "/run/study/", "/run/study/results.csv", "/nothing"])
def test_another_host_is_refused(serving: Any, runs: Path, host: str, path: str) -> None:
    answer = asked(serving(runs), path, host=host)
    assert answer.status == 403
    assert "study" not in answer.text
    assert "but it was for another host" in answer.text


def test_two_hosts_and_requests_without_one_are_refused(serving: Any, runs: Path) -> None:
    server = serving(runs)
    both = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n"
    for request in (both, b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"):
        said = raw(server, request)
        assert said.startswith(b"HTTP/1.0 403 ")
        assert b"study" not in said
    assert b"study" not in raw(server, b"GET /\r\n\r\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "get"])
def test_nothing_but_get_and_head(serving: Any, runs: Path, method: str) -> None:
    answer = asked(serving(runs), "/", method=method)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert "Only GET and HEAD are answered" in answer.text


@pytest.mark.parametrize("path", ["/", "/runs.json", "/run/study/", "/run/study/results.csv", "/nothing"])
def test_head_is_get_without_what_is_shown(serving: Any, runs: Path, path: str) -> None:
    server = serving(runs)
    head, get = asked(server, path, method="HEAD"), asked(server, path)
    assert head.text == ""
    drop = {"Date"}
    assert {k: v for k, v in head.headers.items() if k not in drop} == {
        k: v for k, v in get.headers.items() if k not in drop
    }


@pytest.mark.parametrize("path", ["/", "/runs.json", "/run/study/", "/run/study/results.csv", "/nothing", "/run/study"])
def test_every_answer_is_locked_up(serving: Any, runs: Path, path: str) -> None:
    headers = asked(serving(runs), path).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in headers
    assert "Python" not in headers["Server"]
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["img-src"] == "data:"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["form-action"] == "'self'", "two runs are chosen by a form, dialogs are closed by one"
    if path == "/run/study/":
        assert policy["script-src"] == policy["style-src"] == "'unsafe-inline'"
        assert "connect-src" not in policy
    else:
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert policy["connect-src"] == "'self'"


def test_the_policy_names_the_very_script_and_style_of_the_page(serving: Any, runs: Path) -> None:
    import base64

    answer = asked(serving(runs), "/")
    for tag in ("script", "style"):
        text = answer.text.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        seal = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{seal}'" in answer.headers["Content-Security-Policy"]
    assert " style=" not in answer.text
    assert not re.search(r"\son\w+=(?!alert)", answer.text)


@pytest.mark.parametrize(
    "request_line",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET / HTTP/1.1 x\r\n\r\n",
    ],
)
def test_what_is_no_request_gets_a_sentence_or_nothing(serving: Any, runs: Path, request_line: bytes) -> None:
    server = serving(runs)
    said = raw(server, request_line)
    assert b"Traceback" not in said
    assert b"study" not in said
    assert raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70000 + b"\r\n\r\n").startswith(
        b"HTTP/1.0 431 "
    )
    assert asked(server, "/").status == 200


# ---- nothing outside of the folder


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/run/../outside/",
            "/run/%2e%2e/outside/",
            "/run/%2e%2e%2foutside/",
            "/run/..%2foutside/",
            "/run/old/../study/",
        ),
        *("/run/./study/", "/run//study/", "/run/study//", "/run/study/%00/", "/run/study%00/", "/run/%00", "/run/"),
        *(
            "/run//etc/",
            "/run/%2fetc%2fpasswd",
            "/run/~/",
            "/run/study/store.json",
            "/run/study/journals/",
            "/run/nothing/",
        ),
        *(
            "/run/study/../../outside/results.csv",
            "/run/outward/",
            "/run/outward/results.csv",
            "/run/linked/",
            "/run/STUDY/",
        ),
        *(
            "/../outside/",
            "/study/",
            "/etc/passwd",
            "/run",
            "/favicon.ico",
            "http://127.0.0.1/runs.json",
            "*",
            "/run/%ZZ/",
        ),
        *(
            "/run/study/results.csv/",
            "/run/results.csv",
            "/run/old/",
            "/run/study/results%2ecsv",
            "/run/\\..\\outside/",
        ),
    ],
)
def test_nothing_else_is_there(serving: Any, made: Path, runs: Path, path: str) -> None:
    outside = Path(shutil.copytree(made / "study", runs.parent / "outside"))
    (runs / "outward").symlink_to(outside, target_is_directory=True)
    (runs / "linked").mkdir()
    (runs / "linked" / "store.json").symlink_to(outside / "store.json")
    server = serving(runs)
    answer = asked(server, path)
    assert answer.status == 404, path
    assert "There is nothing under this address" in answer.text
    assert [row["name"] for row in asked(server, "/runs.json").json["runs"]] == [f"old/{HOSTILE}", "study"]


def test_links_and_pipes_in_a_store_are_not_followed(serving: Any, runs: Path) -> None:
    (worse,) = (runs / "old").iterdir()
    for part, suffix in (("journals", ".jsonl"), ("runs", ".json")):
        os.mkfifo(worse / part / f"pipe{suffix}")
        (worse / part / f"out{suffix}").symlink_to("/etc/passwd")
    os.mkfifo(worse / "claims" / f"{'ab' * 32}.0")
    server = serving(runs)
    rows = asked(server, "/runs.json").json["runs"]
    assert [row["state"] for row in rows] == ["1 failed", "finished"]
    assert not any(row["note"] for row in rows)
    os.mkfifo(worse / "experiments" / "pipe.json")
    rows = asked(server, "/runs.json").json["runs"]
    assert [row["state"] for row in rows] == ["damaged", "finished"]


# ---- nothing is written


def test_serving_changes_no_byte(serving: Any, runs: Path) -> None:
    before = tree(runs)
    server = serving(runs)
    _look_at_everything(server)
    assert tree(runs) == before


def test_serving_changes_no_byte_while_a_run_has_it_open(serving: Any, runs: Path) -> None:
    with Store(runs / "study", write=True) as store:
        store.runs.begin("study", {**provenance(), "engine": "local"})
        before = tree(runs)
        server = serving(runs)
        rows = _look_at_everything(server)
        assert [row["state"] for row in rows] == ["1 failed", "running"]
        assert tree(runs) == before
        store.runs.end()


def _look_at_everything(server: RunServer) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = asked(server, "/runs.json").json["runs"]
    assert asked(server, "/").status == 200
    for row in rows:
        for path in (row["url"], f"{row['url']}results.csv"):
            answer = asked(server, path)
            assert answer.status == 200, answer.text
    return rows


# ---- what users get wrong


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"Expected a folder with runs, but .*runs is not there"):
        RunServer(tmp_path / "runs", port=0)
    (tmp_path / "runs").touch()
    with pytest.raises(FileError, match=r"runs is a file"):
        RunServer(tmp_path / "runs", port=0)


def test_a_port_that_is_taken_and_a_host_that_is_none(serving: Any, runs: Path) -> None:
    server = serving(runs)
    with pytest.raises(ExperimentError, match=r"port \d+: Address already in use. Give another --port"):
        RunServer(runs, port=server.server_port)
    with pytest.raises(ExperimentError, match=r"cannot be served on no.such.host.invalid"):
        RunServer(runs, port=0, host="no.such.host.invalid")
    with pytest.raises(ExperimentError, match=r"cannot be served on 203.0.113.9"):
        RunServer(runs, port=0, host="203.0.113.9")


def test_an_address_that_others_reach_answers_to_its_own_name_alone(serving: Any, runs: Path) -> None:
    server = serving(runs, host="0.0.0.0")
    assert server.open_to_others
    assert asked(server, "/", host="0.0.0.0:1").status == 200
    assert asked(server, "/", host="localhost").status == 200, "a container's port that is forwarded"
    assert asked(server, "/", host="evil.example").status == 403
    assert not serving(runs).open_to_others


def test_ipv6_is_served(serving: Any, runs: Path) -> None:
    try:
        server = serving(runs, host="::1")
    except ExperimentError:
        pytest.skip("no IPv6 here")
    assert server.address == f"http://[::1]:{server.server_port}/"
    connection = http.client.HTTPConnection("::1", server.server_port, timeout=120)
    connection.request("GET", "/runs.json")
    assert connection.getresponse().status == 200
    connection.close()
