"""Whatever holds samples is read as it is: each kind gives the inputs, labels and ids that it holds."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    get_worker_info,
    random_split,
)

from seamripper.data import Samples, Stream, as_data, load_data, stream_of
from seamripper.data.columns import LabelNumbers
from seamripper.errors import DataError
from seamripper.matching.inputs import family_of
from seamripper.models import import_torchvision

N = 150
X = torch.arange(N * 6, dtype=torch.float32).reshape(N, 2, 3)
Y = torch.arange(N) % 4


class Pairs(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return N

    def __getitem__(self, k: int) -> tuple[Tensor, int]:
        return X[k], int(Y[k])


class Coming(IterableDataset[dict[str, Any]]):
    def __iter__(self) -> Iterator[dict[str, Any]]:
        return ({"pixels": x.numpy(), "label": int(y)} for x, y in zip(X, Y, strict=True))


class Workers(Dataset[Tensor]):
    """Samples that say which process has read them."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, k: int) -> Tensor:
        worker = get_worker_info()
        return torch.tensor([os.getpid(), -1 if worker is None else worker.id, k])


def kinds(tmp_path: Path) -> dict[str, Any]:
    """The same samples in every way that holds them."""
    datasets = pytest.importorskip("datasets")
    mapped = np.memmap(tmp_path / "x.dat", np.float32, "w+", shape=(N, 2, 3))
    mapped[:] = X.numpy()
    mapped.flush()
    rows = {"pixels": X.tolist(), "label": Y.tolist()}
    return {
        "Dataset": Pairs(),
        "list": [(x, int(y)) for x, y in zip(X, Y, strict=True)],
        "TensorDataset": TensorDataset(X, Y),
        "IterableDataset": Coming(),
        "DataLoader": DataLoader(Pairs(), batch_size=16),
        "DataLoader of an IterableDataset": DataLoader(Coming(), batch_size=7),
        "DataLoader without batches": DataLoader(Pairs(), batch_size=None),
        "generator": ((x, y) for x, y in zip(X, Y, strict=True)),
        "function": lambda: ((x, y) for x, y in zip(X, Y, strict=True)),
        "datasets.Dataset": datasets.Dataset.from_dict(rows),
        "datasets.IterableDataset": datasets.Dataset.from_dict(rows).to_iterable_dataset(),
        "memmap": np.memmap(tmp_path / "x.dat", np.float32, "r", shape=(N, 2, 3)),
        "array": X.numpy(),
        "tensor": X,
    }


KINDS = (
    "Dataset", "list", "TensorDataset", "IterableDataset", "DataLoader", "DataLoader of an IterableDataset",
    "DataLoader without batches", "generator", "function", "datasets.Dataset", "datasets.IterableDataset", "memmap",
    "array", "tensor",
)  # fmt: skip
UNKNOWN = {"IterableDataset", "DataLoader of an IterableDataset", "generator", "function", "datasets.IterableDataset"}
BARE = {"memmap", "array", "tensor"}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_gives_the_samples_that_it_holds(kind: str, tmp_path: Path) -> None:
    given = kinds(tmp_path)[kind]
    data = as_data(given, "samples")
    assert isinstance(data, Stream)
    assert data.length == (None if kind in UNKNOWN | {"DataLoader without batches"} else N)
    samples = data.load()
    assert isinstance(samples.inputs, Tensor)
    assert torch.equal(samples.inputs, X)
    assert samples.ids.tolist() == list(range(N))
    if kind in BARE:
        assert not samples.labelled
    else:
        assert torch.equal(samples.labels, Y)
        assert samples.classes == 4
    if kind == "generator":
        with pytest.raises(DataError, match="can be read only once"):
            data.load()
    else:
        assert data.load().fingerprint == samples.fingerprint


def test_a_loaders_workers_read_its_samples() -> None:
    loader = DataLoader(Workers(), batch_size=8, num_workers=2)
    read = load_data(loader).inputs
    assert isinstance(read, Tensor)
    assert set(read[:, 1].tolist()) == {0, 1}
    assert os.getpid() not in read[:, 0].tolist()
    assert read[:, 2].tolist() == list(range(64))


def test_a_loader_that_drops_its_last_batch_has_fewer() -> None:
    loader = DataLoader(Pairs(), batch_size=16, drop_last=True)
    assert len(load_data(loader)) == stream_of(loader).length == 144


def test_parts_of_one_set_are_known_by_its_numbers() -> None:
    first, second = random_split(Pairs(), [100, 50], generator=torch.Generator().manual_seed(0))
    one, other = (load_data(part) for part in (first, second))
    assert one.name == other.name
    assert sorted([*one.ids.tolist(), *other.ids.tolist()]) == list(range(N))
    inner = load_data(Subset(second, [3, 1]))
    assert torch.equal(inner.ids, other.ids[[3, 1]])
    assert torch.equal(inner.inputs, X[inner.ids])  # type: ignore[arg-type]
    loaded = load_data(DataLoader(first, batch_size=16, drop_last=True))
    assert loaded.name == one.name
    assert torch.equal(loaded.ids, one.ids[:96])


class EvenFirst(Sampler[int]):
    """An order of its own that does not say how long it is, or that it does."""

    def __iter__(self) -> Iterator[int]:
        yield from range(0, N, 2)
        yield from range(1, N, 2)


class EvenFirstOf(EvenFirst):
    def __len__(self) -> int:
        return N


PAIRS = Pairs()
ORDERS: dict[str, tuple[dict[str, Any], set[int]]] = {
    "shuffled": ({"batch_size": 16, "shuffle": True}, set(range(N))),
    "part": ({"batch_size": 16, "sampler": SubsetRandomSampler(range(100, 150))}, set(range(100, 150))),
    "part, by an array": ({"batch_size": 16, "sampler": SubsetRandomSampler(np.arange(7, 90))}, set(range(7, 90))),  # type: ignore[arg-type]
    "part, from first to last": ({"batch_size": 16, "sampler": range(40, 60)}, set(range(40, 60))),
    "own sampler": ({"batch_size": 16, "sampler": EvenFirstOf()}, set(range(N))),
    "own batches": ({"batch_sampler": [[5, 3], [8], [1, 2, 140]]}, {1, 2, 3, 5, 8, 140}),
    "without batches": ({"batch_size": None, "shuffle": True}, set(range(N))),
    "workers in any order": ({"batch_size": 16, "num_workers": 2, "in_order": False}, set(range(N))),
}


@pytest.mark.parametrize("order", ORDERS)
def test_samples_of_a_loader_have_the_numbers_of_its_data_set(order: str) -> None:
    """Whatever the sampler draws: what two loaders have in common is known, and what they have not."""
    options, expected = ORDERS[order]
    data = stream_of(DataLoader(PAIRS, **options))
    samples = data.load()
    assert (data.length, data.name) == (len(expected), stream_of(PAIRS).name)
    assert set(samples.ids.tolist()) == expected
    assert torch.equal(samples.inputs, X[samples.ids])  # type: ignore[arg-type]
    assert torch.equal(samples.labels, Y[samples.ids])
    assert data.load().fingerprint == samples.fingerprint


def test_a_shuffled_loader_of_a_part_has_the_numbers_of_the_whole() -> None:
    part = Subset(Subset(PAIRS, range(50, 150)), range(0, 100, 5))  # type: ignore[arg-type]
    for options in ({"batch_size": 3, "shuffle": True}, {"batch_size": None, "shuffle": True}):
        samples = load_data(DataLoader(part, **options))
        assert sorted(samples.ids.tolist()) == list(range(50, 150, 5))
        assert torch.equal(samples.inputs, X[samples.ids])  # type: ignore[arg-type]


def test_a_loader_whose_samples_have_no_numbers_has_a_name_of_its_own() -> None:
    """Counted from 0 under the name of the data set, its samples would be taken for others."""
    loader = DataLoader(PAIRS, batch_size=16, sampler=EvenFirst())
    assert stream_of(loader).name == stream_of(loader).name != stream_of(PAIRS).name
    assert stream_of(loader).length is None
    part = DataLoader(Subset(PAIRS, range(100, 150)), batch_size=None)
    assert stream_of(part).name != stream_of(PAIRS).name


def test_a_loader_that_repeats_samples_is_refused() -> None:
    for options in ({"sampler": RandomSampler(PAIRS, replacement=True)}, {"batch_sampler": [[1, 2], [2, 3]]}):
        with pytest.raises(DataError, match="Expected a DataLoader to give each sample once, but its sampler draws"):
            stream_of(DataLoader(PAIRS, **options))  # type: ignore[arg-type]


def test_one_object_has_one_name_and_two_have_two() -> None:
    first, second = Pairs(), Pairs()
    names = [stream_of(data).name for data in (first, second, first)]
    assert names[0] == names[2] != names[1]
    assert stream_of(first, name="mine").name == "mine"
    for array in (X, X.numpy(), X[:1]):
        assert stream_of(array).name == stream_of(array).name != stream_of(array[:1]).name


def test_columns_are_chosen_and_labels_left_out() -> None:
    items = [{"a": X[k], "b": X[k] + 1, "grade": int(Y[k]), "label": 0.5} for k in range(5)]
    chosen = load_data(items, inputs="b", labels="grade")
    assert torch.equal(chosen.inputs, X[:5] + 1)  # type: ignore[arg-type]
    assert chosen.labels.tolist() == Y[:5].tolist()
    assert not load_data(items, inputs="a", labels=False).labelled
    both = load_data(items, inputs=["a", "b"], labels=False)
    assert isinstance(both.inputs, dict)
    assert list(both.inputs) == ["a", "b"]
    pairs = [(X[k], 0.5) for k in range(5)]
    assert not load_data(pairs, labels=False).labelled


def test_pictures_are_bytes_with_their_channels_first() -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    coloured = load_data([(image.fromarray(pixels), 1)] * 3, mean=0.5, std=0.5)
    assert (coloured.shape, coloured.pictures) == ((3, 2, 3), True)
    assert torch.equal(coloured.inputs[0], torch.from_numpy(pixels).permute(2, 0, 1))  # type: ignore[index]
    grey = load_data([image.fromarray(pixels[:, :, 0])] * 3)
    assert grey.shape == (1, 2, 3)


@pytest.mark.parametrize("mode", ["I;16", "F", "I"])
@pytest.mark.parametrize("holder", ["list", "datasets.Dataset", "parquet", "folder"])
def test_pictures_of_more_than_8_bits_are_refused(holder: str, mode: str, tmp_path: Path) -> None:
    """As bytes, 16-bit pictures would be cut off at 255, and pictures in 0 … 1 be black."""
    image = pytest.importorskip("PIL.Image")
    kind = {"I;16": np.uint16, "F": np.float32, "I": np.int32}[mode]
    picture = image.fromarray((np.arange(64).reshape(8, 8) * 900).astype(kind))
    assert picture.mode == mode
    picture.save(tmp_path / "one.tif")
    file = (tmp_path / "one.tif").read_bytes()

    def given() -> Any:
        if holder == "datasets.Dataset":
            datasets = pytest.importorskip("datasets")
            features = datasets.Features({"image": datasets.Image()})
            return datasets.Dataset.from_dict({"image": [{"bytes": file, "path": None}] * 20}, features=features)
        if holder == "parquet":
            arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            parquet.write_table(arrow.table({"image": [{"bytes": file}] * 20}), tmp_path / "t.parquet")
            return f"parquet:{tmp_path}/t.parquet"
        if holder == "folder":
            for number in range(40):
                path = tmp_path / "all" / f"kind {number % 2}" / f"{number}.tif"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file)
            return f"folder:{tmp_path}/all?size=8"
        return [picture] * 3

    with pytest.raises(DataError, match=rf"has more than 8 bits per channel \({mode}\)\. Convert it to 8 bits"):
        load_data(given())


def test_batches_of_a_generator_are_told_by_a_word() -> None:
    data = load_data(((X[k : k + 50], Y[k : k + 50]) for k in (0, 50, 100)), batched=True)
    assert torch.equal(data.inputs, X)  # type: ignore[arg-type]


def test_texts_become_tokens_and_their_mask() -> None:
    texts = load_data([("ab", 0), ("c", 1)], tokenizer="bytes", tokens=3)
    assert isinstance(texts.inputs, dict)
    assert texts.inputs["input_ids"].tolist() == [[97, 98, 0], [99, 0, 0]]
    assert texts.inputs["attention_mask"].tolist() == [[1, 1, 0], [1, 0, 0]]
    assert texts.tokenizer == "bytes"


def test_the_classes_are_those_that_a_set_names() -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"x": datasets.Value("float32"), "label": datasets.ClassLabel(names=["a", "b", "c"])})
    assert load_data(datasets.Dataset.from_dict({"x": [1.0, 2.0], "label": [0, 1]}, features=features)).classes == 3
    with pytest.raises(DataError, match=r"has the splits 'train'\. Give one of them: data\['train'\]"):
        load_data(datasets.DatasetDict({"train": datasets.Dataset.from_dict({"x": [1.0]})}))


def test_a_part_of_a_memmap_is_read_as_it_is(tmp_path: Path) -> None:
    whole = np.memmap(tmp_path / "x.dat", np.float32, "w+", shape=(N, 6))
    whole[:] = X.numpy().reshape(N, 6)
    whole.flush()
    mapped = np.memmap(tmp_path / "x.dat", np.float32, "r", shape=(N, 6))
    for part in (mapped[10:], mapped[:, ::2], mapped[::-1]):
        assert torch.equal(load_data(part).inputs, torch.from_numpy(np.array(part)))  # type: ignore[arg-type]


# ---- files


def splits(word: str, **options: Any) -> tuple[Samples, Samples]:
    train, test = (load_data(word, split, **options) for split in ("train", "test"))
    assert sorted([*train.ids.tolist(), *test.ids.tolist()]) == list(range(N))
    assert 0.1 < len(test) / N < 0.3
    for split, samples in (("train", train), ("test", test)):
        streamed = load_data(word, split, stream=True, **options)
        assert (streamed.name, streamed.fingerprint) == (samples.name, samples.fingerprint)
        assert load_data(word, split, n=9, seed=2, **options).fingerprint == samples.draw(9, seed=2).fingerprint
    return train, test


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, ">f4"])
def test_npy(tmp_path: Path, dtype: Any) -> None:
    values = (X.numpy() % 256).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    np.save(tmp_path / "y.npy", Y.numpy())
    train, test = splits(f"npy:{tmp_path}/x.npy", labels=f"{tmp_path}/y.npy")
    for samples in (train, test):
        assert isinstance(samples.inputs, Tensor)
        assert samples.inputs.dtype == (torch.uint8 if dtype == np.uint8 else torch.float32)
        assert torch.equal(samples.inputs.float(), (X % 256)[samples.ids])
        assert torch.equal(samples.labels, Y[samples.ids])
    assert not load_data(f"npy:{tmp_path}/x.npy").labelled


def test_fewer_classes_of_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X.numpy())
    np.save(tmp_path / "y.npy", Y.numpy())
    word = f"npy:{tmp_path}/x.npy?labels={tmp_path}/y.npy&classes=2"
    few = load_data(word, n=10)
    assert (len(few), few.classes, int(few.labels.max())) == (10, 2, 1)
    with pytest.raises(DataError, match="leave classes out, or leave stream out"):
        load_data(word, stream=True)


@pytest.mark.parametrize("folder", [False, True])
def test_parquet(tmp_path: Path, folder: bool) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    words = [f"kind {int(y)}" for y in Y]
    table = arrow.table({"values": X.reshape(N, 6).tolist(), "other": list(range(N)), "label": words})
    parts = [table.slice(0, 60), table.slice(60)] if folder else [table]
    for number, part in enumerate(parts):
        parquet.write_table(part, tmp_path / f"part-{number}.parquet", row_group_size=32)
    path = tmp_path if folder else tmp_path / "part-0.parquet"
    train, _ = splits(f"parquet:{path}", column="values")
    assert torch.equal(train.inputs, X.reshape(N, 6)[train.ids])  # type: ignore[arg-type]
    assert torch.equal(train.labels, Y[train.ids])
    assert train.classes == 4


def test_columns_of_numbers_in_parquet_are_one_vector(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"a": [1.0, 2.0] * 75, "b": list(range(N))}), tmp_path / "t.parquet")
    train, _ = splits(f"parquet:{tmp_path}/t.parquet")
    expected = torch.stack([torch.tensor([1.0, 2.0] * 75), torch.arange(N).float()], 1)[train.ids]
    assert torch.equal(train.inputs, expected)  # type: ignore[arg-type]
    assert not train.labelled


def test_columns_of_parquet_with_odd_names_are_asked_for_by_name(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"my values %": [[1.0, 2.0]] * N, "note": ["x"] * N, "Kind Of": ["a", "b"] * (N // 2)}
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"'my values %', 'note' and 'Kind Of' beside .*: column='my values %'"):
        load_data(f"parquet:{tmp_path}/t.parquet")
    assert load_data(f"parquet:{tmp_path}/t.parquet", column="my values %", labels="Kind Of").classes == 2
    columns["my values %"][3] = None  # type: ignore[call-overload]
    parquet.write_table(arrow.table(columns), tmp_path / "t.parquet")
    with pytest.raises(DataError, match="rows without a value in 'my values %'"):
        load_data(f"parquet:{tmp_path}/t.parquet", column="my values %")


def test_pictures_in_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(4 * 4 * 3, dtype=np.uint8).reshape(4, 4, 3)
    image.fromarray(pixels).save(tmp_path / "one.png")
    file = (tmp_path / "one.png").read_bytes()
    parquet.write_table(arrow.table({"image": [{"bytes": file, "path": "one.png"}] * N}), tmp_path / "t.parquet")
    train, _ = splits(f"parquet:{tmp_path}/t.parquet", mean=0.5, std=0.5)
    assert torch.equal(train.inputs[0], torch.from_numpy(pixels).permute(2, 0, 1))  # type: ignore[index]


def write_texts(path: Path) -> None:
    rows = [{"text": f'number "{k}", a\nline', "label": ("bad", "good")[k % 2]} for k in range(N)]
    if path.suffix == ".txt":
        path.write_text("\n\n".join(f"number {k}" for k in range(N)) + "\n")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["label", "text"], delimiter="," if path.suffix == ".csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)


@pytest.mark.parametrize("written", [False, True])
def test_labels_that_are_numbers_keep_their_order(written: bool) -> None:
    """A column of floats, as pandas makes one of a column with gaps, has class 10.0 behind class 9.0."""
    for numbers, expected in (
        ([float(k) for k in range(12)], list(range(12))),
        ([3, 11], [3, 11]),
        ([-1, 1], [0, 1]),
        ([-2, -1, 0, 1, 2], [0, 1, 2, 3, 4]),
    ):
        labels = [str(k) for k in numbers] if written else numbers
        assert LabelNumbers.of(labels[::-1], "table").tensor(labels).tolist() == expected
    assert LabelNumbers.of(["b10", "b9"], "table").tensor(["b9", "b10"]).tolist() == [1, 0]
    with pytest.raises(DataError, match="Some rows of table have no label"):
        LabelNumbers.of([0.0, float("nan")], "table")


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    ("labels", "complaint"),
    [
        ([3.72, 1.5, 2.0], r"labels of table to be words or whole numbers, but got 1\.5"),
        ([-0.5, 1.0], r"but got -0\.5"),
        ([-1, 0, 1], r"labels of table are -1 and numbers from 0 on\. Does -1 mark rows without a label\?"),
        ([-1, 2, 3], r"are -1 and numbers from 2 on"),
        ([-100, 0, 1], r"Does -100 mark rows without a label"),
        ([-1, -1], r"Does -1 mark rows without a label"),
        ([0, 10, float("nan")], r"Some rows of table have (no|NaN for a) label"),
    ],
)
def test_numbers_that_are_no_classes_are_refused(labels: list[float], complaint: str, written: bool) -> None:
    """A measurement would be ranked, and a mark for rows without a label would be class 0 and move all others."""
    with pytest.raises(DataError, match=complaint):
        LabelNumbers.of([str(label) for label in labels] if written else labels, "table")


def write_classifier(folder: Path, classes: list[str]) -> None:
    """A tokenizer and the configuration of a model that names its classes."""
    # It may need its repair before transformers looks for it.
    import_torchvision()
    transformers = pytest.importorskip("transformers")
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "number", "a", "line"]))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    numbers = {name: number for number, name in enumerate(classes)}
    config = transformers.BertConfig(label2id=numbers, id2label={number: name for name, number in numbers.items()})
    config.save_pretrained(folder)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["text", "parquet"])
def test_words_have_the_numbers_of_the_model_that_reads_them(kind: str, tmp_path: Path) -> None:
    """By the alphabet, every answer of a model with 'good' for class 0 would count as wrong."""
    write_classifier(tmp_path / "named", ["GOOD", "other", "BAD"])
    write_classifier(tmp_path / "unnamed", ["LABEL_0", "LABEL_1"])
    write_classifier(tmp_path / "half", ["good", "poor"])
    if kind == "text":
        write_texts(tmp_path / "texts.csv")
        word = f"text:{tmp_path}/texts.csv"
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        rows = {"text": [f"number {k}" for k in range(N)], "label": [("bad", "good")[k % 2] for k in range(N)]}
        parquet.write_table(arrow.table(rows), tmp_path / "t.parquet")
        word = f"parquet:{tmp_path}/t.parquet?column=text"
    for folder, bad, good in (("named", 2, 0), ("unnamed", 0, 1)):
        samples = load_data(word, tokenizer=str(tmp_path / folder))
        assert samples.labels.tolist() == [good if k % 2 else bad for k in samples.ids.tolist()]
    with pytest.raises(DataError, match=r"named like classes of the model .* \('good' and 'poor'\), but 'bad' is none"):
        load_data(word, tokenizer=str(tmp_path / "half"))


@pytest.mark.parametrize("ending", [".txt", ".csv", ".tsv", ".jsonl"])
def test_texts(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"texts{ending}"
    write_texts(path)
    train, _ = splits(f"text:{path}", tokenizer="bytes", tokens=24)
    assert isinstance(train.inputs, dict)
    row, number = train.inputs["input_ids"][7], int(train.ids[7])
    expected = f"number {number}" if ending == ".txt" else f'number "{number}", a\nline'
    assert bytes(row.tolist()).rstrip(b"\0").decode() == expected
    assert train.labelled == (ending != ".txt")
    if train.labelled:
        assert (train.classes, int(train.labels[7])) == (2, number % 2)


@pytest.mark.parametrize(
    ("file", "content", "options", "complaint"),
    [
        ("a.txt", "one\ntwo\n", {}, r"tokenizer=FOLDER"),
        ("a.txt", "", {"tokenizer": "bytes"}, "is empty"),
        ("a.pdf", "x", {"tokenizer": "bytes"}, r"the ending .txt, .csv, .tsv, .jsonl, but got"),
        ("a.csv", "a,b\n1,2\n", {"tokenizer": "bytes"}, r"columns 'a', 'b'. Say which.*column=a"),
        ("a.csv", "a,b\n1,2\n", {"tokenizer": "bytes", "column": "c"}, "has no column 'c'; it has 'a' and 'b'"),
        ("a.csv", "text,label\none,\n", {"tokenizer": "bytes"}, "have no label"),
        ("a.csv", "text,label\n,1\n", {"tokenizer": "bytes"}, "Row 1 of .* has no text"),
        ("a.jsonl", '{"text": "x"}\n{"text"\n', {"tokenizer": "bytes"}, r"Line 2 of .* could not be read as JSON"),
        ("a.jsonl", '["x"]\n', {"tokenizer": "bytes"}, "line 1 is not"),
    ],
)
def test_texts_that_cannot_be_read(
    tmp_path: Path, file: str, content: str, options: dict[str, Any], complaint: str
) -> None:
    (tmp_path / file).write_text(content)
    with pytest.raises(DataError, match=complaint):
        load_data(f"text:{tmp_path / file}", **options)


def test_a_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with pytest.raises(DataError, match="Expected tokenizer to be 'bytes', or a folder or name"):
        load_data(f"text:{tmp_path}/a.txt", tokenizer=str(tmp_path))


def test_other_files_that_cannot_be_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X.numpy())
    np.save(tmp_path / "y.npy", Y.numpy()[:5])
    np.save(tmp_path / "flat.npy", Y.numpy())
    (tmp_path / "t.parquet").write_text("no")
    for word, complaint in {
        f"npy:{tmp_path}/z.npy": "There is no file .*z.npy. In that folder there are: flat.npy, x.npy, y.npy",
        f"npy:{tmp_path}/flat.npy": "one row per sample",
        f"npy:{tmp_path}/x.npy?labels={tmp_path}/y.npy": "to hold 150 whole numbers",
        f"npy:{tmp_path}/x.npy?labels={tmp_path}/no.npy": "no.npy of labels",
        f"npy:{tmp_path}/x.npy?black=0": "both black and white",
        f"npy:{tmp_path}/x.npy?std=0": "std above 0",
        f"parquet:{tmp_path}/t.parquet": "could not be read as a Parquet file",
    }.items():
        with pytest.raises(DataError, match=complaint):
            load_data(word)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no files with the ending \.parquet"):
        load_data(f"parquet:{tmp_path}/empty")


OWN = """
import torch
from torch.utils.data import Subset, TensorDataset
from seamripper.data import Samples

def dataset(n=20, split="train"):
    return TensorDataset(torch.arange(n).float()[:, None] + (100 if split == "test" else 0), torch.arange(n) % 2)

def generator():
    for k in range(20):
        yield torch.full((2,), float(k))

def samples():
    return Samples("theirs", torch.zeros(5, 2))

def counted(split):
    return Samples("their/own", torch.full((5, 2), float(len(split))))

def numbered(split):
    first = 0 if split == "train" else 5
    return Samples("theirs", torch.zeros(5, 2), ids=torch.arange(first, first + 5))

def part(split):
    numbers = range(5) if split == "train" else range(5, 8)
    return Subset(TensorDataset(torch.arange(20)[:, None]), numbers)

def nothing():
    return 3

def fails():
    raise ValueError("no such disk")
"""


def test_what_a_function_of_your_file_returns(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    word = f"{tmp_path}/mine.py"
    assert len(load_data(f"{word}:dataset?n=30")) == len(load_data(f"{word}:dataset", n=30, seed=1)) + 10 == 30
    test = load_data(f"{word}:dataset", "test")
    assert (test.name, float(test.inputs[0, 0])) == (f"test of {word}:dataset", 100.0)  # type: ignore[index]
    assert load_data(f"{word}:dataset", "train", stream=True).name == f"{word}:dataset"
    for own, counted in (("counted", True), ("numbered", False), ("part", False)):
        parts = [load_data(f"{word}:{own}", split) for split in ("train", "test")]
        assert (family_of(parts[0].name) == family_of(parts[1].name)) is not counted
        assert set(parts[0].ids.tolist()) & set(parts[1].ids.tolist()) == (set(range(5)) if counted else set())
    stream = load_data(f"{word}:generator", stream=True)
    assert (stream.length, stream.once) == (None, False)
    assert stream.load().fingerprint == load_data(f"{word}:generator").fingerprint
    assert load_data(f"{word}:samples").name == "theirs"
    for function, complaint in {
        "nothing": "to return samples .*, but it returned 3",
        "fails": "fails failed at line 31: ValueError: no such disk",
        "missing": "has no class 'missing'",
    }.items():
        with pytest.raises(DataError, match=complaint):
            load_data(f"{word}:{function}")


def test_a_folder_of_images_is_streamed(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    draws = np.random.default_rng(0)
    for kind in ("cats", "dogs"):
        (tmp_path / kind).mkdir()
        for k in range(40):
            pixels = draws.integers(0, 256, (9, 12, 3), dtype=np.uint8)
            image.fromarray(pixels).save(tmp_path / kind / f"{k}.png")
    word = f"folder:{tmp_path}?size=8&mean=0.5&std=0.5"
    for split in ("train", "test"):
        stream, samples = load_data(word, split, stream=True), load_data(word, split)
        assert (stream.length, stream.name, stream.source) == (len(samples), samples.name, samples.source)
        assert stream.fingerprint == samples.fingerprint
        assert stream.load().classes == 2
    (tmp_path / "dogs" / "0.png").unlink()
    # Only the files that the pass comes to are read.
    (tmp_path / "dogs" / "39.png").write_text("no picture")
    late = load_data(word, "train", stream=True)
    assert len(late.head(20)) == 20
    with pytest.raises(DataError, match=r"39\.png could not be read as an image"):
        late.load()
