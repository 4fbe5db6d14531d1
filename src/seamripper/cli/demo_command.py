"""seamripper demo: the question, on two small networks trained on real MNIST."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper._files import atomic
from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json, print_table, progress

if TYPE_CHECKING:
    from seamripper._progress import Watcher
    from seamripper.data import Samples
    from seamripper.matching import Functional, Match
    from seamripper.models import Model

_NETWORK = "zoo:resnet18?width=0.25"
_COLUMNS = ["sender → receiver", "matching", "stitched", "receiver alone", "stitched, cues disagree", "agreement there"]
_PAIRS = (("colour", "digit"), ("digit", "colour"))

_Results = dict[tuple[str, str, str], tuple["Functional", "Functional"]]
"""(sender, receiver, matching) → the figures where the cues agree, and where they disagree."""


@click.command("demo")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default="runs/demo", show_default=True,
              help="The folder for the networks and the report.")  # fmt: skip
@click.option("--n", type=click.IntRange(min=100), default=10_000, show_default=True, help="Training samples.")
@click.option("--cut", default="layer3", show_default=True)
@json_option
def command(out: Path, n: int, cut: str, as_json: bool) -> None:
    """Train a small Colour and a small Digit network on real MNIST, stitch them both ways, and compare."""
    from seamripper.data import load_data

    fit, agree = load_data("mnist/correlated", "train", n=n), load_data("mnist/correlated", "test")
    # Digit and Colour hold the same images, on which the cues disagree; they differ in which cue is the label.
    disagree = {kind: load_data(f"mnist/{kind}", "test") for kind in ("colour", "digit")}
    results: _Results = {}
    with progress(quiet=as_json) as watch:
        models = {kind: _trained(load_data(f"mnist/{kind}", "train", n=n), out, watch) for kind in disagree}
        for (a, b), how in itertools.product(_PAIRS, ("task", "direct")):
            found = _stitched(models[a], models[b], how, cut, fit, watch)
            results[a, b, how] = _scored(found, agree, disagree[b], watch)
    rows = [_row(*key, *figures) for key, figures in results.items()]
    report, story = out / "report.md", _story(results)
    with atomic(report) as file:
        file.write(_markdown(rows, story, _setting(cut, fit, agree)).encode())
    if as_json:
        print_json({"report": str(report), "results": [_record(*key, *figures) for key, figures in results.items()]})
        return
    print_table(f"Two networks, cut at {cut}; accuracy [95 % interval]", _COLUMNS, rows, left=2)
    print(story)
    print(f"The report: {report}")


def _trained(samples: Samples, out: Path, watch: Watcher) -> Model:
    from seamripper.models import train

    # The name holds the data: after another --n, or digits in place of MNIST, a new network is trained.
    name = f"{samples.name.partition('/')[2]}-0-{samples.fingerprint[:8]}.safetensors"
    return train(_NETWORK, samples, seed=0, out=out / name, watch=watch)


def _stitched(a: Model, b: Model, how: str, cut: str, fit: Samples, watch: Watcher) -> Match:
    from seamripper.cut import split
    from seamripper.matching import match, matching_named

    return match(split(a, cut), split(b, cut), fit, matching=matching_named(how), watch=watch)


def _scored(found: Match, agree: Samples, disagree: Samples, watch: Watcher) -> tuple[Functional, Functional]:
    from seamripper.matching import evaluate

    return evaluate(found, agree, watch=watch), evaluate(found, disagree, watch=watch)


def _row(a: str, b: str, how: str, agree: Functional, disagree: Functional) -> list[str]:
    figures = (agree.top1, agree.receiver_here, disagree.top1, disagree.agreement)
    return [f"{a.title()} → {b.title()}", how, *(str(figure) for figure in figures)]


def _record(a: str, b: str, how: str, agree: Functional, disagree: Functional) -> dict[str, Any]:
    figures = {"agree": agree.as_record(), "disagree": disagree.as_record()}
    return {"sender": a, "receiver": b, "matching": how, **figures}


def _story(results: _Results) -> str:
    """What the table shows, in this run's own figures."""
    agree, disagree = results["colour", "digit", "task"]
    holds = agree.receiver_here.low > 0.5 and agree.penalty.low <= 0 and disagree.agreement.high < 0.5
    told = (
        "Colour was trained to name the background's colour, Digit to name the digit. Where colour and digit always "
        f"agree, Colour's front with Digit's back is right on {agree.top1.value:.1%} of the images, Digit alone on "
        f"{agree.receiver_here.value:.1%}. Where they disagree, the stitched network gives Digit's answer on "
        f"{disagree.agreement.value:.1%}."
    )
    meant = (
        "By the first figure the two networks are the same; by the last, the stitched one listens to the colour. "
        "A stitch that works is no proof of the same information."
        if holds
        else "These networks are too weak to show what the demo is about; take more samples (--n)."
    )
    return f"{told} {meant}"


def _setting(cut: str, fit: Samples, agree: Samples) -> str:
    return (
        f"Network `{_NETWORK}`, trained for 4 epochs on {len(fit):,} images (seed 0); cut at `{cut}`; stitches fitted "
        f"on {len(fit):,} training images of `{fit.name}`, seed 0; scored on {len(agree):,} test images; 95 % "
        f"intervals over images, one training seed. Data: {fit.source}.\n\nMade by `seamripper demo`."
    )


def _markdown(rows: list[list[str]], story: str, setting: str) -> str:
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (_COLUMNS, ["---"] * len(_COLUMNS), *rows))
    return "\n\n".join(["# Do Colour and Digit represent the same thing?", table, story, setting]) + "\n"
