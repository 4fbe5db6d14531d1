"""seamripper stitch: join the front of one model to the back of another."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

import seamripper as sr
from seamripper.cli.inputs import (
    SEED,
    OutputPath,
    WordCommand,
    data_for,
    device_options,
    freeze_option,
    json_option,
    log_option,
    matching_option,
    methods_option,
    model_at,
    registry_of,
    resident_option,
    split_for,
    stitch_option,
)
from seamripper.cli.logs import chosen_loggers, log_result
from seamripper.cli.output import announce, print_json, print_table, print_written, progress, say
from seamripper.errors import DataError


@click.command("stitch", cls=WordCommand)
@click.argument("sender")
@click.argument("receiver")
@click.option("--data", required=True, help="The stitch is fitted on its train split and scored on its test split.")
@matching_option()
@stitch_option
@click.option("--n", type=click.IntRange(min=2), default=10_000, show_default=True, help="Samples to fit on.")
@click.option("--n-test", type=click.IntRange(min=2), help="Samples to score on (default: all).")
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the stitch.")
@freeze_option
@click.option("--out", type=OutputPath(), help="Write the match to this file (.safetensors).")
@methods_option
@log_option
@device_options
@resident_option
@json_option
def command(sender: str, receiver: str, data: str, out: Path | None, as_json: bool, **options: Any) -> None:
    """Stitch SENDER's front to RECEIVER's back, both given as MODEL@CUT, and score the joined network.

    Example: seamripper stitch colour-0.safetensors@layer2 digit-0.safetensors@layer2 --data mnist/correlated
    """
    # Words first: a slip of the pen must not wait for models and data.
    choices = {"matching": registry_of("matchings").make(options["matching"]), "stitch": options["stitch"]}
    choices |= {"freeze": options["freeze"], "seed": options["seed"]}
    loggers = chosen_loggers(options["logs"])
    front, back = model_at(sender, "sender"), model_at(receiver, "receiver")
    data = data_for(data, front[0], back[0])
    fit, test = sr.load_data(data, "train", n=options["n"]), sr.load_data(data, "test", n=options["n_test"])
    own = _own_task(back[0], options["n_test"])
    with progress(quiet=as_json) as watch:
        halves = split_for(fit, *front, "sender"), split_for(fit, *back, "receiver")
        stitched = sr.match(*halves, fit, **choices, watch=watch)
        result = sr.evaluate(stitched, test, own=own, watch=watch)
    if not as_json:
        # Before the file, so that a full disk does not take the figures along.
        _show(stitched, result)
    if out is not None:
        stitched.save(out)
    if options["methods"] is not None:
        result.methods().save(options["methods"])
    if as_json:
        print_json({"match": stitched.as_record(), "result": result.as_record(), "file": out and str(out)})
    else:
        print_written(out)
    log_result(loggers, "stitch", result, out, options["methods"])


def _own_task(receiver: sr.Model, n: int | None) -> sr.Samples | None:
    """Test samples of the task that the receiver was trained on, where its record says which and they can be had."""
    name = receiver.record.get("data")
    try:
        return None if name is None else sr.load_data(str(name), "test", n=n)
    except DataError as e:
        announce(f"The receiver was not evaluated on its own task. {e}")
        return None


def _show(match: sr.Match, result: sr.Functional) -> None:
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
    rows += [
        [name, str(figure)]
        for name, figure in (
            ("stitched network, cross-entropy per token in nats", result.cross_entropy),
            ("stitched network, perplexity", result.perplexity),
            ("receiver alone, perplexity", result.receiver_perplexity),
        )
        if figure is not None
    ]
    title = " → ".join(f"{half.model.source}@{half.cut.name}" for half in (match.sender, match.receiver))
    print_table(title, ["figure", "value [95 % interval]"], rows)
    fit, held_out, seed = (match.made_from[key] for key in ("fit", "held_out", "seed"))
    aside = f", {held_out['n']:,} held out" if held_out else ""
    tokens = "" if result.tokens is None else f" with {result.tokens:,} tokens asked for"
    say(f"fitted on {fit['n']:,} samples of {fit['name']}{aside}, scored on {result.n:,} others{tokens}")
    say(f"stitch {match.stitch.name!r}, matching {match.matching.name!r}, freeze {match.freeze!r}, seed {seed}")
    say(f"status: {match.status}")
    for name, value in match.figures.items():
        say(f"  {name}: {_figure(value)}")
    say(sentence(match, result))


def _figure(value: object) -> str:
    """A figure of a match; one that is no number says so in words: `falling`, for one, of too few steps."""
    if isinstance(value, float):
        return "cannot be determined" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def sentence(match: sr.Match, result: sr.Functional) -> str:
    """What the figures allow to be said, and what they do not."""
    if match.diverged:
        return "The stitch has diverged, so its scores say nothing about the two networks."
    return (
        f"{result.in_words()} That a stitch works does not show that both networks use the same information: random "
        "and colour-only senders pass this test too."
    )
