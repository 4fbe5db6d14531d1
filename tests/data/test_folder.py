"""Folders of images: the layouts, the split, the crop, and the files that cannot be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from seamripper.data import Samples, load_data
from seamripper.data.folder import Folder
from seamripper.errors import DataError

Image = pytest.importorskip("PIL.Image")


def paint(path: Path, *, colour: tuple[int, int, int] = (10, 20, 30), size: tuple[int, int] = (8, 8)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def pixels(samples: Samples) -> torch.Tensor:
    assert isinstance(samples.inputs, torch.Tensor)
    return samples.inputs


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    """Two classes of thirty, an image's red being its number."""
    for k in range(30):
        paint(tmp_path / "cat" / f"{k}.png", colour=(k, 0, 0))
        paint(tmp_path / "dog" / f"{k}.jpg", colour=(k, 0, 255))
    (tmp_path / "notes.txt").write_text("not an image")
    (tmp_path / ".hidden").mkdir()
    return tmp_path


def test_splits_as_they_lie(tmp_path: Path) -> None:
    for split, colour in (("train", 1), ("test", 2)):
        paint(tmp_path / split / "b" / "x.png", colour=(colour, 0, 0))
        paint(tmp_path / split / "a" / "y.png", colour=(colour, 9, 0))
    train = load_data(f"folder:{tmp_path}", "train", size=4)
    test = load_data(f"folder:{tmp_path}", "test", size=4)
    assert train.labels.tolist() == [0, 1]
    assert pixels(train)[:, :, 0, 0].tolist() == [[1, 9, 0], [1, 0, 0]]
    assert pixels(test)[:, :, 0, 0].tolist() == [[2, 9, 0], [2, 0, 0]]
    assert train.ids.tolist() == [0, 1]
    assert test.ids.tolist() == [2, 3]
    assert (train.classes, train.mean, train.std) == (2, 0.5, 0.5)


def test_a_test_class_that_train_has_not_is_refused(tmp_path: Path) -> None:
    paint(tmp_path / "train" / "a" / "x.png")
    paint(tmp_path / "test" / "zebra" / "x.png")
    with pytest.raises(DataError, match=r"classes that .* does not have: 'zebra'"):
        load_data(f"folder:{tmp_path}")


def test_train_without_test_is_refused(tmp_path: Path) -> None:
    paint(tmp_path / "train" / "a" / "x.png")
    paint(tmp_path / "dev" / "a" / "x.png")
    with pytest.raises(DataError, match="has a folder 'train' but no folder 'test' or 'val'"):
        load_data(f"folder:{tmp_path}")


@pytest.fixture
def imagenet(tmp_path: Path) -> Path:
    """Two classes in ImageNet's usual layout."""
    for k, wordnet in enumerate(("n01440764", "n01443537")):
        for number in range(3):
            paint(tmp_path / "train" / wordnet / f"{wordnet}_{number}.JPEG", colour=(10 * k, 0, 0), size=(50, 40))
        paint(tmp_path / "val" / wordnet / f"ILSVRC2012_val_{k:08d}.JPEG", colour=(10 * k, 200, 0), size=(40, 50))
    return tmp_path


def test_imagenet_as_it_is_usually_laid_out(imagenet: Path) -> None:
    train, test = (load_data(f"folder:{imagenet}", split, size=8) for split in ("train", "test"))
    assert train.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert test.labels.tolist() == [0, 1]
    assert test.ids.tolist() == [6, 7]
    # JPEG is not exact.
    assert (pixels(test)[:, :, 4, 4].float() - torch.tensor([[0, 200, 0], [10, 200, 0]])).abs().max() <= 3


def test_a_test_folder_without_classes_leaves_the_score_to_val(imagenet: Path) -> None:
    paint(imagenet / "test" / "ILSVRC2012_test_00000001.JPEG")
    assert load_data(f"folder:{imagenet}", "test", size=8).labels.tolist() == [0, 1]
    # One with classes is the test.
    paint(imagenet / "test" / "n01443537" / "x.JPEG")
    (imagenet / "test" / "ILSVRC2012_test_00000001.JPEG").unlink()
    assert load_data(f"folder:{imagenet}", "test", size=8).labels.tolist() == [1]


def test_a_val_folder_that_is_not_sorted_into_classes_is_refused(tmp_path: Path) -> None:
    paint(tmp_path / "train" / "n01440764" / "x.JPEG")
    paint(tmp_path / "val" / "ILSVRC2012_val_00000001.JPEG")
    with pytest.raises(DataError, match=r"val has images in no class folder.*the same names: val/<class>/"):
        load_data(f"folder:{tmp_path}")


def test_classes_are_split_in_five_without_overlap(classes: Path) -> None:
    train = load_data(f"folder:{classes}", "train", size=4)
    test = load_data(f"folder:{classes}", "test", size=4)
    assert len(train) + len(test) == 60
    assert 4 <= len(test) <= 20
    assert sorted(train.ids.tolist() + test.ids.tolist()) == list(range(60))
    cats = [int(red) for s in (train, test) for red in pixels(s)[s.labels == 0, 0, 0, 0]]
    assert sorted(cats) == list(range(30))
    assert train.classes == test.classes == 2


def test_the_split_stays_when_the_folder_moves_or_others_come(
    classes: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def reds(root: Path) -> set[int]:
        test = load_data(f"folder:{root}", "test", size=4)
        return {int(red) for red in pixels(test)[test.labels == 0, 0, 0, 0]}

    before = reds(classes)
    moved = tmp_path_factory.mktemp("moved") / "there"
    shutil.copytree(classes, moved)
    assert reds(moved) == before
    for k in range(30, 60):
        paint(moved / "cat" / f"{k}.png", colour=(k, 0, 0))
    assert {red for red in reds(moved) if red < 30} == before


def test_images_without_a_class(tmp_path: Path) -> None:
    for k in range(20):
        paint(tmp_path / f"{k}.png")
    train = load_data(f"folder:{tmp_path}", size=4)
    assert set(train.labels.tolist()) == {0}
    assert train.classes == 1


def test_the_shorter_side_is_resized_and_the_middle_is_kept(tmp_path: Path) -> None:
    wide = np.zeros((20, 60, 3), np.uint8)
    wide[:, 20:40] = (250, 100, 50)  # the middle third is what a square crop shows
    for k in range(10):
        Image.fromarray(wide).save(tmp_path / f"{k}.png")
    image = pixels(load_data(f"folder:{tmp_path}", size=20))[0]
    assert bool((image == torch.tensor([250, 100, 50]).reshape(3, 1, 1)).all())
    half = pixels(load_data(f"folder:{tmp_path}", size=10))[0]
    assert half.shape == (3, 10, 10)
    assert half[:, 5, 5].tolist() == [250, 100, 50]
    # By hand for an odd shape: 20x60 at 7 → 7x21, cropped from 7 on; Pillow's own resize is the reference.
    small = np.asarray(Image.fromarray(wide).resize((21, 7), Image.Resampling.BILINEAR))[:, 7:14]
    assert pixels(load_data(f"folder:{tmp_path}", size=7))[0].permute(1, 2, 0).tolist() == small.tolist()


@pytest.mark.parametrize("size", [1, 5, 16, 33])
@pytest.mark.parametrize("shape", [(1, 1), (7, 50), (50, 7), (31, 33), (5, 5)])
def test_any_shape_comes_out_square(tmp_path: Path, shape: tuple[int, int], size: int) -> None:
    paint(tmp_path / "train" / "a" / "x.png", size=shape)
    paint(tmp_path / "test" / "a" / "x.png", size=shape)
    samples = load_data(f"folder:{tmp_path}", size=size)
    assert samples.shape == (3, size, size)
    assert pixels(samples)[0, :, size // 2, size // 2].tolist() == [10, 20, 30]
    assert bool((pixels(samples)[0] == torch.tensor([10, 20, 30]).reshape(3, 1, 1)).all()), "no black border"


def test_grey_palette_and_see_through_images_become_colour(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for k, mode in enumerate(["L", "1", "LA", "RGBA", "CMYK"]):
            (tmp_path / split / mode).mkdir(parents=True, exist_ok=True)
            ending = "tif" if mode == "CMYK" else "png"
            Image.new(mode, (8, 8), k and 1).save(tmp_path / split / mode / f"x.{ending}")
        palette = Image.new("P", (8, 8), 0)
        palette.putpalette([200, 100, 50] * 256)
        palette.save(tmp_path / split / "L" / "palette.png", transparency=bytes([0, 255]))
    samples = load_data(f"folder:{tmp_path}", size=4)
    assert samples.shape == (3, 4, 4)
    assert [200, 100, 50] in pixels(samples)[:, :, 0, 0].tolist()


def test_a_bad_image_is_named(classes: Path) -> None:
    (classes / "cat" / "5.png").write_bytes(b"this is no image")
    with pytest.raises(DataError, match=r"cat.5\.png could not be read as an image: .*take it out of the folder"):
        load_data(f"folder:{classes}", "train", size=4)


def test_an_image_that_was_cut_short_is_named(tmp_path: Path) -> None:
    noise = np.random.RandomState(0).randint(0, 256, (64, 64, 3), dtype=np.uint8)
    for split in ("train", "test"):
        (tmp_path / split / "a").mkdir(parents=True)
        Image.fromarray(noise).save(tmp_path / split / "a" / "x.png")
    path = tmp_path / "train" / "a" / "x.png"
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(DataError, match=r"x\.png could not be read"):
        load_data(f"folder:{tmp_path}", size=4)


def test_sixteen_bits_are_refused_rather_than_clipped(tmp_path: Path) -> None:
    for k in range(10):
        Image.fromarray(np.full((8, 8), 40_000, np.uint16)).save(tmp_path / f"{k}.png")
    with pytest.raises(DataError, match="more than 8 bits per channel"):
        load_data(f"folder:{tmp_path}", size=4)


def test_too_much_is_refused_before_it_is_read(classes: Path) -> None:
    with pytest.raises(DataError, match=r"the limit is 0\.0 GB\. Draw fewer \(n\), .*stream=True"):
        load_data(f"folder:{classes}", size=4, limit=100)
    assert len(load_data(f"folder:{classes}", size=4, limit=100, n=2)) == 2


def test_only_the_images_that_are_drawn_are_read(classes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_data(f"folder:{classes}", size=4)
    read: list[Path] = []
    really = Folder.read
    monkeypatch.setattr(Folder, "read", lambda self, path, *more: read.append(path) or really(self, path, *more))
    few = load_data(f"folder:{classes}", n=7, seed=2, size=4)
    assert len(read) == 7
    again = whole.draw(7, seed=2)
    assert torch.equal(pixels(few), pixels(again))
    assert torch.equal(few.labels, again.labels)
    assert torch.equal(few.ids, again.ids)


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("folder", {}, "needs a path: 'folder:PATH'"),
        ("folder:", {}, "needs a path: 'folder:PATH'"),
        ("folder:/no/such/place", {}, "There is no folder"),
        ("folder:{}", {}, "has neither images nor folders of images"),
        ("folder:{}", {"size": 0}, "size of the data set .folder. to be a whole number of at least 1, but got 0"),
        ("folder:{}", {"std": 0.0}, "std above 0"),
        ("folder:{}", {"sise": 3}, "no option 'sise': did you mean 'size'"),
        ("folder:{}", {"path": "x"}, "no option 'path'"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, name: str, options: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        load_data(name.format(tmp_path), **options)  # type: ignore[arg-type]


def test_images_beside_class_folders_are_refused(classes: Path) -> None:
    paint(classes / "stray.png")
    with pytest.raises(DataError, match=r"both images and folders of images \(loose: stray.png\)"):
        load_data(f"folder:{classes}")


def test_a_split_that_comes_out_empty_says_so(tmp_path: Path) -> None:
    paint(tmp_path / "cat" / "0.png")
    with pytest.raises(DataError, match=r"no images in its test split \(1 train, 0 test\)"):
        load_data(f"folder:{tmp_path}", "test")
