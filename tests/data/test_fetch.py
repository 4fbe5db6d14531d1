"""The checksum decides: what is refused, what is asked next, what a message says, and two at once."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import io
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from seamripper.data import fetch, sources
from seamripper.data.fetch import Remote, cache_folder
from seamripper.data.sources import Debian, Npm, Pip, Source, Url, UrlTar
from seamripper.errors import DataError, FileError, UnfetchedError

GOOD = b"the right bytes"
PRINT = hashlib.sha256(GOOD).hexdigest()


class Shelf(Source):
    """A source in memory that counts how often it is asked."""

    def __init__(self, gives: bytes | Exception = b"", *, wait: float = 0) -> None:
        self.gives, self.wait, self.asked = gives, wait, 0

    def __str__(self) -> str:
        return f"shelf of {self.gives!r}"

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        self.asked += 1
        time.sleep(self.wait)
        if isinstance(self.gives, Exception):
            raise self.gives
        return {"a.bin": self.gives} if self.gives else {}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SEAMRIPPER_OFFLINE", raising=False)
    return tmp_path / "cache"


def remote(*shelves: Source) -> Remote:
    return Remote("toy", {"a.bin": PRINT}, shelves)


def test_a_file_is_fetched_once_and_kept(cache: Path) -> None:
    shelf = Shelf(GOOD)
    toy = remote(shelf)
    assert toy.read("a.bin") == GOOD
    assert toy.path("a.bin") == cache / "toy" / "a.bin"
    assert shelf.asked == 1


def test_wrong_bytes_are_refused_and_the_next_source_is_asked() -> None:
    wrong, broken, right, idle = Shelf(b"wrong"), Shelf(RuntimeError("on fire")), Shelf(GOOD), Shelf(GOOD)
    assert remote(wrong, broken, right, idle).read("a.bin") == GOOD
    assert [s.asked for s in (wrong, broken, right, idle)] == [1, 1, 1, 0]


def test_if_all_fail_the_message_says_why_and_what_to_do(cache: Path) -> None:
    toy = remote(Shelf(b"wrong"), Shelf(RuntimeError("on\n fire")), Shelf())
    with pytest.raises(UnfetchedError) as caught:
        toy.path("a.bin")
    lines = str(caught.value).splitlines()
    wrong = hashlib.sha256(b"wrong").hexdigest()[:12]
    assert lines[0] == "toy could not be fetched. What each source said:"
    assert lines[1] == f"  shelf of b'wrong': a.bin has sha256 {wrong}… and was refused"
    assert lines[2] == "  shelf of RuntimeError('on\\n fire'): on fire"
    assert lines[3] == "  shelf of b'': a.bin is not there"
    assert lines[5] == f"  {cache / 'toy' / 'a.bin'}  sha256 {PRINT}"
    assert isinstance(caught.value, DataError)
    assert [p.name for p in (cache / "toy").iterdir()] == [".lock"], "nothing of a refused file is kept"


def test_a_file_placed_by_hand_is_taken(cache: Path) -> None:
    (cache / "toy").mkdir(parents=True)
    (cache / "toy" / "a.bin").write_bytes(GOOD)
    assert remote().read("a.bin") == GOOD


def test_a_damaged_file_is_fetched_again(cache: Path) -> None:
    shelf = Shelf(GOOD)
    toy = remote(shelf)
    place = toy.path("a.bin")
    place.write_bytes(b"the right byte!")
    assert toy.read("a.bin") == GOOD
    assert shelf.asked == 2
    place.write_bytes(GOOD[:-1])
    assert toy.read("a.bin") == GOOD
    assert shelf.asked == 3


def test_cached_bytes_are_checked_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = remote(Shelf(GOOD))
    toy.path("a.bin")
    checked = []
    monkeypatch.setattr(fetch, "sha256_of", lambda path: checked.append(path) or PRINT)
    toy.read("a.bin")
    assert checked == []
    monkeypatch.setattr(fetch, "_verified", set())
    toy.read("a.bin")
    toy.read("a.bin")
    assert len(checked) == 1


def test_offline_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAMRIPPER_OFFLINE", "1")
    shelf = Shelf(GOOD)
    with pytest.raises(UnfetchedError, match=r"shelf of .*: not asked, because SEAMRIPPER_OFFLINE is set"):
        remote(shelf).path("a.bin")
    assert shelf.asked == 0
    monkeypatch.setenv("SEAMRIPPER_OFFLINE", "0")
    assert remote(shelf).read("a.bin") == GOOD


def test_what_one_source_gives_is_kept_though_another_file_is_missing() -> None:
    two = Remote("toy", {"a.bin": PRINT, "b.bin": "00" * 32}, (Shelf(GOOD),))
    with pytest.raises(UnfetchedError, match=r"b.bin is not there"):
        two.path("b.bin")
    assert two.read("a.bin") == GOOD


def test_many_threads_ask_once() -> None:
    shelf = Shelf(GOOD, wait=0.1)
    toy = remote(shelf)
    got: list[bytes] = []
    threads = [threading.Thread(target=lambda: got.append(toy.read("a.bin"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [GOOD] * 4
    assert shelf.asked == 1


@pytest.mark.slow
def test_two_processes_at_once_ask_once_and_both_get_it(tmp_path: Path) -> None:
    script = f"""
import pathlib, sys, time
from seamripper.data.fetch import Remote
from seamripper.data.sources import Source
class Slow(Source):
    def files(self, wanted):
        with open({str(tmp_path / "asked")!r}, "a") as log:
            log.write("x")
        time.sleep(1)
        return {{"a.bin": {GOOD!r}}}
pathlib.Path({str(tmp_path)!r}, "ready" + sys.argv[1]).touch()
while len(list(pathlib.Path({str(tmp_path)!r}).glob("ready*"))) < 2:
    time.sleep(0.01)
sys.stdout.buffer.write(Remote("toy", {{"a.bin": {PRINT!r}}}, (Slow(),)).read("a.bin"))
"""
    package = Path(fetch.__file__).parents[2]
    there = {**os.environ, "PYTHONPATH": str(package)}
    both = [subprocess.Popen([sys.executable, "-c", script, str(k)], env=there, stdout=subprocess.PIPE) for k in (1, 2)]
    assert [process.communicate(timeout=120)[0] for process in both] == [GOOD, GOOD]
    assert (tmp_path / "asked").read_text() == "x"


def test_the_cache_folder_can_be_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("SEAMRIPPER_CACHE")
    assert cache_folder() == tmp_path / "xdg" / "seamripper"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "seamripper"


def test_a_cache_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path / "file"))
    with pytest.raises(FileError, match="Set SEAMRIPPER_CACHE to a folder that can be"):
        remote(Shelf(GOOD)).path("a.bin")


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def test_files_of_a_web_folder_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.bin.gz").write_bytes(gzip.compress(GOOD))
    with served(tmp_path) as base:
        assert remote(Url(base, {"a.bin": "a.bin.gz"})).read("a.bin") == GOOD


def test_what_the_web_says_is_in_the_message(tmp_path: Path) -> None:
    with served(tmp_path) as base:
        pass
    gone = Url(base, {"a.bin": "a.bin"})
    with served(tmp_path) as base, pytest.raises(UnfetchedError) as caught:
        remote(Url(base, {"a.bin": "nothing"}), gone, Url("file:///etc/", {"a.bin": "x"})).path("a.bin")
    lines = str(caught.value).splitlines()
    assert "404" in lines[1]
    assert "refused" in lines[2]
    assert "expected a web address, but got 'file:///etc/x'" in lines[3]


def test_what_unpacks_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LIMIT", 1000)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * 100_000))
    (tmp_path / "large").write_bytes(b"0" * 1001)
    with served(tmp_path) as base:
        for member in ("bomb.gz", "large"):
            with pytest.raises(DataError, match="larger than 1,000 bytes"):
                Url(base, {"a.bin": member}).files(["a.bin"])


def packed(**members: bytes | str) -> bytes:
    """A tar; a member given as text is a link to that place."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def test_members_of_a_tar_on_the_web(tmp_path: Path) -> None:
    (tmp_path / "all.tar.gz").write_bytes(packed(**{"./in/a.bin": GOOD, "in/link": "/etc/hostname", "x": b"x"}))
    (tmp_path / "cut.tar.gz").write_bytes((tmp_path / "all.tar.gz").read_bytes()[:60])
    with served(tmp_path) as base:
        tar = UrlTar(f"{base}all.tar.gz", {"a.bin": "in/a.bin", "l": "in/link", "none": "in/none"})
        assert tar.files(["a.bin", "l", "none", "unknown"]) == {"a.bin": GOOD}
        with pytest.raises(DataError, match="damaged archive"):
            UrlTar(f"{base}cut.tar.gz", {"a.bin": "in/a.bin"}).files(["a.bin"])


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_packs_without_running_anything(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "a.bin").write_bytes(GOOD)
    script = f"touch {tmp_path / 'ran'}"
    scripts = ", ".join(f'"{hook}": "{script}"' for hook in ("prepare", "prepack", "postpack", "install"))
    text = f'{{"name": "toy-of-seamripper", "version": "1.0.0", "scripts": {{{scripts}}}}}'
    (package / "package.json").write_text(text)
    assert Npm(str(package), {"a.bin": "package/a.bin"}).files(["a.bin"]) == {"a.bin": GOOD}
    assert not (tmp_path / "ran").exists()


def test_a_tool_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnfetchedError) as caught:
        remote(Npm("toy@1.0.0", {"a.bin": "a"}), Debian("toy", {"a.bin": "a"})).path("a.bin")
    assert "npm toy@1.0.0: there is no 'npm' on this machine" in str(caught.value)
    assert "debian toy: there is no 'apt-get' on this machine" in str(caught.value)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip looks in, and nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_pip_gives_members_of_a_wheel(wheels: Path) -> None:
    with zipfile.ZipFile(wheels / "seamripper_toy-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toy/a.bin", GOOD)
        wheel.writestr(
            "seamripper_toy-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: seamripper-toy\nVersion: 1.0\n",
        )
        wheel.writestr(
            "seamripper_toy-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("seamripper_toy-1.0.dist-info/RECORD", "")
    assert Pip("seamripper-toy==1.0", {"a.bin": "toy/a.bin"}).files(["a.bin"]) == {"a.bin": GOOD}


def test_pip_never_takes_a_source_package_because_that_would_run_it(wheels: Path, tmp_path: Path) -> None:
    setup = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    (wheels / "seamripper_toy-1.0.tar.gz").write_bytes(packed(**{"seamripper_toy-1.0/setup.py": setup}))
    with pytest.raises(DataError, match=r"No matching distribution|Could not find a version"):
        Pip("seamripper-toy==1.0", {"a.bin": "toy/a.bin"}).files(["a.bin"])
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None, reason="not a Debian")
def test_debian_gives_members_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control = "Package: seamripper-toy\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody\nDescription: toy\n"
    tree, shop = tmp_path / "tree", tmp_path / "shop"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(control)
    (tree / "usr").mkdir()
    (tree / "usr" / "a.bin.gz").write_bytes(gzip.compress(GOOD))
    shop.mkdir()
    deb = shop / "toy.deb"
    subprocess.run(["dpkg-deb", "--build", tree, deb], check=True, capture_output=True)
    print_ = hashlib.sha256(deb.read_bytes()).hexdigest()
    (shop / "Packages").write_text(f"{control}Filename: ./toy.deb\nSize: {deb.stat().st_size}\nSHA256: {print_}\n")
    (tmp_path / "list").write_text(f"deb [trusted=yes] copy:{shop} ./\n")
    (tmp_path / "conf").write_text(f'Dir::Etc::sourcelist "{tmp_path}/list";\nDir::Etc::sourceparts "-";\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "conf"))
    assert Debian("seamripper-toy", {"a.bin": "usr/a.bin.gz"}).files(["a.bin"]) == {"a.bin": GOOD}
    with pytest.raises(DataError, match="Unable to locate package seamripper-other"):
        Debian("seamripper-other", {}).files(["a.bin"])
