"""seamripper doctor: what is installed here, what could be, and whether it works."""

from __future__ import annotations

import platform
import re
import sys
import time
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click

from seamripper.cli.inputs import json_option
from seamripper.cli.output import print_json, print_table, say

BROKEN = 1
"""The exit code if the self-test fails."""
_GIVES = {
    "vision": "models of torchvision and timm, folders of images",
    "hf": "models and data sets of Hugging Face",
    "digits": "the data set digits8",
    "audio": "recordings and speech",
    "ood": "more detectors in the audit `distribution`",
    "tables": "results as pandas and xarray, tables as parquet",
    "metrics": "measures as metrics of torchmetrics",
    "onnx": "joined networks as ONNX (`swap --out`)",
    "wandb": "--log wandb",
    "mlflow": "--log mlflow",
    "tensorboard": "--log tensorboard",
    "ray": "studies on a Ray cluster",
    "slurm": "studies as Slurm job arrays",
    "report": "reports and figures as PNG, PDF and SVG",
}
"""What each extra gives."""


@click.command("doctor")
@click.option("--no-test", is_flag=True, help="Only list what is here.")
@json_option
def command(no_test: bool, as_json: bool) -> None:
    """Show versions, devices and what each missing extra would give, and run a self-test of a few seconds.

    The exit code is 0 if the self-test passes, 1 if it fails.
    """
    from seamripper._devices import usable_devices

    facts = {name: _version(name) for name in ("seamripper", "torch", "numpy", "scipy", "safetensors")}
    facts = {"python": platform.python_version(), **facts}
    devices, extras = [str(device) for device in usable_devices()], _extras()
    test = None if no_test else _self_test()
    if as_json:
        print_json({"versions": facts, "devices": devices, "extras": extras, "self_test": test})
    else:
        print_table("Versions", ["", ""], [[name, text or "not installed"] for name, text in facts.items()], left=2)
        say(f"devices, the best first: {', '.join(devices)}")
        rows = [[name, extra["gives"], ", ".join(extra["missing"]) or "installed"] for name, extra in extras.items()]
        print_table("Extras", ["extra", "what it gives", "missing"], rows, left=3)
        missing = [name for name, extra in extras.items() if extra["missing"]]
        if missing:
            say(f"to install what is missing: pip install 'seamripper[{','.join(missing)}]'")
        if test is not None:
            say(f"self-test: {test['sentence']} ({test['seconds']:.1f} s)")
    if test is not None and not test["passed"]:
        sys.exit(BROKEN)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _extras() -> dict[str, dict[str, Any]]:
    """Each extra: what it gives, and which of its packages are missing."""
    try:
        lines = requires("seamripper") or []
    except PackageNotFoundError:
        lines = []
    return {
        extra: {"gives": gives, "missing": [name for name in _packages(extra, lines) if _version(name) is None]}
        for extra, gives in _GIVES.items()
    }


def _packages(extra: str, lines: list[str]) -> list[str]:
    """The packages of an extra, as the metadata of seamripper lists them.

    >>> _packages("vision", ["torch>=2.6", "timm>=1.0.15; extra == 'vision'"])
    ['timm']
    """
    asked = (line.partition(";") for line in lines)
    mine = (name for name, _, marker in asked if f"extra == {extra!r}" in marker.replace('"', "'"))
    return [re.split(r"[^\w.-]", name.strip())[0] for name in mine]


def _self_test() -> dict[str, Any]:
    """Cut, stitch and compare two small networks on the best device, and see that the numbers are right."""
    start = time.perf_counter()
    try:
        passed, sentence = _stitch_to_itself()
    except Exception as e:
        passed, sentence = False, f"failed: {type(e).__name__}: {e}"
    return {"passed": passed, "sentence": sentence, "seconds": time.perf_counter() - start}


def _stitch_to_itself() -> tuple[bool, str]:
    import torch

    import seamripper as sr

    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(256, (240, 1, 28, 28), generator=generator, dtype=torch.uint8)
    samples = sr.Samples("noise", pixels, torch.arange(240) % 10, torch.arange(240), classes=10)
    fit, test = samples.take(slice(0, 160)), samples.take(slice(160, 240))
    model = sr.load("zoo:lenet?channels=1", device="auto")
    half = sr.split(model, "relu1", model.example(2))
    agreement = sr.evaluate(sr.match(half, half, fit, matching="direct"), test).agreement.value
    cka = sr.compare(model, model, fit, measures=["linear_cka"]).matrices["linear_cka"]
    diagonal = min(score.value for k, row in enumerate(cka.scores) if (score := row[k]) is not None)
    passed = agreement == 1.0 and diagonal > 1 - 1e-5
    outcome = "passed" if passed else "FAILED"
    return passed, (
        f"{outcome} on {model.device}: a network stitched to itself agrees with itself on {agreement:.3f} of the "
        f"samples, and its layers have a CKA of {diagonal:.6f} with themselves"
    )
