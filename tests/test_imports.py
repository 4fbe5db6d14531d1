"""Imports: they point one way, they do nothing, and the core needs none of the extras."""

from __future__ import annotations

import ast
import json
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import seamripper

SOURCE = Path(seamripper.__file__).parent
BASE = (
    *("_devices", "_doors", "_words", "_options", "_own_code", "_request", "registry"),
    *("_arrays", "_files", "_fingerprint", "_frames", "_progress", "cards", "figures", "_notebook", "estimate"),
    *("paired_estimate", "_ranks"),
)
ORDER = (
    ("errors",),
    BASE,
    ("data",),
    ("models",),
    ("cut",),
    ("activations",),
    ("stitches",),
    ("matching",),
    ("measures",),
    ("comparing",),
    ("controls",),
    ("audits",),
    ("experiment",),
    ("report",),
    ("mapping",),
    ("swapping",),
    ("benchmark",),
    ("papers",),
    ("remaking",),
    ("loggers",),
    ("cli",),
    ("__main__",),
)
"""From left to right. A part imports from itself and from parts to its left; those of `BASE` also from each other."""

RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}
EXTRAS = (
    "torchvision",
    "timm",
    "transformers",
    "sklearn",
    "PIL",
    "soundfile",
    "pytorch_ood",
    "pandas",
    "pyarrow",
    "datasets",
    "ray",
    "submitit",
    "matplotlib",
    "torchmetrics",
    "xarray",
    "wandb",
    "mlflow",
    "tensorboard",
    "onnx",
    "onnxscript",
    "onnxruntime",
)
CORE = ["seamripper", *(m.name for m in pkgutil.walk_packages([str(SOURCE)], "seamripper."))]


# ---- which way imports point


def imported(tree: ast.AST, module: str, *, package: bool) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of everything that a file imports, wherever in the file the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                home = module.split(".")
                home = home[: len(home) - node.level + package]
                base = ".".join([*home, *([base] if base else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def violations(text: str, module: str, *, package: bool = False) -> list[str]:
    """What is wrong with the imports of a file whose dotted name is `module`."""
    own = module.split(".")[1] if "." in module else ""
    found = []
    for line, name in imported(ast.parse(text), module, package=package):
        parts = name.split(".")
        if parts[0] != "seamripper":
            continue
        other = parts[1] if len(parts) > 1 else ""
        where = f"{module}:{line} imports {name}"
        if other not in RANK and own == "cli":
            continue  # The command line is a user: its commands call public functions.
        if other not in RANK:
            found.append(f"{where}: only users import from the surface")
        elif own not in RANK:
            found.append(f"{where}, and {own} has no place in the order")
        elif RANK[other] > RANK[own] or (RANK[other] == RANK[own] and other != own and own not in BASE):
            found.append(f"{where}, which is to its right")
    return found


def files() -> list[tuple[Path, str, bool]]:
    """(path, dotted name, whether it is a package) of every file but the surface itself, which imports everything."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ("seamripper", *path.relative_to(SOURCE).with_suffix("").parts)
        package = parts[-1] == "__init__"
        found.append((path, ".".join(parts[:-1] if package else parts), package))
    return [item for item in found if item[1] != "seamripper"]


def test_imports_point_to_the_left() -> None:
    read = [violations(path.read_text(), module, package=package) for path, module, package in files()]
    assert len(read) > 90
    assert [wrong for found in read for wrong in found] == []


def intrusions(text: str, module: str, *, package: bool = False) -> list[tuple[str, str]]:
    """(own package, module) for every private module of another package that a file imports from."""
    own = module.split(".")[1]
    found = []
    for _, name in imported(ast.parse(text), module, package=package):
        parts = name.split(".")
        if parts[0] != "seamripper" or len(parts) < 3 or parts[1] == own:
            continue
        private = next((k for k, part in enumerate(parts[2:], 2) if re.match(r"_[a-z]", part)), None)
        if private is not None:
            found.append((own, ".".join(parts[1 : private + 1])))
    return found


@pytest.mark.slow
def test_no_package_imports_another_ones_private_module() -> None:
    read = [pair for path, module, package in files() for pair in intrusions(path.read_text(), module, package=package)]
    assert read == []


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("from seamripper.models._spec import Spec", [("cut", "models._spec")]),
        ("def look():\n    import seamripper.models.zoo._rounded", [("cut", "models.zoo._rounded")]),
        ("from seamripper.models import _spec", [("cut", "models._spec")]),
        ("from seamripper.cut._winograd import tile\nfrom seamripper._words import word_list", []),
        ("from seamripper.models import Model", []),
    ],
)
def test_a_planted_intrusion_is_caught(text: str, caught: list[tuple[str, str]]) -> None:
    assert intrusions(text, "seamripper.cut.split") == caught


PUBLIC_CALLS_ONLY = "seamripper.experiment."
"""Modules that know of other packages what their `__init__` exports, and nothing else."""


def exported(package: str) -> set[str]:
    """The names that a package of ours exports; those of a module are all its own."""
    tree = ast.parse((SOURCE / package / "__init__.py").read_text())
    (names,) = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node).startswith("__all__")
    ]
    return set(ast.literal_eval(names))


def deep_imports(text: str, module: str) -> list[str]:
    """What a file imports from another package of ours that this package does not export."""
    names = [name for _, name in imported(ast.parse(text), module, package=False) if name.startswith("seamripper.")]
    return [
        name
        for name in names
        if (SOURCE / name.split(".")[1]).is_dir()
        and name.split(".")[1] != module.split(".")[1]
        and name.split(".", 2)[-1] not in exported(name.split(".")[1])
    ]


def test_studies_know_of_other_packages_only_what_those_export() -> None:
    read = {
        module: deep_imports(path.read_text(), module)
        for path, module, _ in files()
        if module.startswith(PUBLIC_CALLS_ONLY)
    }
    assert len(read) >= 10
    assert {module: names for module, names in read.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        (
            "def run():\n    from seamripper.matching.evaluate import evaluate",
            ["seamripper.matching.evaluate.evaluate"],
        ),
        ("from seamripper.matching import base", ["seamripper.matching.base"]),
        ("import seamripper.cut.frozen", ["seamripper.cut.frozen"]),
        ("from seamripper.matching import match\nfrom seamripper._files import atomic", []),
        ("from seamripper.experiment.job import Job\nfrom seamripper.estimate import Estimate", []),
    ],
)
def test_a_planted_deep_import_is_caught(text: str, caught: list[str]) -> None:
    assert deep_imports(text, "seamripper.experiment.parts.mine") == caught


def test_every_part_has_its_place() -> None:
    parts = {module.split(".")[1] for _, module, _ in files()}
    assert parts <= RANK.keys()
    there = {
        "data",
        "models",
        "cut",
        "activations",
        "stitches",
        "matching",
        "measures",
        "comparing",
        "controls",
        "audits",
        "experiment",
        "cli",
    }
    assert {*BASE, "errors", *there} <= parts


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("seamripper.data.samples", "from seamripper.models import Model"),
        ("seamripper.data.samples", "import seamripper.cli"),
        ("seamripper.stitches.affine", "def build():\n    from seamripper.matching.match import match"),
        ("seamripper.cut.split", "if TYPE_CHECKING:\n    from seamripper.activations import Activations"),
        ("seamripper.models.load", "from ..cut import split"),
        ("seamripper.models", "from .. import cut"),
        ("seamripper._words", "from seamripper.data import Samples"),
        ("seamripper._words", "try:\n    import seamripper.data.samples\nexcept ImportError:\n    pass"),
        ("seamripper.errors", "from seamripper._words import word_list"),
        ("seamripper.matching.task", "from seamripper import split"),
        ("seamripper.matching.task", "import seamripper as sr"),
        ("seamripper.matching.task", "from seamripper.report.html import page"),
        ("seamripper.helpers", "from seamripper.errors import DataError"),
    ],
)
def test_a_planted_violation_is_caught(module: str, text: str) -> None:
    assert len(violations(text, module, package=module == "seamripper.models")) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("seamripper.cli.stitch_command", "from seamripper.matching import match"),
        ("seamripper.cli.stitch_command", "import seamripper as sr"),
        ("seamripper.stitches.affine", "from seamripper.cut.place import Cut"),
        ("seamripper.registry", "from seamripper._words import did_you_mean"),
        ("seamripper.models.load", "from .model import Model\nfrom ..errors import ModelError"),
        ("seamripper.data.samples", "import torch\nfrom seamripperx.models import Model"),
    ],
)
def test_what_is_allowed_is_not_caught(module: str, text: str) -> None:
    assert violations(text, module) == []


def circle(graph: dict[str, set[str]]) -> set[str]:
    """The modules that cannot be put in an order in which each comes after all it imports."""
    while leaves := {module for module, needs in graph.items() if not needs & graph.keys()}:
        graph = {module: needs for module, needs in graph.items() if module not in leaves}
    return set(graph)


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {module for _, module, _ in files()}
    graph: dict[str, set[str]] = {}
    for path, module, package in files():
        found = {name for _, name in imported(ast.parse(path.read_text()), module, package=package)}
        found |= {name.rpartition(".")[0] for name in found}
        graph[module] = (found & names) - {module}
    assert circle(graph) == set()


def test_a_planted_circle_is_caught() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {"a", "b", "c"}


# ---- what an import does


def python(code: str, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, where nothing has been imported yet and warnings are errors."""
    quiet = {"PYTHONWARNINGS": "error", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    if cwd is not None:
        quiet |= {"HOME": str(cwd), "XDG_CACHE_HOME": str(cwd / "cache"), "TMPDIR": str(cwd)}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *args],
        env={**os.environ, **quiet},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


def checked(code: str, *args: str, cwd: Path | None = None) -> str:
    ran = python(code, *args, cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_importing_the_package_imports_no_torch() -> None:
    said = checked("import sys, seamripper; print(*sorted(sys.modules))")
    assert not {"torch", "numpy", "scipy", *EXTRAS} & set(said.split())


def test_help_imports_no_torch() -> None:
    said = checked(
        """
        import sys
        sys.argv = ["seamripper", "--help"]
        from seamripper.cli import main
        main()
        print(*sorted(sys.modules))
        """
    )
    assert "seamripper" in said
    assert "stitch" in said
    assert not {"torch", "numpy", "scipy", *EXTRAS} & set(said.splitlines()[-1].split())


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What importing every module has loaded, changed and written, in a fresh interpreter."""
    folder = tmp_path_factory.mktemp("home")
    said = checked(
        """
        import importlib, json, os, random, signal, sys, warnings
        # Libraries first: what their imports do (rich draws a random number) is theirs.
        import click, numpy, rich.progress, rich.table, safetensors.torch, torch.export, torch.fx
        import scipy.optimize, scipy.special, scipy.stats

        def state():
            return {
                "random": random.getstate(),
                "numpy": numpy.random.get_state()[1].tolist(),
                "torch": torch.get_rng_state().tolist(),
                "filters": list(warnings.filters),
                "threads": torch.get_num_threads(),
                "dtype": torch.get_default_dtype(),
                "gradients": torch.is_grad_enabled(),
                "deterministic": torch.are_deterministic_algorithms_enabled(),
                "environment": dict(os.environ),
                "path": list(sys.path),
                "signals": {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)},
                "error state": numpy.geterr(),
            }

        before = state()
        for name in sys.argv[1:]:
            importlib.import_module(name)
        # Listing data sets and making a network of the zoo load what they need, and that is no extra.
        list(sys.modules["seamripper.data"].datasets)
        sys.modules["seamripper.models"].load("zoo:lenet")
        after = state()
        changed = [key for key in before if before[key] != after[key]]
        print(json.dumps({"loaded": sorted(sys.modules), "changed": changed}))
        """,
        *CORE,
        cwd=folder,
    )
    return {**json.loads(said), "written": [path.name for path in folder.iterdir()]}


@pytest.mark.slow
def test_no_module_imports_an_extra(everything: dict[str, list[str]]) -> None:
    loaded = set(everything["loaded"])
    assert set(CORE) <= loaded
    assert len(CORE) > 90
    assert not set(EXTRAS) & loaded


@pytest.mark.slow
def test_importing_changes_nothing(everything: dict[str, list[str]]) -> None:
    assert (everything["changed"], everything["written"]) == ([], [])


# ---- without the extras

WITHOUT_EXTRAS = f"""
import sys
from importlib.machinery import PathFinder

class Without:
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in {EXTRAS} else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""
"""The extras are not found, as if they had never been installed."""

COMMAND = WITHOUT_EXTRAS + "from seamripper.cli import main\nmain()"


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_blocker_blocks(extra: str) -> None:
    ran = python(f"{WITHOUT_EXTRAS}\nimport {extra}")
    assert ran.returncode == 1
    assert f"No module named '{extra}'" in ran.stderr


@pytest.mark.slow
def test_cuts_of_a_zoo_model_need_no_extra() -> None:
    said = checked(COMMAND, "cuts", "zoo:resnet18", "--input", "3x28x28")
    assert "layer3.1" in said
    assert "256x2x2" in said


@pytest.mark.slow
def test_what_needs_an_extra_says_how_to_get_it(tmp_path: Path) -> None:
    wanted = {
        "cuts timm:resnet18": ("torchvision", "vision"),
        "cuts torchvision:resnet18": ("torchvision", "vision"),
        "cuts hf:somewhere": ("transformers", "hf"),
        "train zoo:lenet --data digits/digit --out a.safetensors": ("sklearn", "digits"),
        "train zoo:lenet --data speech --out a.safetensors": ("soundfile", "audio"),
    }
    # One interpreter for all: starting one takes longer than what is tried in it.
    code = f"{WITHOUT_EXTRAS}\nfrom seamripper.cli import main\nfor words in sys.argv[1:]:\n    try:\n"
    code += "        main(words.split())\n    except SystemExit as e:\n        print(e.code, file=sys.stderr)\n"
    ran = python(code, *wanted, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    said = ran.stderr.splitlines()
    assert len(said) == 2 * len(wanted), "a sentence and a code each"
    for (library, extra), sentence, exit_code in zip(wanted.values(), said[::2], said[1::2], strict=True):
        assert f"needs the library '{library}', which is not installed: pip install 'seamripper[{extra}]'." in sentence
        assert exit_code == "2"


@pytest.mark.slow
def test_the_core_does_its_whole_work_without_the_extras(tmp_path: Path) -> None:
    said = checked(
        WITHOUT_EXTRAS
        + textwrap.dedent(
            """
            import torch
            import seamripper as sr

            def blobs(n, first_id):
                labels = torch.arange(n) % 3
                pixels = torch.zeros(n, 1, 28, 28)
                for row, label in enumerate(labels.tolist()):
                    pixels[row, :, 8 * label : 8 * label + 6] = 1
                return sr.Samples("blobs", pixels, labels, torch.arange(first_id, first_id + n), classes=3)

            spec = "zoo:lenet?channels=1&classes=3"
            a, b = (sr.train(spec, blobs(96, 0), training="smith?lr=0.02&epochs=3", seed=seed) for seed in (0, 1))
            found = sr.match(sr.split(a, "pool1"), sr.split(b, "pool1"), blobs(96, 0), matching="direct")
            found.save("match.safetensors")
            print(sr.evaluate(sr.Match.load("match.safetensors"), blobs(48, 96)).top1.n)
            """
        ),
        cwd=tmp_path,
    )
    assert said.strip() == "48"
