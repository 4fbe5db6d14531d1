"""seamripper stitch: join the front of one model to the back of another."""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper.cli._matching import NAMES, with_options
from seamripper.cli._parse import SEED, OutputPath, data_for, json_option, model_at, split_for
from seamripper.cli._show import print_json, print_table, progress
from seamripper.errors import DataError

if TYPE_CHECKING:
    from seamripper.data import Samples
    from seamripper.matching import Functional, Match, Matching
    from seamripper.models import Model


def _own_default(of_task: object) -> str:
    return f"Default: the matching's own; task and regression: {of_task}."


@click.command("stitch")
@click.argument("sender")
@click.argument("receiver")
@click.option("--data", "data_name", required=True, help="Train split: the stitch is fitted. Test split: it is scored.")
@click.option("--matching", "matching_name", default="task", show_default=True, help=NAMES)
@click.option("--stitch", "stitch_name", default="auto", show_default=True, help="See: seamripper list stitches.")
@click.option("--n", type=click.IntRange(min=2), default=10_000, show_default=True, help="Samples to fit on.")
@click.option("--n-test", type=click.IntRange(min=2), help="Samples to score on (default: all).")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the stitch.")
@click.option("--epochs", type=click.IntRange(min=0), help=_own_default(10))
@click.option("--lr", type=float, help=_own_default(0.001))
@click.option("--batch", type=click.IntRange(min=1), help=_own_default(256))
@click.option("--optimiser", type=click.Choice(["adam", "sgd"]), help=_own_default("adam"))
@click.option("--schedule", type=click.Choice(["constant", "steps", "cosine"]), help="Default: constant.")
@click.option("--init", type=click.Choice(["random", "identity", "direct"]),
              help="Task and regression: where the stitch starts. Default: random.")  # fmt: skip
@click.option("--freeze", type=click.Choice(["all", "weights"]), default="all", show_default=True,
              help="weights: BN statistics adapt, as in Smith's code.")  # fmt: skip
@click.option("--ridge", type=click.FloatRange(min=0), help="Direct matching: damping. Default: 0.")
@click.option("--out", type=OutputPath(), help="Write the match to this file (.safetensors).")
@json_option
def command(sender: str, receiver: str, data_name: str, as_json: bool, out: Path | None, **options: Any) -> None:
    """Stitch SENDER's front to RECEIVER's back, both given as MODEL@CUT, and score the whole.

    Example: seamripper stitch colour-0.safetensors@layer2 digit-0.safetensors@layer2 --data mnist/correlated
    """
    from seamripper.data import load_data
    from seamripper.matching import evaluate, match

    way = _matching(options)
    front, back = model_at(sender, "sender"), model_at(receiver, "receiver")
    data_name = data_for(data_name, front[0], back[0])
    fit = load_data(data_name, "train", n=options["n"])
    test = load_data(data_name, "test", n=options["n_test"])
    own = _own(back[0], options["n_test"])
    with progress(quiet=as_json) as watch:
        found = match(
            split_for(fit, *front, "sender"),
            split_for(fit, *back, "receiver"),
            fit,
            stitch=options["stitch_name"],
            matching=way,
            freeze=options["freeze"],
            seed=options["seed"],
            watch=watch,
        )
        result = evaluate(found, test, own=own, watch=watch)
    if not as_json:
        # Before the file, so that a full disk does not take the figures along.
        _show(found, result)
    if out is not None:
        found.save(out)
    if as_json:
        print_json({"match": found.as_record(), "result": result.as_record(), "file": out and str(out)})
    elif out is not None:
        print(f"written to {out}")


def _matching(options: dict[str, Any]) -> Matching:
    from seamripper.matching import Direct, matchings

    way = matchings.make(options["matching_name"])
    if options["ridge"] is not None:
        if not isinstance(way, Direct):
            raise click.UsageError(f"The matching {way.name!r} has no --ridge: 'direct' has one.")
        way = dataclasses.replace(way, ridge=options["ridge"])
    words = ("optimiser", "lr", "epochs", "batch", "schedule")
    training = {name: options[name] for name in words if options[name] is not None}
    return with_options(way, training=training, init=options["init"])


def _own(receiver: Model, n: int | None) -> Samples | None:
    """Test samples of the task that the receiver was trained on, where its record says which and they can be had."""
    from seamripper.data import load_data

    name = receiver.record.get("data")
    try:
        return None if name is None else load_data(str(name), "test", n=n)
    except DataError as e:
        print(f"seamripper: The receiver goes unmeasured on its own task. {e}", file=sys.stderr)
        return None


def _show(found: Match, result: Functional) -> None:
    own = "not known" if result.receiver_own is None else str(result.receiver_own)
    mark = "" if result.unreadable is None else " (unreadable)"
    rows = [
        [f"stitched network, top-1{mark}", str(result.top1)],
        [f"stitched network, top-5{mark}", str(result.top5) if result.top5 else "–"],
        [f"receiver alone, same data{mark}", str(result.receiver_here)],
        ["receiver alone, its own task", own],
        [f"penalty: error stitched − error receiver{mark}", str(result.penalty)],
        [f"relative accuracy{mark}", str(result.relative_accuracy)],
        ["agreement with the receiver", str(result.agreement)],
        ["overlap with the receiver's first five", str(result.top5_overlap) if result.top5_overlap else "–"],
        ["divergence from the receiver, KL in nats", str(result.kl) if result.kl else "–"],
    ]
    title = (
        f"{found.sender.model.source}@{found.sender.cut.name} → {found.receiver.model.source}@{found.receiver.cut.name}"
    )
    print_table(title, ["figure", "value [95 % interval]"], rows)
    fit, held = found.made_from["fit"], found.made_from["held_out"]
    aside = f", {held['n']:,} held out" if held else ""
    seed = found.made_from["seed"]
    print(f"fitted on {fit['n']:,} samples of {fit['name']}{aside}, scored on {result.n:,} others")
    print(f"stitch {found.stitch.name!r}, matching {found.matching.name!r}, freeze {found.freeze!r}, seed {seed}")
    print(f"status: {found.status}")
    for name, value in found.figures.items():
        print(f"  {name}: {_figure(value)}")
    print(sentence(found, result))


def _figure(value: object) -> str:
    """A figure of a match; one that is no number says so in words: `falling`, for one, of too few steps."""
    if isinstance(value, float):
        return "cannot be told" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def sentence(found: Match, result: Functional) -> str:
    """What the figures allow to be said, and what they do not."""
    if found.diverged:
        return "The stitch has diverged, so that its scores tell nothing of the two networks."
    return (
        f"{result.in_words()} That a stitch works does not show that both networks use the same information: random "
        "and colour-only senders pass this test too."
    )
