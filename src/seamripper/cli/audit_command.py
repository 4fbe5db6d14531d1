"""seamripper audit: a comparison, its counterparts with known answers, and what the answer is worth."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import seamripper as sr
from seamripper._files import write_json
from seamripper._progress import Watcher
from seamripper.cli.audit_output import show_audited, show_identified
from seamripper.cli.inputs import (
    OutputPath,
    Word,
    WordCommand,
    data_for,
    device_options,
    freeze_option,
    json_option,
    log_option,
    matching_option,
    model_at,
    registry_of,
    resident_option,
    split_for,
    stitch_option,
)
from seamripper.cli.logs import chosen_loggers, log_result
from seamripper.cli.output import print_json, print_written, progress, save_methods, save_report, say
from seamripper.errors import AuditError, FileError, InapplicableError

if TYPE_CHECKING:
    from seamripper.experiment.single import Single

FILE = "audit.json"
"""The file in a folder that has all of an audit."""
STITCHES = "stitches"
"""The folder in it that has the stitches found so far: the same command goes on with them."""
_OF_A_FOLDER = ("sender", "as_json", "out")
"""What can be given together with a folder."""


@click.command("audit", cls=WordCommand)
@click.argument("sender", metavar="SENDER")
@click.argument("receiver", metavar="[RECEIVER]", required=False)
@click.option("--data", help="Stitches are fitted on its train split and scored on its test split.")
@click.option("--conflict", help="Data on which cues that agree in --data disagree; its test split is used.")
@click.option("--interventions", type=Word("interventions"), multiple=True,
              help="default, none, or names with options: greyscale,hue_rotation?degrees=60. See: seamripper list "
                   "interventions. Repeatable. If left out: none with --conflict, otherwise default.")  # fmt: skip
@click.option("--mixtures", type=Word("mixtures"), multiple=True, default=("default",), show_default="default",
              help="How two inputs are mixed for the audit mixing: default, none, or names with options: "
                   "centre,rectangle?size=large. Repeatable. See: seamripper list mixtures.")  # fmt: skip
@click.option("--other-seed", "others", multiple=True,
              help="A network trained like the receiver, from another seed: MODEL@CUT, or MODEL to cut it where the "
                   "receiver is cut. Repeatable.")  # fmt: skip
@matching_option(" Here task and regression have epochs=4, lr=0.01 and batch=64, and task has init=direct.")
@stitch_option
@freeze_option
@click.option("--n", type=click.IntRange(min=2), default=4000, show_default=True, help="Samples to fit on.")
@click.option("--n-test", type=click.IntRange(min=2), default=2000, show_default=True, help="Samples to score on.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True,
              help="How many seeds for the stitch and for random controls; seeds are the units.")  # fmt: skip
@click.option("--controls", type=Word("controls"), multiple=True,
              help="Names with options: self,clustered_noise?radius=0.5. They replace the default controls. "
                   "Repeatable. See: seamripper list controls.")  # fmt: skip
@click.option("--audits", type=Word("audits"), multiple=True, default=("all",), show_default="all",
              help="Names with options: margin,rank?n=500. Repeatable. See: seamripper list audits.")  # fmt: skip
@click.option("--out", type=OutputPath(".json", folder=True),
              help="Keep all results in this folder, with a report; or write them to this file (.json). If it is "
                   "stopped, the same command with the same folder goes on.")  # fmt: skip
@log_option
@device_options
@resident_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, sender: str, receiver: str | None, out: Path | None, as_json: bool, **options: Any
) -> None:
    """Compare SENDER with RECEIVER, both MODEL@CUT, repeat it with controls whose answer is known, and judge.

    \b
    seamripper audit colour.safetensors@layer2 digit.safetensors@layer2 --data mnist/correlated --conflict mnist/digit
    seamripper audit a@layer3 b@layer3 --data folder:photos --interventions default

    With a single argument, a folder written by `seamripper compare --out`, the question is whether each measure finds
    the corresponding layer.
    """
    if receiver is None:
        _audit_folder(ctx, sender, out, as_json)
        return
    started, loggers = time.time(), chosen_loggers(options["logs"])
    with progress(quiet=as_json) as watch:
        keep = None if out is None or out.suffix == ".json" else out / STITCHES
        audited, as_result = _audit_pair(sender, receiver, {**options, "keep": keep}, watch)
    if not as_json:
        # Before the file, so that a full disk does not take the figures along.
        show_audited(audited)
    folder = None if out is None or out.suffix == ".json" else out
    file = out if folder is None else folder / FILE
    if file is not None:
        audited.save(file)
    report = None if folder is None else save_report(folder, "audit", [as_result(folder)], started=started)
    if folder is not None:
        save_methods(folder, audited)
    if as_json:
        print_json({**audited.as_record(), "file": file and str(file), "report": report and str(report)})
    elif file is not None:
        say()
        print_written(file, report)
    log_result(loggers, "audit", audited, file, report)


def _audit_pair(
    sender: str, receiver: str, options: dict[str, Any], watch: Watcher
) -> tuple[sr.Audited, Callable[[Path], Single]]:
    """The audit, and how it is kept in a folder as the result of a study."""
    from seamripper.audits import DEFAULT_CONTROLS, chosen_audits, deciding_mixtures, deciding_set, matching_of
    from seamripper.experiment.single import audit_result

    # Words first: a slip of the pen must not wait for data to be fetched.
    if options["data"] is None:
        raise click.UsageError("Missing option '--data'.")
    choices = {
        "matching": matching_of(options["matching"]),
        "stitch": options["stitch"],
        "freeze": options["freeze"],
        "seeds": range(options["seeds"]),
        "interventions": _choices("interventions", options["interventions"]),
        "mixtures": _choices("mixtures", options["mixtures"]),
        "controls": registry_of("controls").many(options["controls"] or DEFAULT_CONTROLS),
        "audits": chosen_audits(options["audits"]),
    }
    front, back = model_at(sender, "sender"), model_at(receiver, "receiver")
    data = data_for(options["data"], front[0], back[0])
    fit, test = sr.load_data(data, "train", n=options["n"]), sr.load_data(data, "test", n=options["n_test"])
    half, name = split_for(fit, *back, "receiver"), options["conflict"]
    conflict = None if name is None else sr.load_data(data_for(name, front[0], back[0]), "test")
    others = [_other(text, half, back[1], fit) for text in options["others"]]
    start = split_for(fit, *front, "sender")
    audited = sr.audit(
        start, half, fit, test, conflict=conflict, others=others, **choices, keep=options["keep"], watch=watch
    )

    def as_result(folder: Path) -> Single:
        decided = deciding_set(audited, test, conflict, choices["audits"], choices["interventions"])
        mixed = deciding_mixtures(audited, test, choices["audits"], choices["mixtures"])
        return audit_result(folder, audited, half, decided, mixed=mixed)

    return audited, as_result


def _choices(kind: str, given: tuple[str, ...]) -> list[Any] | None:
    """None leaves the choice to the audit; `default` depends on the samples, which are not there yet."""
    registry = registry_of(kind)
    words = registry.several(given)
    if "none" in words and len(words) > 1:
        raise click.UsageError(f"Expected --{kind} to be none, or names, but got both.")
    if not words:
        return None
    return [word if word == "default" else registry.make(word) for word in words if word != "none"]


def _other(text: str, receiver: sr.Split, cut: str, fit: sr.Samples) -> sr.Split:
    """The network of another seed; the receiver itself is refused, before any work is done."""
    role = "network of another seed"
    half = split_for(fit, *model_at(text if "@" in text else f"{text}@{cut}", role), role)
    if half.fingerprint == receiver.fingerprint:
        raise AuditError(
            f"Expected --other-seed to be a network from another seed than the receiver's, but {half.model.source} has "
            "the receiver's own weights. Give another network, or none: the control 'self' is the receiver itself."
        )
    return half


# ---- the folder of a comparison


def _audit_folder(ctx: click.Context, name: str, out: Path | None, as_json: bool) -> None:
    """Put the audit `identification` to every matrix of a comparison."""
    from seamripper.audits.identification import identify

    _require_folder(ctx, name, out)
    comparison = sr.Comparison.load(name)
    verdicts: dict[str, sr.Verdict] = {}
    skipped: dict[str, str] = {}
    for label in comparison.matrices:
        try:
            verdicts[label] = identify(comparison, label)
        except InapplicableError as e:
            skipped[label] = str(e)
    if not verdicts:
        raise InapplicableError(" ".join(dict.fromkeys(skipped.values())))
    record = {"folder": name, "identification": {k: v.as_record() for k, v in verdicts.items()}, "skipped": skipped}
    if not as_json:
        show_identified(f"Is the corresponding layer the most similar one? {name}", verdicts, skipped)
    if out is not None:
        write_json(out, record)
    if as_json:
        print_json({**record, "file": out and str(out)})
    else:
        print_written(out)


def _require_folder(ctx: click.Context, name: str, out: Path | None) -> None:
    from seamripper.comparing.comparison import FILE

    if out is not None and out.suffix != ".json":
        raise click.UsageError(f"The audit of a folder is written to a file: expected --out FILE.json, but got {out}.")
    if not Path(name).is_dir():
        raise click.UsageError(
            "Expected SENDER and RECEIVER, both as MODEL@CUT, or one folder that `seamripper compare --out` has "
            f"written, but got {name!r} only, which is not a folder."
        )
    typed = click.core.ParameterSource.COMMANDLINE
    more = [p for p in ctx.command.params if p.name and ctx.get_parameter_source(p.name) is typed]
    extra = [p.opts[0] for p in more if p.name not in _OF_A_FOLDER]
    if extra:
        raise click.UsageError(f"A folder is audited as it is: {', '.join(extra)} cannot be given with it.")
    if not (Path(name) / FILE).is_file():
        raise FileError(f"{name} has no {FILE}. Make one: seamripper compare A B --data DATA --out {name}.")
