"""Options in a word and beside it, the first classes, and images at another size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from seamripper.data import Samples, load_data
from seamripper.data.images import resize
from seamripper.errors import DataError


def pixels(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


def digits(path: Path) -> str:
    """Images in three classes, as a folder."""
    Image = pytest.importorskip("PIL.Image")
    for kind in ("ant", "bee", "cat"):
        (path / kind).mkdir(parents=True)
        for k in range(20):
            Image.new("RGB", (8, 8), (k, 7 * k, 0)).save(path / kind / f"{k}.png")
    return f"folder:{path}"


# ---- in a word and beside it


@pytest.mark.network
def test_an_option_in_the_word_is_the_option_beside_it() -> None:
    word, beside = load_data("mnist/digit?size=32", "test", n=20), load_data("mnist/digit", "test", n=20, size=32)
    assert word.fingerprint == beside.fingerprint
    assert word.name == beside.name == "mnist/digit?size=32"
    assert word.shape == (3, 32, 32)


def test_text_becomes_what_the_field_is(tmp_path: Path) -> None:
    folder = digits(tmp_path)
    found = load_data(f"{folder}?size=4&mean=0.25&std=2&limit=1000000")
    assert (found.shape, found.mean, found.std) == ((3, 4, 4), 0.25, 2.0)
    assert found.name == f"{folder}?limit=1000000&mean=0.25&size=4&std=2.0"


@pytest.mark.network
def test_an_option_at_its_usual_value_is_not_told(tmp_path: Path) -> None:
    assert load_data(f"{digits(tmp_path)}?limit=4000000000&size=224", n=2).name == f"folder:{tmp_path}"
    assert load_data("mnist?size=None", n=2).name == "mnist/greyscale"


@pytest.mark.network
@pytest.mark.parametrize("word", ["mnist/mix?size=30", "digits?classes=3", "cifar10?size=16&classes=4"])
def test_the_name_of_samples_is_a_word_for_them(word: str) -> None:
    found = load_data(word, "test", n=9, seed=2)
    again = load_data(found.name, "test", n=9, seed=2)
    assert again.fingerprint == found.fingerprint
    assert again.name == found.name


@pytest.mark.network
def test_options_are_told_in_one_order() -> None:
    one, other = load_data("mnist?size=14&classes=3", n=5), load_data("mnist?classes=3", n=5, size=14)
    assert one.name == other.name == "mnist/greyscale?classes=3&size=14"


def test_a_path_may_hold_a_question_mark(tmp_path: Path) -> None:
    folder = digits(tmp_path / "which?")
    assert load_data(folder, n=3, size=4).shape == (3, 4, 4)


@pytest.mark.parametrize(
    ("word", "options", "complaint"),
    [
        (
            "mnist?size=big",
            {},
            r"size of the data set 'mnist' to be a whole number of at least 1, or None, but got 'big'",
        ),
        (
            "mnist?size=3.5",
            {},
            r"size of the data set 'mnist' to be a whole number of at least 1, or None, but got '3.5'",
        ),
        ("mnist?size=0", {}, r"size of the data set 'mnist' to be a whole number of at least 1, or None, but got 0"),
        ("cifar10?size=-3", {}, r"size of the data set 'cifar10' to be .* of at least 1, or None, but got -3"),
        ("fashion", {"size": "32"}, r"size of the data set 'fashion' to be .*, but got '32'"),
        ("fashion", {"size": True}, r"size of the data set 'fashion' to be .*, but got True"),
        ("digits", {"classes": 2.0}, r"classes of the data set 'digits' to be a whole number or None, but got 2.0"),
        ("folder:x?mean=dark", {}, r"Expected mean of the data set 'folder' to be a number or None, but got 'dark'"),
        ("folder:x?mean=nan", {}, r"Expected mean of the data set 'folder' to be a number or None, but got 'nan'"),
        (
            "folder:x",
            {"mean": "dark"},
            r"Expected mean of the data set 'folder' to be a number or None, but got 'dark'",
        ),
        ("mnist?sise=32", {}, r"The data set 'mnist' has no option 'sise': did you mean 'size'"),
        ("mnist?variant=mix", {}, r"The data set 'mnist' has no option 'variant'"),
        ("folder:x?path=y", {}, r"The data set 'folder' has no option 'path'"),
        (
            "digits?hz=9",
            {},
            r"no option 'hz': Its options are 'classes', 'ready', 'label_noise', 'rotate' and 'size'\.",
        ),
        ("mnist?size", {}, r"Expected options like \?name=value&name=value, but got 'size' in 'mnist\?size'"),
        ("mnist?size=3&size=4", {}, r"Option 'size' is given twice in 'mnist\?size=3&size=4'"),
        ("mnist?size=3", {"size": 3}, r"Option 'size' is given twice, in 'mnist\?size=3' and beside it: keep one"),
        ("digits?classes=3", {"classes": 3}, r"Option 'classes' is given twice, in 'digits\?classes=3' and beside it"),
        ("mnst?size=3", {}, r"There is no data set 'mnst': did you mean 'mnist'"),
    ],
)
def test_what_makes_no_sense_is_refused(word: str, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        load_data(word, "test", **options)  # type: ignore[arg-type]


# ---- at another size


@pytest.mark.network
@pytest.mark.parametrize("name", ["mnist", "mnist/digit", "mnist/colour-only", "fashion/mix", "cifar10"])
@pytest.mark.parametrize("size", [20, 32, 45])
def test_images_are_resized_as_torch_does_it(name: str, size: int) -> None:
    plain, found = load_data(name, "test", n=30), load_data(name, "test", n=30, size=size)
    expected = F.interpolate(pixels(plain).float(), size=(size, size), mode="bilinear", align_corners=False)
    assert torch.equal(pixels(found), expected.round().byte())
    assert torch.equal(found.labels, plain.labels)
    assert torch.equal(found.ids, plain.ids)
    assert (found.mean, found.std, found.classes) == (plain.mean, plain.std, plain.classes)


def test_pixels_between_two_are_their_mixture_by_hand() -> None:
    """28 → 32: pixel i is read at (i + 1/2) · 7/8 − 1/2; what lies before the first is the first."""
    row = np.random.RandomState(0).randint(0, 256, 28)
    image = torch.from_numpy(np.tile(row, (28, 1)).astype(np.uint8))[None, None]
    found = resize(image, 32)[0, 0, 9].tolist()
    for i, value in enumerate(found):
        place = max(0.0, (i + 0.5) * 7 / 8 - 0.5)
        left = int(place)
        right = min(left + 1, 27)
        exact = row[left] * (1 - (place - left)) + row[right] * (place - left)
        assert abs(value - exact) <= 0.5


@pytest.mark.network
def test_a_digit_is_coloured_before_it_is_resized() -> None:
    """Else it would be binarised after: edges between white and the colour show that it was not."""
    found = pixels(load_data("mnist/correlated", "test", n=50, size=32))
    flat = found[:, :, :1, :1]
    between = (found != 255) & (found != flat)
    assert float(between.float().mean()) > 0.05


@pytest.mark.network
def test_the_size_that_they_have_changes_nothing() -> None:
    assert load_data("cifar10", "test", n=9, size=32).fingerprint == load_data("cifar10", "test", n=9).fingerprint


def test_many_images_are_resized_in_parts_that_meet() -> None:
    few = torch.randint(0, 256, (2_100, 1, 5, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    whole = F.interpolate(few.float(), size=(7, 7), mode="bilinear", align_corners=False).round().byte()
    assert torch.equal(resize(few, 7), whole)


@pytest.mark.network
def test_more_than_memory_holds_is_refused_unless_few_are_drawn() -> None:
    with pytest.raises(DataError, match=r"would take 9\.0 GB of memory, and the limit is 4\.0 GB\. Draw fewer"):
        load_data("mnist?size=224")
    assert load_data("mnist?size=224", n=6).shape == (3, 224, 224)
    assert len(load_data("mnist?size=224&classes=3", n=6)) == 6


# ---- the first classes


@pytest.mark.network
@pytest.mark.parametrize("name", ["mnist/digit", "fashion", "digits", "cifar10", "mnist/colour"])
def test_the_first_classes_of_every_set(name: str) -> None:
    every, few = load_data(name, "test"), load_data(name, "test", classes=4)
    assert few.classes == 4
    assert few.labels.unique().tolist() == [0, 1, 2, 3]
    assert torch.equal(few.ids, every.ids[every.labels < 4])
    assert torch.equal(pixels(few), pixels(every)[every.labels < 4])
    assert few.fingerprint == load_data(f"{name}?classes=4", "test").fingerprint


@pytest.mark.network
def test_they_are_the_first_before_any_are_drawn() -> None:
    few = load_data("mnist?classes=2", n=500)
    assert len(few) == 500
    assert few.labels.unique().tolist() == [0, 1]
    assert few.fingerprint == load_data("mnist", classes=2).draw(500).fingerprint


@pytest.mark.network
@pytest.mark.parametrize("name", ["mnist?size=20&classes=3", "cifar10/stylised?classes=3"])
def test_sets_that_draw_before_they_compute_do_so_too(name: str) -> None:
    whole = load_data(name, "test", seed=3)
    assert load_data(name, "test", n=100, seed=3).fingerprint == whole.draw(100, seed=3).fingerprint


def test_only_files_of_the_first_classes_are_read(tmp_path: Path) -> None:
    folder = digits(tmp_path)
    for path in (tmp_path / "cat").iterdir():
        path.write_bytes(b"this is no image")
    few = load_data(f"{folder}?classes=2&size=4")
    assert few.classes == 2
    assert len(load_data(folder, n=20, classes=2, size=4)) == 20
    with pytest.raises(DataError, match="could not be read as an image"):
        load_data(folder, size=4)


def test_all_classes_are_all_samples() -> None:
    every = load_data("digits", "test", classes=10)
    assert every.fingerprint == load_data("digits", "test").fingerprint
    assert every.name == "digits/greyscale?classes=10"


@pytest.mark.parametrize("k", [-1, 0, 1, 11])
def test_too_few_and_too_many_are_refused(k: int) -> None:
    complaint = rf"classes to be at least 2, and at most the 10 of digits/greyscale, but got {k}"
    with pytest.raises(DataError, match=complaint):
        load_data("digits", classes=k)
    with pytest.raises(DataError, match=complaint):
        load_data(f"digits?classes={k}")
