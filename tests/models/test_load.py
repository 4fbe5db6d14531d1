"""load: every scheme, every way to give weights, and the words for what goes wrong."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from seamripper._fingerprint import model_fingerprint
from seamripper.errors import CheckpointError, FileError, MissingExtraError, ModelError
from seamripper.models import Architecture, Model, libraries, load, recipe_of
from seamripper.models.libraries import import_timm, import_torchvision
from seamripper.models.running import answer_of

pytestmark = pytest.mark.filterwarnings("ignore:The compiled part of torchvision:UserWarning")

LENET = "zoo:lenet?channels=1"


@pytest.fixture
def other() -> nn.Module:
    """A LeNet of another seed than `load` takes."""
    return Architecture.parse(LENET).build(7)


def tensor(inputs: Any) -> Tensor:
    assert isinstance(inputs, Tensor)
    return inputs


# zoo


def test_a_zoo_model_is_loaded_in_eval_mode_and_by_its_seed() -> None:
    model = load(LENET)
    assert not model.module.training
    assert (model.input, model.classes, model.source) == ((1, 28, 28), 10, LENET)
    assert model.fingerprint == load(LENET).fingerprint == model_fingerprint(Architecture.parse(LENET).build(0))
    assert load(f"{LENET}&seed=7").fingerprint == model_fingerprint(Architecture.parse(LENET).build(7))


def test_the_input_can_be_given_in_the_spec_or_as_an_argument() -> None:
    assert load("zoo:R_1111?width=0.125&input=3x32x32").input == (3, 32, 32)
    assert load("zoo:R_1111?width=0.125", input=(3, 32, 32)).input == (3, 32, 32)
    with pytest.raises(ModelError, match="given twice"):
        load("zoo:R_1111?width=0.125&input=3x32x32", input=(3, 32, 32))
    with pytest.raises(ModelError, match="joined by x"):
        load("zoo:R_1111?width=0.125&input=3,32")
    with pytest.raises(ModelError, match="built for"):
        load(LENET, input=(1, 32, 32))
    with pytest.raises(ModelError, match=r"an image of 3 channels, .* but got \(1, 32, 32\)"):
        load("zoo:R_1111?width=0.125", input=(1, 32, 32))


# weights


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".pth"])
@pytest.mark.parametrize("way", ["spec", "argument"])
def test_weights_are_loaded_from_either_format(other: nn.Module, tmp_path: Path, suffix: str, way: str) -> None:
    file = tmp_path / f"weights{suffix}"
    if suffix == ".safetensors":
        save_file(other.state_dict(), file)
    else:
        torch.save(other.state_dict(), file)
    model = load(f"{LENET}&weights={file}") if way == "spec" else load(LENET, weights=file)
    assert model.fingerprint == model_fingerprint(other)
    assert model.source == f"{LENET}&weights={file}"
    assert recipe_of(model) == LENET


def test_a_training_scripts_wrapping_is_taken_off(other: nn.Module, tmp_path: Path) -> None:
    file = tmp_path / "w.pth"
    parallel = {f"module.{k}": v for k, v in other.state_dict().items()}
    torch.save({"epoch": 3, "state_dict": parallel, "optimizer": {"lr": 0.1}}, file)
    assert load(LENET, weights=file).fingerprint == model_fingerprint(other)


def test_keys_that_do_not_fit_are_listed_with_counts_and_both_shapes(other: nn.Module, tmp_path: Path) -> None:
    state = other.state_dict()
    for key in ("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"):
        state[f"old.{key}"] = state.pop(key)
    state["fc3.weight"] = torch.zeros(5, 84)
    torch.save(state, tmp_path / "w.pt")
    with pytest.raises(CheckpointError) as told:
        load(LENET, weights=tmp_path / "w.pt")
    message = str(told.value)
    assert "4 missing: conv1.weight, conv1.bias, conv2.weight and 1 more" in message
    assert "4 extra: old.conv1.weight, old.conv1.bias, old.conv2.weight and 1 more" in message
    assert "1 of another shape: fc3.weight (expected 10x84, got 5x84)" in message


def test_old_files_may_lack_the_counter_of_a_batch_norm(tmp_path: Path) -> None:
    spec = "zoo:R_1111?width=0.125"
    state = Architecture.parse(spec).build(7).state_dict()
    kept = {k: v for k, v in state.items() if not k.endswith("num_batches_tracked")}
    torch.save(kept, tmp_path / "w.pt")
    assert torch.equal(load(spec, weights=tmp_path / "w.pt").module.state_dict()["fc.weight"], state["fc.weight"])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named(other: nn.Module, tmp_path: Path, value: float) -> None:
    state = other.state_dict()
    state["fc2.weight"][0, 0] = value
    save_file(state, tmp_path / "w.safetensors")
    with pytest.raises(ModelError, match=r"fc2\.weight holds NaN or Inf in 1 of its 10080 values"):
        load(LENET, weights=tmp_path / "w.safetensors")


class Hostile:
    """Makes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.file),))


@pytest.mark.parametrize("saved_with", ["torch", "pickle"])
def test_a_pickle_that_is_not_weights_is_never_opened(tmp_path: Path, saved_with: str) -> None:
    trap, file = tmp_path / "sprung", tmp_path / "w.pt"
    if saved_with == "torch":
        torch.save({"state_dict": Hostile(trap)}, file)
    else:
        file.write_bytes(pickle.dumps(Hostile(trap)))
    with pytest.raises(CheckpointError, match="It was not opened"):
        load(LENET, weights=file)
    assert not trap.exists()


def test_a_whole_model_in_a_pickle_is_refused(other: nn.Module, tmp_path: Path) -> None:
    torch.save(other, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match=r"save only the weights: torch\.save\(model\.state_dict\(\)"):
        load(LENET, weights=tmp_path / "w.pt")


@pytest.mark.parametrize("content", [b"", b"hello, I am a text", b"PK\x03\x04 torn"])
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_damaged_files_are_told(tmp_path: Path, content: bytes, suffix: str) -> None:
    file = tmp_path / f"w{suffix}"
    file.write_bytes(content)
    with pytest.raises((CheckpointError, FileError), match=file.name):
        load(LENET, weights=file)


@pytest.mark.parametrize("held", [[1, 2], {"epoch": 3}, {}, torch.zeros(2)])
def test_files_without_a_state_dict_are_told(tmp_path: Path, held: object) -> None:
    torch.save(held, tmp_path / "w.pt")
    with pytest.raises(CheckpointError, match="to hold a state dict"):
        load(LENET, weights=tmp_path / "w.pt")


@pytest.mark.parametrize("name", ["none.pt", "none.safetensors"])
def test_a_missing_file_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="There is no file"):
        load(LENET, weights=tmp_path / name)


def test_an_unknown_kind_of_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"ends in \.safetensors"):
        load(LENET, weights=tmp_path / "w.h5")


def test_weights_of_tied_layers_may_be_given_once(tmp_path: Path) -> None:
    file = tmp_path / "tied.py"
    file.write_text(
        "from torch import nn\n"
        "class Tied(nn.Sequential):\n"
        "    def __init__(self):\n"
        "        super().__init__(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))\n"
        "        self[1].weight = self[0].weight\n"
    )
    save_file({"0.weight": torch.eye(3)}, tmp_path / "w.safetensors")
    model = load(f"{file}:Tied", weights=tmp_path / "w.safetensors")
    assert torch.equal(model.module.state_dict()["1.weight"], torch.eye(3))


# torchvision and timm


def test_torchvision_models() -> None:
    model = load("torchvision:mobilenet_v3_small?num_classes=7")
    assert (model.input, model.classes) == ((3, 224, 224), 7)
    assert not model.module.training
    with torch.no_grad():
        assert model.module(tensor(model.example(input=(3, 64, 64)))).shape == (2, 7)
    assert model.fingerprint == load("torchvision:mobilenet_v3_small?num_classes=7").fingerprint
    assert model.fingerprint != load("torchvision:mobilenet_v3_small?num_classes=7&seed=1").fingerprint
    assert recipe_of(model) == "torchvision:mobilenet_v3_small?num_classes=7"


def test_torchvision_weights_load_into_the_zoo(tmp_path: Path) -> None:
    theirs = load("torchvision:resnet18")
    save_file(theirs.module.state_dict(), tmp_path / "w.safetensors")
    ours = load("zoo:resnet18?classes=1000", weights=tmp_path / "w.safetensors", input=(3, 32, 32))
    with torch.no_grad():
        x = tensor(ours.example())
        assert torch.equal(ours.module(x), theirs.module(x))


def test_timm_models() -> None:
    model = load("timm:vit_tiny_patch16_224?img_size=32&patch_size=4&num_classes=10")
    assert (model.input, model.classes) == ((3, 32, 32), 10)
    with torch.no_grad():
        assert model.module(tensor(model.example())).shape == (2, 10)
    assert load("timm:resnet10t?in_chans=1").input == (1, 176, 176)
    assert load("timm:resnet10t?num_classes=0").classes is None


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("torchvision:resnet19", "torchvision has no 'resnet19': did you mean 'resnet18'"),
        ("timm:resnet19", "timm has no 'resnet19': did you mean 'resnet"),
        ("torchvision:resnet18?bogus=1", "torchvision could not build"),
        ("timm:resnet10t?bogus=1", "timm could not build"),
        (
            "torchvision:resnet18?pretrained=maybe",
            "pretrained of the model source 'torchvision' to be True or False",
        ),
        (
            "torchvision:resnet18?seed=-1",
            "seed of the model source 'torchvision' to be a whole number of at least 0",
        ),
        ("zoo:resnet18?pretrained=1", "no weights of its own"),
        ("zoo:resnet19", "did you mean 'resnet18'"),
        ("tim:resnet18", "For 'tim', did you mean 'timm'?"),
        (
            "resnet18",
            "Say where 'resnet18' is from: 'timm:resnet18', 'torchvision:resnet18' or 'zoo:resnet18'.",
        ),
        ("zoo:", "The model source 'zoo' needs a model: 'zoo:MODEL'."),
        ("weights.pth", "Weights need their architecture, for example 'zoo:resnet18?weights=weights.pth'"),
        ("nets.py", "Say which function of the file makes the model: 'nets.py:make'"),
        ("", "Expected a model as"),
    ],
)
def test_unknown_models_are_told(spec: str, message: str) -> None:
    with pytest.raises(ModelError) as told:
        load(spec)
    assert message in str(told.value)


def test_pretrained_weights_that_cannot_be_fetched_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError("no connection")

    models = import_torchvision().models
    monkeypatch.setattr(type(models.ResNet18_Weights.DEFAULT), "get_state_dict", offline)
    with pytest.raises(ModelError, match=r"could not be fetched \(OSError: no connection\)"):
        load("torchvision:resnet18?pretrained=1")


def test_timm_weights_that_cannot_be_fetched_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    timm = import_timm()
    create = timm.create_model

    def offline(name: str, *, pretrained: bool, **options: object) -> nn.Module:
        if pretrained:
            raise ConnectionError("no connection\nand much more")
        made: nn.Module = create(name, **options)
        return made

    monkeypatch.setattr(timm, "create_model", offline)
    with pytest.raises(ModelError, match=r"could not be fetched \(ConnectionError: no connection\)"):
        load("timm:resnet10t?pretrained=1")


def test_a_missing_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # None in sys.modules makes an import fail as if the library were not installed.
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'seamripper\[vision\]'"):
        load("torchvision:resnet18")


@pytest.mark.slow
def test_the_repair_of_torchvision_warns_once_and_only_if_it_was_needed() -> None:
    code = (
        "import warnings\n"
        "from seamripper.models import libraries as t\n"
        "needed = 0\n"
        "try:\n"
        "    import torchvision\n"
        "except RuntimeError:\n"
        "    needed = 1\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    warnings.simplefilter('always')\n"
        "    t.import_torchvision(); t.import_torchvision()\n"
        "repaired = [w for w in seen if w.category is t.TorchvisionRepairWarning]\n"
        "assert len(repaired) == needed, repaired\n"
        "from torchvision.transforms import v2\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_another_error_inside_torchvision_is_not_repaired(monkeypatch: pytest.MonkeyPatch) -> None:

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("something else")

    monkeypatch.setattr(libraries, "need", broken)
    with pytest.raises(RuntimeError, match="something else"):
        import_torchvision()


# Hugging Face


def import_transformers() -> ModuleType:
    import_torchvision()
    return cast(ModuleType, pytest.importorskip("transformers"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers = import_transformers()
    folder = tmp_path_factory.mktemp("hf") / "tiny-bert"
    with torch.random.fork_rng():
        torch.manual_seed(5)
        config = transformers.BertConfig(
            vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
        )
        transformers.BertModel(config).save_pretrained(folder)
    return folder


def test_a_hugging_face_folder(bert: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model = load(f"hf:{bert}")
    example = model.example()
    assert isinstance(example, dict)
    assert example["input_ids"].shape == example["attention_mask"].shape == (2, 16)
    assert int(example["input_ids"].max()) < 50
    with torch.no_grad():
        assert answer_of(model.module, example).shape == (2, 16, 16)
    assert not model.module.training
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_hugging_face_folder_in_a_fresh_process(bert: Path) -> None:
    # In this process torchvision was repaired long ago; transformers wants it even for a text model.
    code = f"from seamripper.models import load; print(load('hf:{bert}').fingerprint)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == load(f"hf:{bert}").fingerprint, run.stderr


def test_the_length_of_an_example_can_be_chosen(bert: Path) -> None:
    example = load(f"hf:{bert}").example(3, input=(5,))
    assert isinstance(example, dict)
    assert example["input_ids"].shape == (3, 5)


def test_a_head_that_the_folder_does_not_hold_comes_from_the_seed(
    bert: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    spec = f"hf:{bert}?head=sequence-classification"
    model = load(spec)
    assert model.classes == 2
    with torch.no_grad():
        assert answer_of(model.module, model.example()).shape == (2, 2)
    assert model.fingerprint == load(spec).fingerprint != load(f"{spec}&seed=1").fingerprint
    assert capfd.readouterr() == ("", "")


def test_a_new_head_is_told_in_the_record_and_a_body_with_holes_is_refused(bert: Path, tmp_path: Path) -> None:
    assert load(f"hf:{bert}").record == {}
    model = load(f"hf:{bert}?head=sequence-classification")
    assert model.record == {"untrained": ["classifier.bias", "classifier.weight"]}
    holed = shutil.copytree(bert, tmp_path / "holed")
    state = load_file(holed / "model.safetensors")
    state.pop("encoder.layer.1.output.dense.weight")
    save_file(state, holed / "model.safetensors", {"format": "pt"})
    for query in ("", "?head=sequence-classification"):
        with pytest.raises(CheckpointError, match=r"lack 1 of the weights .* first (bert\.)?encoder\.layer\.1\.output"):
            load(f"hf:{holed}{query}")


def test_a_hostile_hugging_face_folder_is_never_opened(bert: Path, tmp_path: Path) -> None:
    shutil.copy(bert / "config.json", tmp_path)
    torch.save({"embeddings": Hostile(tmp_path / "sprung")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="transformers could not build"):
        load(f"hf:{tmp_path}")
    assert not (tmp_path / "sprung").exists()


def test_the_architecture_of_a_hugging_face_model_without_its_weights(bert: Path) -> None:
    model = load(f"hf:{bert}")
    again = load(recipe_of(model) or "")
    assert recipe_of(model) == f"hf:{bert}?pretrained=0"
    assert list(again.module.state_dict()) == list(model.module.state_dict())
    assert again.fingerprint != model.fingerprint


def test_a_causal_model_keeps_no_cache(tmp_path: Path) -> None:
    transformers = import_transformers()
    with torch.random.fork_rng():
        config = transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=32)
        transformers.GPT2LMHeadModel(config).half().save_pretrained(tmp_path / "gpt")
    model = load(f"hf:{tmp_path / 'gpt'}?head=causal-lm")
    example = model.example()
    assert isinstance(example, dict)
    with torch.no_grad():
        output = model.module(**example)
    assert output.get("past_key_values") is None
    assert output.logits.shape == (2, 16, 50)
    assert output.logits.dtype == torch.float32


def test_a_hugging_face_vision_model(tmp_path: Path) -> None:
    transformers = import_transformers()
    with torch.random.fork_rng():
        config = transformers.ViTConfig(
            hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=32
        )
        transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "vit")
    model = load(f"hf:{tmp_path / 'vit'}?head=image-classification")
    assert model.input == (3, 32, 32)
    with torch.no_grad():
        assert answer_of(model.module, model.example()).shape == (2, 2)


@pytest.mark.parametrize(
    ("query", "message"),
    [("?head=sequence", "did you mean 'sequence-classification'"), ("?width=2", "has no option 'width'")],
)
def test_wrong_options_of_a_hugging_face_model_are_told(bert: Path, query: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load(f"hf:{bert}{query}")


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"to be a folder with a config\.json"):
        load(f"hf:{tmp_path}")


# Factories


def factory(tmp_path: Path, text: str) -> str:
    file = tmp_path / "nets.py"
    file.write_text(text)
    return f"{file}:make"


def test_a_factory_is_called_with_its_options_and_the_seed(tmp_path: Path) -> None:
    (tmp_path / "sizes_beside.py").write_text("WIDTH = 3\n")
    spec = factory(
        tmp_path,
        "from torch import nn\nfrom sizes_beside import WIDTH\n"
        "def make(width=WIDTH, bias=True):\n    return nn.Linear(4, width, bias=bias)\n",
    )
    model = load(f"{spec}?bias=false&input=4")
    assert isinstance(model.module, nn.Linear)
    assert model.module.bias is None
    assert model.module.out_features == 3
    assert tensor(model.example()).shape == (2, 4)
    assert model.fingerprint == load(f"{spec}?bias=false").fingerprint
    assert recipe_of(model) == f"{spec}?bias=false"
    assert str(tmp_path) not in sys.path
    sys.modules.pop("sizes_beside")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def make():\n    return 3\n", "to return a torch.nn.Module, but it returned int"),
        (
            "def make():\n    x = 1\n    return x / 0\n",
            "failed at line 3: ZeroDivisionError: division by zero",
        ),
        ("import nothing_of_that_name\n", "could not be run at line 1: ModuleNotFoundError"),
        ("x = 1\ndef make(:\n", "could not be run at line 2: SyntaxError"),
        ("import sys\nsys.exit(3)\n", "could not be run at line 2: SystemExit"),
        ("def maker():\n    return 3\n", "has no function 'make': did you mean 'maker'?"),
        ("def make(width):\n    return 3\n", "TypeError: make() missing 1 required"),
        (
            "import torch\ndef make():\n    return torch.nn.LazyLinear(3)\n",
            "weight has no shape yet",
        ),
    ],
)
def test_what_goes_wrong_in_a_factory_is_told(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ModelError) as told:
        load(factory(tmp_path, text))
    assert message in str(told.value)


def test_a_missing_factory_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "net.py").touch()
    with pytest.raises(ModelError, match=r"In that folder there are: net\.py"):
        load(f"{tmp_path / 'nets.py'}:make")


# Model


def test_an_example_needs_a_shape() -> None:
    with pytest.raises(ModelError, match=r"Give it, for example input=\(3, 32, 32\)"):
        load("zoo:R_1111?width=0.125").example()


def test_an_example_is_the_same_every_time_and_of_the_modules_type() -> None:
    model = Model(nn.Identity(), "memory", input=(4,))
    assert torch.equal(tensor(model.example()), tensor(model.example()))
    wide = load(LENET)
    wide.module.double()
    assert tensor(wide.example()).dtype == torch.float64
    with pytest.raises(ModelError, match="at least 1"):
        model.example(0)


def test_a_bare_module_cannot_be_rebuilt() -> None:
    assert recipe_of(Model(nn.Identity(), "memory")) is None


def test_a_call_takes_the_logits_or_the_first_of_several() -> None:
    class Several(nn.Module):
        def __init__(self, output: object) -> None:
            super().__init__()
            self.output = output

        def forward(self, x: Tensor) -> object:
            return self.output

    one, two = torch.ones(1), torch.zeros(1)
    assert answer_of(Several({"loss": one, "logits": two}), one) is two
    assert answer_of(Several({"last_hidden_state": two, "pooled": one}), one) is two
    assert answer_of(Several((two, one)), one) is two
    with pytest.raises(ModelError, match="but it returned str"):
        answer_of(Several("no"), one)
