from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from seamripper.data.samples import Samples


@pytest.fixture(autouse=True)
def one_thread_and_untouched_rng() -> Iterator[None]:
    """One thread, as the machine is shared; and no function of the package may move the global generator."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(1234)
    before = torch.get_rng_state()
    yield
    torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), before), "the global random generator was moved"


@pytest.fixture(scope="session")
def blobs() -> Samples:
    """97 images of 28×28 in 3 classes, each class a bright stripe at its own place."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(97) % 3
    pixels = torch.randint(0, 60, (97, 1, 28, 28), generator=generator, dtype=torch.uint8)
    for row, label in enumerate(labels.tolist()):
        pixels[row, :, 8 * label : 8 * label + 6] += 180
    return Samples("blobs", pixels, labels, torch.arange(97), classes=3, mean=0.5, std=0.5)
