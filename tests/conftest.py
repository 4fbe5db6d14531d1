"""What holds for every test: one thread, no downloads unless it is marked `network`, and long files first."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
import torch
from _pytest.doctest import DoctestModule

NO_DOWNLOADS = {
    "SEAMRIPPER_OFFLINE": "1",
    "SEAMRIPPER_CACHE": str(Path(tempfile.gettempdir()) / "seamripper-tests-without-downloads"),
}
"""Nothing can be fetched, and nothing that was fetched before is found: what passes here passes on a fresh machine."""


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """One thread for tensors this small: two only wait for each other, most of all on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Only tests that are marked `network` see the user's cache and may add to it; fixtures of any scope included."""
    if item.get_closest_marker("network"):
        return (yield)
    with pytest.MonkeyPatch.context() as environment:
        for name, value in NO_DOWNLOADS.items():
            environment.setenv(name, value)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Doctests are in src: to look for them in the tests as well would only take time."""
    collectors = yield
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with the most slow tests come first, so that at the end no worker is left alone with a long one."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """`made_once(name, make)`: a folder that `make(folder)` has filled, once for all workers of this run.

    Tests only read it, or write what is the same for all of them.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def folder_of(name: str, make: Callable[[Path], object]) -> Path:
        folder, finished = shared / name, shared / f"{name}.finished"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not finished.exists():
                folder.mkdir(exist_ok=True)
                make(folder)
                finished.touch()
        return folder

    return folder_of
