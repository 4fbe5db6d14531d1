"""Bad input: each is one sentence that says what to do, exit code 2, and never a traceback."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import seamripper as sr
from seamripper._files import load_tensors, read_record, save_tensors

if TYPE_CHECKING:
    from conftest import Run

FEW = ("--n", "50", "--n-test", "20", "--epochs", "1")
STITCH = ("stitch", "digit.safetensors@layer2", "digit.safetensors@layer2", "--data", "digits/correlated", *FEW)
AUDIT = ("audit", *STITCH[1:], "--seeds", "1", "--audits", "conflict")
TRAIN = ("train", "zoo:lenet", "--epochs", "1", "--out", "new.safetensors")


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.path, "w")


@pytest.fixture
def shelf(tmp_path: Path, networks: dict[str, Path]) -> Path:
    """A folder with everything that a user may have got wrong."""
    (tmp_path / "digit.safetensors").write_bytes(networks["digit"].read_bytes())
    _weights(tmp_path)
    _checkpoints(tmp_path)
    (tmp_path / "text.safetensors").write_text("These are my weights, honestly.\n" * 9)
    (tmp_path / "empty.safetensors").write_bytes(b"")
    whole = (tmp_path / "digit.safetensors").read_bytes()
    (tmp_path / "short.safetensors").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "start.safetensors").write_bytes(whole[:100])
    (tmp_path / "text.pt").write_text("These are my weights, honestly.\n" * 9)
    (tmp_path / "mine.py").write_text(MINE)
    _folders(tmp_path)
    return tmp_path


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


def _folders(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    (folder / "none").mkdir()
    for name, counts in {"one": (1, 1), "untested": (4, 0)}.items():
        for split, count in zip(("train", "test"), counts, strict=True):
            (folder / name / split / "cat").mkdir(parents=True)
            for k in range(count):
                image.new("RGB", (32, 32), (60 * k, 0, 0)).save(folder / name / split / "cat" / f"{k}.png")
    (folder / "damaged" / "cat").mkdir(parents=True)
    for k in range(6):
        (folder / "damaged" / "cat" / f"{k}.png").write_text("not a picture")


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
"""


@dataclass(frozen=True)
class Case:
    """Words that are typed, and the kind of error and parts of the sentence that come back."""

    name: str
    words: tuple[str, ...]
    kind: str
    says: tuple[str, ...]


def case(name: str, words: tuple[str, ...], kind: str, *says: str) -> Case:
    return Case(name, words, kind, says)


def stitch(*, sender: str = STITCH[1], receiver: str = STITCH[2], data: str = STITCH[4]) -> tuple[str, ...]:
    return ("stitch", sender, receiver, "--data", data, *FEW)


CASES = [
    # An unknown model, layer or data set.
    case("model", ("cuts", "zoo:resnet81"), "ModelError", "The zoo has no 'resnet81': did you mean 'resnet18'"),
    case("model from nowhere", ("cuts", "resnet18"), "ModelError", "Say where 'resnet18' is from: 'zoo:resnet18'"),
    case("scheme", ("cuts", "zoom:resnet18"), "ModelError", "For 'zoom', did you mean 'zoo'?"),
    case("option", ("cuts", "zoo:lenet?wdith=2"), "ModelError", "'lenet' has no option 'wdith'"),
    case("option's value", ("cuts", "zoo:lenet?classes=ten"), "ModelError", "whole number of at least 1", "'ten'"),
    case(
        "checkpoint", ("cuts", "digits.safetensors"), "FileError", "There is no file digits.safetensors", "digit.safe"
    ),
    case(
        "function", ("cuts", "mine.py:overflw"), "ModelError", "mine.py has no function 'overflw': did you mean 'overf"
    ),
    case("function that fails", ("cuts", "mine.py:broken"), "ModelError", "failed at line 18: NameError"),
    case("function without a model", ("cuts", "mine.py:number"), "ModelError", "to return a torch.nn.Module", "int"),
    case(
        "training another's", ("train", "timm:resnet18", "--data", "digits/digit", *TRAIN[2:]), "ModelError", "The zoo"
    ),
    case("layer", stitch(sender="digit.safetensors@layr2"), "CutError", "no layer 'layr2'", "'layer2'", "the sender"),
    case("layer, receiver", stitch(receiver="digit.safetensors@fc2"), "CutError", "'fc2'", "'fc'", "the receiver"),
    case("data", stitch(data="digts/correlated"), "DataError", "There is no data set 'digts/correlated': did you mean"),
    case("variant", stitch(data="digits/corelated"), "DataError", "did you mean 'digits/correlated'"),
    case("data, train", (*TRAIN, "--data", "mnst"), "DataError", "There is no data set 'mnst': did you mean 'mnist'"),
    case("matching", (*STITCH, "--matching", "tsk"), "MatchError", "There is no matching 'tsk': did you mean 'task'?"),
    case(
        "measure",
        ("check", "linear_kca"),
        "MeasureError",
        "There is no measure 'linear_kca': did you mean 'linear_cka'",
    ),
    case("stitch", (*STITCH, "--stitch", "afine"), "StitchError", "There is no stitch 'afine': did you mean 'affine'"),
    case("control", (*AUDIT, "--controls", "shuffeled"), "AuditError", "'shuffeled': did you mean 'shuffled'"),
    case(
        "control's option",
        (*AUDIT, "--controls", "self,clustered_noise?radus=1"),
        "AuditError",
        "has no option 'radus': did you mean 'radius'?",
    ),
    case(
        "control's value",
        (*AUDIT, "--controls", "random_sender?seeds=0"),
        "AuditError",
        "Expected seeds of the control 'random_sender' to be a whole number or None of at least 1, but got 0",
    ),
    case(
        "intervention",
        (*AUDIT, "--interventions", "default,grayscale"),
        "AuditError",
        "There is no intervention 'grayscale': did you mean 'greyscale'",
    ),
    case("audit", (*AUDIT, "--audits", "margn"), "AuditError", "There is no audit 'margn': did you mean 'margin'"),
    case("audit's matching", (*AUDIT, "--matching", "tsk"), "MatchError", "no matching 'tsk': did you mean 'task'?"),
    case(
        "audit's layer",
        ("audit", "digit.safetensors@layr2", *AUDIT[2:]),
        "CutError",
        "no layer 'layr2'",
        "This is about the sender",
    ),
    case(
        "other seed's layer",
        (*AUDIT, "--other-seed", "digit.safetensors@layr2"),
        "CutError",
        "no layer 'layr2'",
        "This is about the network of another seed, digit.safetensors.",
    ),
    case(
        "other seed that is none",
        (*AUDIT, "--other-seed", "digit.safetensors"),
        "AuditError",
        "Expected --other-seed to be a network from another seed than the receiver's",
    ),
    case(
        "conflict",
        (*AUDIT, "--conflict", "digts/digit"),
        "DataError",
        "no data set 'digts/digit': did you mean",
    ),
    case(
        "conflict's inputs",
        (*AUDIT, "--conflict", "folder:one"),
        "DataError",
        "3x28x28",
        "but folder:one has input 3x224x224",
    ),
    case("audit's init", (*AUDIT, "--stitch", "bn_affine"), "MatchError", "init='direct' needs a stitch"),
    case("no comparison", ("audit", "none"), "FileError", "none has no comparison.json", "seamripper compare A B"),
    # A cut that something goes around.
    case("leak", stitch(sender="digit.safetensors@layer2.0.conv1"), "LeakError", "layer2.0.conv1", "the sender"),
    # Weights that do not fit.
    case("missing key", ("cuts", "zoo:lenet?weights=missing.safetensors"), "CheckpointError", "1 missing: fc1.bias"),
    case("extra key", ("cuts", "zoo:lenet?weights=extra.safetensors"), "CheckpointError", "1 extra: fc4.bias"),
    case("shape", ("cuts", "zoo:lenet?weights=misshapen.safetensors"), "CheckpointError", "(expected 10, got 11)"),
    case("missing key, ours", ("cuts", "less.safetensors"), "CheckpointError", "1 missing: fc.bias"),
    case("extra key, ours", ("cuts", "more.safetensors"), "CheckpointError", "1 extra: x"),
    case("shape, ours", ("cuts", "other.safetensors"), "CheckpointError", "fc.bias (expected 10, got 3)"),
    case(
        "no architecture", ("cuts", "right.safetensors"), "CheckpointError", "'zoo:resnet18?weights=right.safetensors'"
    ),
    case("bare pickle", ("cuts", "bomb.pt"), "ModelError", "Weights need their architecture"),
    # What is not finite.
    case(
        "NaN", ("cuts", "zoo:lenet?weights=nan.safetensors"), "ModelError", "fc3.bias holds NaN or Inf in 10 of its 10"
    ),
    case("Inf, ours", ("cuts", "inf.safetensors"), "ModelError", "fc.bias holds NaN or Inf in 10 of its 10 values"),
    case("activations", stitch(sender="mine.py:overflow@rows"), "DataError", "activations at 'rows' hold NaN or Inf"),
    case("loss", (*TRAIN, "--data", "digits/digit", "--lr", "1e30"), "DivergedError", "finite at step", "lr = 1e+30"),
    case("loss, stitch", (*STITCH, "--lr", "1e30", "--epochs", "9"), "DivergedError", "with learning rate 1e+30"),
    # Inputs and labels that do not go together.
    case(
        "sender's inputs",
        stitch(sender="zoo:lenet?channels=1@pool1"),
        "CutError",
        "This is about the sender, zoo:lenet?channels=1.",
        "It takes inputs of 1x28x28; digits/correlated has 3x28x28, and both models must take the same.",
    ),
    case(
        "receiver's inputs",
        stitch(receiver="zoo:vit_tiny?size=32@blocks.1"),
        "CutError",
        "This is about the receiver, zoo:vit_tiny?size=32.",
        "It takes inputs of 3x32x32; digits/correlated has 3x28x28",
    ),
    case("input", ("cuts", "zoo:lenet", "--input", "1x28x28"), "CutError", "does not run on inputs of shape 1x28x28"),
    case("channels", ("train", "zoo:lenet?channels=1", *TRAIN[2:], "--data", "digits"), "DataError", "channels=3"),
    case("labels", stitch(receiver="zoo:lenet?classes=5@pool1"), "DataError", "from 0 to 9", "5 classes (0 … 4)"),
    case(
        "labels, direct",
        (*stitch(receiver="zoo:lenet?classes=5@pool1")[:-2], "--matching", "direct"),
        "DataError",
        "from 0 to 9",
        "5 classes (0 … 4)",
    ),
    case("labels, train", ("train", "zoo:lenet?classes=5", *TRAIN[2:], "--data", "digits"), "DataError", "classes=10"),
    # Data with nothing, or next to nothing, in it.
    case("no folder", (*TRAIN, "--data", "folder:nowhere"), "DataError", "There is no folder nowhere"),
    case("empty", (*TRAIN, "--data", "folder:none"), "DataError", "none has no images"),
    case("one sample", ("train", "zoo:R_1111", *TRAIN[2:], "--data", "folder:one"), "DataError", "at least 2 samples"),
    case(
        "one sample, stitch", stitch(data="folder:one"), "DataError", "at least 2 samples to fit a stitch on", "has 1"
    ),
    case("nothing to test", stitch(data="folder:untested"), "DataError", "has no images"),
    case("damaged image", (*TRAIN, "--data", "folder:damaged"), "DataError", "png could not be read as an image"),
    # A stitch that does not fit.
    case(
        "stitch does not fit",
        (*stitch(receiver="digit.safetensors@fc"), "--stitch", "affine"),
        "StitchError",
        "The stitch 'affine' cannot join layer2 (",
        "to fc (10, nd)",
        "use 'pool_linear'",
    ),
    case(
        "identity does not fit",
        (*stitch(sender="digit.safetensors@layer1"), "--stitch", "identity"),
        "StitchError",
        "The stitch 'identity' cannot join layer1",
    ),
    case("init", (*STITCH, "--init", "direct", "--stitch", "bn_affine"), "MatchError", "init='direct' needs a stitch"),
    case(
        "freeze",
        (*STITCH[:-2], "--freeze", "weights", "--matching", "direct"),
        "MatchError",
        "goes with the matching 'task'",
    ),
    # A file that is not what it says.
    case("text", ("cuts", "text.safetensors"), "FileError", "text.safetensors is not a safetensors file"),
    case("text as weights", ("cuts", "zoo:lenet?weights=text.safetensors"), "FileError", "is not a safetensors file"),
    case("text as pickle", ("cuts", "zoo:lenet?weights=text.pt"), "CheckpointError", "text.pt"),
    case("nothing in it", ("cuts", "empty.safetensors"), "FileError", "(or it was cut short)"),
    case("cut short", ("cuts", "short.safetensors"), "FileError", "short.safetensors was cut short"),
    case("cut very short", ("cuts", "start.safetensors"), "FileError", "(or it was cut short)"),
    case("a match", ("cuts", "match.safetensors"), "CheckpointError", "to hold a model, but it holds a match"),
    case("unfinished", ("cuts", "run.partial.safetensors"), "CheckpointError", "a training that was not finished"),
    case("a folder", ("cuts", "none.safetensors"), "FileError", "There is no file none.safetensors"),
]


@pytest.mark.parametrize("given", CASES, ids=lambda given: given.name)
def test_a_sentence_and_a_code(run: Run, shelf: Path, given: Case) -> None:
    before = sorted(path.name for path in shelf.iterdir())
    ran = run(*given.words)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("seamripper: ")
    assert "Traceback" not in ran.err
    for part in given.says:
        assert part in ran.err
    assert sorted(path.name for path in shelf.iterdir()) == before


@pytest.mark.parametrize("given", CASES[::6], ids=lambda given: given.name)
def test_with_json_an_error_is_one_object(run: Run, shelf: Path, given: Case) -> None:
    ran = run(*given.words, "--json")
    assert (ran.code, ran.err) == (2, "")
    assert list(ran.json) == ["error"]
    assert ran.json["error"]["kind"] == given.kind
    for part in given.says:
        assert part in ran.json["error"]["message"]


def test_every_kind_of_error_that_a_user_can_cause_is_here() -> None:
    kinds = {given.kind for given in CASES}
    # FrozenError is about our own mistakes; UnfetchedError, MissingExtraError, InapplicableError are tested elsewhere.
    assert kinds == {
        *("ModelError", "CheckpointError", "DataError", "CutError", "LeakError", "StitchError", "MatchError"),
        *("DivergedError", "MeasureError", "AuditError", "FileError"),
    }


@pytest.mark.parametrize("name", ["bomb.pt", "bomb.pth"])
def test_a_pickle_that_is_not_weights_is_not_run(run: Run, shelf: Path, name: str) -> None:
    ran = run("cuts", f"zoo:lenet?weights={name}")
    assert ran.code == 2
    assert f"{name} is a pickle that holds more than weights. It was not opened" in ran.err
    assert "torch.save(model.state_dict(), FILE)" in ran.err
    assert not (shelf / "burst").exists()


def test_the_pickle_would_have_done_something(shelf: Path) -> None:
    pickle.loads((shelf / "bomb.pth").read_bytes()).close()
    assert (shelf / "burst").exists()


def test_weights_that_are_right_are_taken(run: Run, shelf: Path) -> None:
    """The same files without what was planted in them: it is not the way they are made that is refused."""
    assert run("cuts", "zoo:lenet?weights=right.safetensors").code == 0
    assert run("cuts", "digit.safetensors").code == 0
    assert read_record(shelf / "digit.safetensors")[0] == "model"
    assert isinstance(sr.load("mine.py:overflow").module, nn.Module)
    assert run(*STITCH).code == 0


USAGE = [
    (("cuts",), "Missing argument 'MODEL'"),
    (("cuts", "zoo:lenet", "--input", "3y28"), "expected a shape like 3x28x28, but got '3y28'"),
    (("cuts", "zoo:lenet", "--input", "3x0x28"), "expected a shape like 3x28x28, but got '3x0x28'"),
    (("cuts", "zoo:lenet", "--input", "3x99999x99999"), "expected at most 100,000,000 numbers in an input"),
    (("cuts", "zoo:lenet", "--imput", "3x28x28"), "No such option '--imput'"),
    (("stitch", "digit.safetensors", STITCH[2], "--data", "digits"), "Expected the sender as MODEL@CUT"),
    (("stitch", STITCH[1], "digit.safetensors@", "--data", "digits"), "Expected the receiver as MODEL@CUT"),
    (("stitch", STITCH[1], STITCH[2]), "Missing option '--data'"),
    (("audit", "digit.safetensors", *AUDIT[2:]), "Expected the sender as MODEL@CUT"),
    (("audit", AUDIT[1], "digit.safetensors", *AUDIT[3:]), "Expected the receiver as MODEL@CUT"),
    (("audit", *AUDIT[1:3]), "Missing option '--data'"),
    (("audit",), "Missing argument 'SENDER'"),
    (("audit", "digit.safetensors@layer2"), "but got 'digit.safetensors@layer2' alone, which is no folder"),
    (
        ("audit", "none", "--data", "digits", "--seeds", "2"),
        "A folder is audited as it is: --data, --seeds",
    ),
    ((*AUDIT, "--seeds", "0"), "0 is not in the range x>=1"),
    ((*AUDIT, "--interventions", "none,greyscale"), "Expected --interventions to be none, or names, but got both."),
    ((*AUDIT, "--out", "audit.safetensors"), "expected a folder, or a name that ends in .json, but got 'audit.safe"),
    ((*STITCH, "--init", "drect"), "'drect' is not one of 'random', 'identity', 'direct'"),
    ((*STITCH, "--ridge", "-1"), "-1.0 is not in the range x>=0"),
    ((*STITCH, "--n", "1"), "1 is not in the range x>=2"),
    ((*STITCH, "--out", "match.pt"), "expected a name that ends in .safetensors, but got 'match.pt'"),
    ((*STITCH, "--out", "match"), "expected a name that ends in .safetensors, but got 'match'"),
    ((*TRAIN, "--data", "digits", "--out", "folder.safetensors"), "'folder.safetensors' is a folder"),
    ((*TRAIN, "--data", "digits", "--seed", "4294967296"), "4294967296 is not in the range 0<=x<=4294967295"),
    ((*TRAIN, "--data", "digits", "--epochs", "0"), "0 is not in the range x>=1"),
    ((*TRAIN, "--data", "digits", "--epochs", "many"), "'many' is not a valid integer"),
]


@pytest.mark.parametrize(("words", "says"), USAGE, ids=lambda value: " ".join(value[-2:]) if value[1:] else value)
def test_what_cannot_be_parsed_is_told_with_the_usage(run: Run, shelf: Path, words: tuple[str, ...], says: str) -> None:
    (shelf / "folder.safetensors").mkdir()
    ran = run(*words)
    assert ran.code == 2
    assert ran.err.startswith(f"Usage: seamripper {words[0]} ")
    assert says in " ".join(ran.err.split())
    told = run(*words, "--json")
    assert (told.code, told.err) == (2, "")
    assert told.json["error"]["kind"] == "UsageError"
    assert says in " ".join(told.json["error"]["message"].split())


def test_data_that_cannot_be_fetched_is_told_with_what_to_do(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEAMRIPPER_OFFLINE", "1")
    monkeypatch.setenv("SEAMRIPPER_CACHE", str(tmp_path / "cache"))
    ran = run(*TRAIN, "--data", "fashion/digit", "--json")
    assert ran.code == 2
    assert ran.json["error"]["kind"] == "UnfetchedError"
    assert "not asked, because SEAMRIPPER_OFFLINE is set" in ran.json["error"]["message"]
    assert "place these files by hand" in ran.json["error"]["message"]


def test_a_file_that_cannot_be_read_is_told(run: Run, tmp_path: Path) -> None:
    """The memory of a process is a file to look at, and gives an error when it is read at its start."""
    (tmp_path / "sick.safetensors").symlink_to("/proc/self/mem")
    ran = run("cuts", "sick.safetensors")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert ran.err.startswith("seamripper: ")
    assert len(ran.err.splitlines()) == 1


def test_a_place_that_cannot_be_written_to_is_told(run: Run) -> None:
    ran = run("train", "zoo:lenet", "--data", "digits", "--n", 32, "--epochs", 1, "--out", "/proc/a.safetensors")
    assert ran.code == 2
    assert ran.err.startswith("seamripper: Could not write /proc/a.partial.safetensors: ")


def test_the_installed_command_says_the_same(shell: Run, shelf: Path) -> None:
    ran = shell("stitch", "digit.safetensors@layr2", "digit.safetensors@layer2", "--data", "digits/correlated")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("seamripper: There is no layer 'layr2' to cut: did you mean 'layer2'")
    assert ran.err.endswith("This is about the sender, digit.safetensors.\n")
    told = shell("cuts", "zoo:lenet?weights=bomb.pt", "--json")
    assert (told.code, told.err) == (2, "")
    assert told.json["error"]["kind"] == "CheckpointError"
    assert not (shelf / "burst").exists()
