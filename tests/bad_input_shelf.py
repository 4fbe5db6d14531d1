"""A folder with everything that users may get wrong, and the values that they may hand to a function."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import seamripper as sr
from in_process import InProcess
from seamripper import papers
from seamripper._files import load_tensors, save_tensors
from seamripper.comparing import diff
from seamripper.controls import Case
from seamripper.data import clustered_noise
from seamripper.matching import Direct, Regression, Task
from seamripper.measures import Measure, measures
from seamripper.stitches import stitches
from seamripper.swapping import swap

NETWORK = "zoo:R_1111?width=0.125"

MINE = """
from torch import nn

class Overflow(nn.Module):
    # Divides by zero on pixels, of which none is above 1, and not on the normal numbers that it is cut with.
    def __init__(self):
        super().__init__()
        self.rows = nn.Flatten()
        self.fc = nn.Linear(3 * 28 * 28, 10)

    def forward(self, x):
        return self.fc(self.rows(x / (x.amax((1, 2, 3), keepdim=True) - 1).clamp(min=0)))

def overflow():
    return Overflow()

def broken():
    return undefined

def number():
    return 7

def narrow(width=4):
    return nn.Sequential(nn.Linear(6, width), nn.Linear(width, 2))

def f(k=0, seed=0):
    return {"k": k}

CONSTANT = 3
"""

CALL = '[[call]]\nfunction = "mine.py:f"\ngrid = { k = [1, 2] }\n'
NET = '[models.net]\ntrain = "zoo:lenet"\ndata = "digits/digit"\n'
STITCH = 'data = "digits/digit"\n' + NET + '[[stitch]]\nsenders = ["net"]\nreceivers = ["net"]\ncuts = ["pool1"]\n'
AUDIT = 'data = "digits/digit"\n' + NET + '[[audit]]\nsenders = ["net"]\nreceivers = ["net"]\ncuts = ["pool1"]\n'
COMPARE = 'data = "digits/digit"\n' + NET + '[[compare]]\nsenders = ["net"]\nreceivers = ["net"]\n'
FUNCTIONAL = COMPARE.replace("[[compare]]", "[[functional]]")
NOISE = NET + '[[noise]]\nreceivers = ["net"]\ncuts = ["pool1"]\n'

ZOO = 'data = { name = "digits/correlated", n_test = 20 }\n' + NET

STUDIES = {
    "zoo": ZOO,
    "zoo-key": ZOO.replace("data = {", "date = {"),
    "zoo-information": ZOO + '[information]\nnte = "digit"\n',
    "zoo-alone": ZOO + '[information]\nnet = "digit"\n',
    "zoo-one-cut": 'cuts = ["pool1"]\n' + ZOO,
    "zoo-no-cut": 'cuts = ["pool9"]\n' + ZOO,
    "good": CALL,
    "key": CALL.replace("function", "funktion"),
    "top": "thread = 2\n" + CALL,
    "threads": "threads = 0\n" + CALL,
    "many-threads": "threads = 5000\n" + CALL,
    "word-threads": 'threads = "two"\n' + CALL,
    "name": 'name = "../up"\n' + CALL,
    "folder": 'folder = "x"\n' + CALL,
    "table": '[call]\nfunction = "mine.py:f"\n',
    "no-function": "[[call]]\nseeds = [0]\n",
    "no-file": CALL.replace("mine.py", "yours.py"),
    "no-name": CALL.replace("mine.py:f", "mine.py:g"),
    "no-colon": CALL.replace("mine.py:f", "mine.py"),
    "empty-grid": CALL.replace("[1, 2]", "[]"),
    "list-grid": CALL.replace("[1, 2]", "1"),
    "seed": CALL + "seeds = [-1]\n",
    "float-seed": CALL + "seeds = [0.5]\n",
    "nan": CALL + "[resources]\ngpus = nan\n",
    "gpus": CALL + "[resources]\ngpus = -1\n",
    "not-toml": "[[call]\nfunction = \n",
    "twice": "threads = 1\nthreads = 2\n",
    "nothing": "",
    "architecture": STITCH.replace("zoo:lenet", "zoo:lenett"),
    "no-data": STITCH.replace('data = "digits/digit"\n[models', "[models").replace('data = "digits/digit"\n', "", 1),
    "data": STITCH.replace('data = "digits/digit"', 'data = "digts/digit"', 1),
    "few": STITCH.replace('data = "digits/digit"', 'data = { name = "digits/digit", n = 1 }', 1),
    "both": STITCH.replace('train = "zoo:lenet"', 'train = "zoo:lenet"\nload = "zoo:lenet"'),
    "loaded": STITCH.replace('train = "zoo:lenet"\ndata = "digits/digit"', 'load = "zoo:lenet"\ntraining = "smith"'),
    "neither": STITCH.replace('train = "zoo:lenet"\n', ""),
    "sender": STITCH.replace('senders = ["net"]', 'senders = ["nte"]'),
    "model-seed": STITCH.replace('senders = ["net"]', 'senders = ["net/3"]'),
    "no-cuts": STITCH.replace('cuts = ["pool1"]\n', ""),
    "empty-cuts": STITCH.replace('cuts = ["pool1"]', "cuts = []"),
    "cuts-word": STITCH.replace('cuts = ["pool1"]', 'cuts = "pool1"'),
    "matching": STITCH + 'matchings = ["tsk"]\n',
    "own-matching": STITCH + '[matchings]\nmine = "dirct"\n',
    "own-option": STITCH + '[matchings]\nmine = "direct?epochs=3"\n',
    "own-table": STITCH + '[matchings.mine]\nway = "direct"\n',
    "ridge": STITCH + '[matchings]\nmine = "direct?ridge=-1"\n',
    "lr": STITCH.replace("[[stitch]]", 'training = "?lr=0"\n[[stitch]]'),
    "epochs": STITCH.replace("[[stitch]]", 'training = "?epochs=0"\n[[stitch]]'),
    "optimiser": STITCH.replace("[[stitch]]", 'training = "?optimiser=adamw"\n[[stitch]]'),
    "training": STITCH.replace("[[stitch]]", 'training = "smth"\n[[stitch]]'),
    "stitch": STITCH + 'stitches = ["afine"]\n',
    "stitch-option": STITCH + 'stitches = ["conv?kernal=3"]\n',
    "stitch-file": STITCH + 'stitches = ["yours.py:Mine"]\n',
    "freeze": STITCH + 'freeze = ["none"]\n',
    "pairing": STITCH + 'pairing = "match"\n',
    "control": STITCH + 'controls = ["shuffeled"]\n',
    "other-seed": STITCH + 'controls = ["other_seed"]\n',
    "control-option": STITCH + 'controls = ["clustered_noise?radus=1"]\n',
    "measure": COMPARE + 'measures = ["linear_kca"]\n',
    "sampling": COMPARE + 'sampling = "pixels"\n',
    "parts": COMPARE + "parts = 0\n",
    "null": COMPARE + "null = 5\n",
    "null_in_parts": COMPARE + "null = 20\nparts = 2\n",
    "folds": COMPARE + "folds = 1\n",
    "split": COMPARE + 'split = "validation"\n',
    "audit": AUDIT + 'audits = ["margn"]\n',
    "audit-control": AUDIT + 'controls = ["shuffeled"]\n',
    "intervention": AUDIT + 'interventions = ["grayscale"]\n',
    "mixture": AUDIT + 'mixtures = ["rectangel"]\n',
    "audit-seeds": AUDIT + "seeds = []\n",
    "audit-matching": AUDIT + 'matching = "tsk"\n',
    "functional-matching": FUNCTIONAL + 'matchings = ["drect"]\n',
    "functional-cut": FUNCTIONAL + 'receiver_cuts = ["pol1"]\n',
    "functional-ood": FUNCTIONAL + 'ood = ["energy"]\n',
    "functional-detectors": FUNCTIONAL + 'ood = ["distribution", "distribution?n=50"]\n',
    "functional-option": FUNCTIONAL + 'ood = ["distribution?detektor=energy"]\n',
    "functional-seed": FUNCTIONAL + "seed = -1\n",
    "radius": NOISE + "radius = [-0.1]\n",
    "noise-classes": NOISE + "classes = [1]\n",
    "pictures": AUDIT.replace("[[audit]]", "[[pictures]]") + "n = 0\n",
}
"""Descriptions of studies, one slip each; the first has none."""


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.path, "w")


def fill(folder: Path) -> None:
    """Write all of it."""
    (folder / "mine.py").write_text(MINE)
    (folder / "own.py").write_text("import math\nfrom seamripper.measures import Measure\n\nclass Nothing:\n    pass\n")
    (folder / "syntax.py").write_text("def make(:\n")
    (folder / "file").write_text("")
    (folder / "none").mkdir()
    (folder / "folder.safetensors").mkdir()
    # The memory of a process is a file to look at, and gives an error when it is read at its start.
    (folder / "sick.safetensors").symlink_to("/proc/self/mem")
    few = sr.load_data("digits/digit", "train", n=64)
    sr.train(NETWORK, few, training="smith?epochs=1", out=folder / "digit.safetensors")
    sr.train(NETWORK, few, training="smith?epochs=1", seed=1, out=folder / "second.safetensors")
    _weights(folder)
    _checkpoints(folder)
    _texts(folder)
    _images(folder)
    _activations(folder)
    _comparisons(folder)
    _studies(folder)


def _weights(folder: Path) -> None:
    """State dicts for `zoo:lenet`, each with something wrong."""
    right = sr.load("zoo:lenet").module.state_dict()
    save_file(right, folder / "right.safetensors")
    save_file({k: v for k, v in right.items() if k != "fc1.bias"}, folder / "missing.safetensors")
    save_file({**right, "fc4.bias": torch.zeros(10)}, folder / "extra.safetensors")
    save_file({**right, "fc3.bias": torch.zeros(11)}, folder / "misshapen.safetensors")
    save_file({**right, "fc3.bias": torch.full((10,), torch.nan)}, folder / "nan.safetensors")
    torch.save({"state_dict": right, "callback": Bomb(folder / "burst")}, folder / "bomb.pt")
    (folder / "bomb.pth").write_bytes(pickle.dumps(Bomb(folder / "burst")))


def _checkpoints(folder: Path) -> None:
    """Checkpoints of ours that hold other tensors than their record speaks of, or are no checkpoints."""
    tensors, record = load_tensors(folder / "digit.safetensors", kind="model")
    less = {k: v for k, v in tensors.items() if k != "fc.bias"}
    save_tensors(folder / "less.safetensors", less, record, kind="model")
    save_tensors(folder / "more.safetensors", {**tensors, "x": torch.zeros(1)}, record, kind="model")
    save_tensors(folder / "other.safetensors", {**tensors, "fc.bias": torch.zeros(3)}, record, kind="model")
    save_tensors(folder / "inf.safetensors", {**tensors, "fc.bias": torch.full((10,), torch.inf)}, record, kind="model")
    save_tensors(folder / "match.safetensors", {}, {}, kind="match")
    save_tensors(folder / "run.partial.safetensors", {}, {}, kind="training")


def _texts(folder: Path) -> None:
    """Files that are not what their names say."""
    text = "These are my weights, honestly.\n" * 9
    for name in ("text.safetensors", "text.pt", "text.npy"):
        (folder / name).write_text(text)
    (folder / "empty.safetensors").write_bytes(b"")
    (folder / "empty.npy").write_bytes(b"")
    whole = (folder / "digit.safetensors").read_bytes()
    (folder / "short.safetensors").write_bytes(whole[: len(whole) // 2])
    (folder / "start.safetensors").write_bytes(whole[:100])


def _images(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for name, counts in {"one": (1, 1), "untested": (4, 0), "apart": (4, 4)}.items():
        for split, count in zip(("train", "test"), counts, strict=True):
            kind = "dog" if (name, split) == ("apart", "test") else "cat"
            (folder / name / split / kind).mkdir(parents=True)
            for k in range(count):
                image.new("RGB", (32, 32), (60 * k, 0, 0)).save(folder / name / split / kind / f"{k}.png")
    (folder / "damaged" / "cat").mkdir(parents=True)
    for k in range(6):
        (folder / "damaged" / "cat" / f"{k}.png").write_text("not a picture")
    (folder / "untrained" / "train" / "cat").mkdir(parents=True)
    (folder / "quiet" / "a").mkdir(parents=True)
    for k in range(6):
        (folder / "quiet" / "a" / f"{k}.wav").write_text("not a sound")


def _activations(folder: Path) -> None:
    g = torch.Generator().manual_seed(0)
    rows = torch.randn(60, 6, generator=g)
    sick = rows.clone()
    sick[7, 2] = torch.nan
    for name, values in {
        "a": rows,
        "fewer": rows[:50],
        "three": rows[:3],
        "sick": sick,
        "maps": torch.randn(60, 3, 4, 4, generator=g),
        "small": torch.randn(60, 3, 2, 2, generator=g),
        "flat": torch.zeros(60),
        "deep": torch.zeros(4, 1, 1, 1, 1),
        "hollow": torch.zeros(0, 6),
        "complex": torch.zeros(8, 2, dtype=torch.complex64),
    }.items():
        np.save(folder / f"{name}.npy", values.numpy())
    np.save(folder / "pickled.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    (folder / "cut.npy").write_bytes((folder / "a.npy").read_bytes()[:200])
    cut, labels, ids = sr.Cut("layer2", (6,), "nd"), torch.zeros(60, dtype=torch.int64), torch.arange(60)
    sr.Activations(cut, rows, labels, ids).save(folder / "a.safetensors")
    sr.Activations(cut, rows, labels, ids.flip(0)).save(folder / "turned.safetensors")
    sr.Activations(cut, rows, labels, ids + 1).save(folder / "others.safetensors")


def _comparisons(folder: Path) -> None:
    for name, text in {
        "broken-comparison": "{",
        "foreign-comparison": '{"kind": "cooking"}',
        "bare-comparison": json.dumps({"kind": "comparison", "senders": [], "receivers": [], "record": {}}),
    }.items():
        (folder / name).mkdir()
        (folder / name / "comparison.json").write_text(text)


def _studies(folder: Path) -> None:
    for name, text in STUDIES.items():
        (folder / f"{name}.toml").write_text(text)
    (folder / "bytes.toml").write_bytes(b'name = "\xff\xfe"\n')
    done = sr.run(sr.Experiment.read(folder / "good.toml"), folder / "store", engine=InProcess())
    assert done.did == 2
    (folder / "older").mkdir()
    (folder / "older" / "ledger.sqlite").write_text("as versions before this one have written it")
    (folder / "foreign").mkdir()
    (folder / "foreign" / "notes.txt").write_text("mine")
    (folder / "taken").mkdir()
    (folder / "taken" / "reproduction.json").write_text("{")


def given() -> dict[str, Any]:
    """What the rows of Python can name: the public names, real models, halves, samples and a match."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3)).eval()
    inputs, labels, ids = torch.randn(40, 8), torch.arange(40) % 3, torch.arange(40)
    fit = sr.Samples("toy", inputs, labels, ids, classes=3)
    test = sr.Samples("toy", torch.randn(20, 8), labels[:20], ids[:20] + 100, classes=3)
    half = sr.split(net, "1", inputs[:2])
    dataset = TensorDataset(inputs, labels)
    rows = torch.randn(30, 4)
    return {
        **{name: getattr(sr, name) for name in sr.__all__},
        **{choice.__name__: choice for choice in (Case, Direct, Measure, Regression, Task, clustered_noise)},
        "diff": diff,
        "swap": swap,
        "measures": measures,
        "papers": papers,
        "stitches": stitches,
        "torch": torch,
        "np": np,
        "nn": nn,
        "Path": Path,
        "net": net,
        "model": sr.Model(net, "toy", input=(8,), classes=3),
        "half": half,
        "fit": fit,
        "test": test,
        "found": sr.match(half, half, fit, matching="direct"),
        "dataset": dataset,
        "loader": DataLoader(dataset),
        "inputs": inputs,
        "labels": labels,
        "ids": ids,
        "rows": rows,
        "pair": sr.Pair.of(rows, rows[:, :2]),
        "wide": sr.split(nn.Sequential(nn.Linear(9, 6), nn.Linear(6, 3)), "0", torch.zeros(2, 9)),
        "narrow": sr.split(nn.Sequential(nn.Linear(8, 5), nn.Linear(5, 3)), "0", inputs[:2]),
        "tokens": sr.Samples("tokens", {"input_ids": ids[:, None]}, labels, ids, classes=3),
        "study": sr.Experiment.read("good.toml"),
        "nan": float("nan"),
        "inf": float("inf"),
    }
