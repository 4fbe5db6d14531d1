"""Labels of CIFAR-10: objects and animals, and people's answers (CIFAR-10N), read without running anything."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection

import numpy as np
import pytest
import torch

from seamripper.data import load_data
from seamripper.data.cifar10n import REMOTE, HumanLabels
from seamripper.data.sources import Source
from seamripper.errors import DataError


class Given(Source):
    """A source that gives these bytes for whatever is wanted."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload

    def files(self, wanted: Collection[str]) -> dict[str, bytes]:
        return dict.fromkeys(wanted, self.payload)


@pytest.mark.network
@pytest.mark.parametrize(("labels", "wrong"), [("human", 0.17234), ("worst", 0.40208)])
def test_people_are_wrong_as_often_as_is_published(labels: str, wrong: float) -> None:
    people, right = load_data("cifar10", labels=labels), load_data("cifar10")
    assert (people.labels != right.labels).float().mean().item() == pytest.approx(wrong, abs=1e-5)
    assert torch.equal(people.ids, right.ids)
    assert load_data(people.name, n=9).name == f"cifar10?labels={labels}"
    test = load_data("cifar10", "test", labels=labels)
    assert test.fingerprint == load_data("cifar10", "test").fingerprint


@pytest.mark.network
def test_six_of_ten_classes_are_animals() -> None:
    animals, right = load_data("cifar10?labels=animal", "test"), load_data("cifar10", "test")
    assert animals.classes == 2
    by_class = [set(animals.labels[right.labels == kind].tolist()) for kind in range(10)]
    assert by_class == [{0}, {0}, {1}, {1}, {1}, {1}, {1}, {1}, {0}, {0}]


@pytest.mark.network
def test_the_labels_are_bytes_in_the_cache() -> None:
    worst = np.frombuffer(REMOTE.read("worst.bin"), np.uint8)
    assert (len(worst), worst.max()) == (50_000, 9)


def test_another_pickle_is_refused_before_it_is_opened() -> None:
    with pytest.raises(DataError, match=r"CIFAR-10_human.pt is not the file that was expected and was refused"):
        HumanLabels(Given(b"cos\nsystem\n(S'true'\ntR.")).files(["worst.bin"])
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("CIFAR-N/CIFAR-10_human.pt", b"not it")
    with pytest.raises(DataError, match="was refused"):
        HumanLabels(Given(archive.getvalue()), archive="CIFAR-N.zip").files(["worst.bin"])


def test_a_label_that_is_none_is_refused() -> None:
    with pytest.raises(DataError, match=r"labels of the data set 'cifar10' to be .*'worst'"):
        load_data("cifar10?labels=best")
