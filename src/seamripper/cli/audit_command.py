"""seamripper audit: a comparison, its counterparts with known answers, and what the answer is worth."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seamripper._files import atomic
from seamripper.cli._audited import show_audited
from seamripper.cli._matching import NAMES, with_options
from seamripper.cli._parse import FileOrFolder, data_for, json_option, model_at, split_for, words_of
from seamripper.cli._reported import print_report, reported
from seamripper.cli._show import print_json, print_table, progress
from seamripper.errors import AuditError, FileError, InapplicableError

if TYPE_CHECKING:
    from seamripper._progress import Watcher
    from seamripper.audits import Audited, Verdict
    from seamripper.audits.interventions import Intervention
    from seamripper.cut import Split
    from seamripper.data import Samples
    from seamripper.experiment.single import Single
    from seamripper.matching import Matching

FILE = "audit.json"
"""The file in a folder that has all of an audit."""
_OF_A_FOLDER = ("sender", "as_json", "out")
"""What can be given together with a folder."""


@click.command("audit")
@click.argument("sender", metavar="SENDER")
@click.argument("receiver", metavar="[RECEIVER]", required=False)
@click.option("--data", "data_name", help="Train split: stitches are fitted. Test split: they are scored.")
@click.option("--conflict", "conflict_name",
              help="Data, its test split, on which cues that agree in --data disagree.")  # fmt: skip
@click.option("--interventions", "changes", multiple=True,
              help="default, none, or names with options: greyscale,hue_rotation?degrees=60. See: seamripper list "
                   "interventions. Repeatable. By default: none with --conflict, else default.")  # fmt: skip
@click.option("--other-seed", "other_names", multiple=True,
              help="A network trained as the receiver was, from another seed: MODEL, cut where the receiver is, or "
                   "MODEL@CUT. Repeatable.")  # fmt: skip
@click.option("--matching", "matching_name", default="task", show_default=True, help=NAMES)
@click.option("--stitch", "stitch_name", default="auto", show_default=True, help="See: seamripper list stitches.")
@click.option("--freeze", type=click.Choice(["all", "weights"]), default="all", show_default=True,
              help="weights: BN statistics adapt, as in Smith's code.")  # fmt: skip
@click.option("--n", type=click.IntRange(min=2), default=4000, show_default=True, help="Samples to fit on.")
@click.option("--n-test", type=click.IntRange(min=2), default=2000, show_default=True, help="Samples to score on.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True,
              help="How many seeds of the stitch, and of what controls draw: the units.")  # fmt: skip
@click.option("--controls", "control_names", multiple=True,
              help="Names with options: self,clustered_noise?radius=0.5. They replace the usual ones. Repeatable. See: "
                   "seamripper list controls.")  # fmt: skip
@click.option("--audits", "audit_names", multiple=True, default=("all",), show_default="all",
              help="Names with options: margin,rank?n=500. Repeatable. See: seamripper list audits.")  # fmt: skip
@click.option("--epochs", type=click.IntRange(min=0), help="Of the stitch. Default: 4. Both mappings have their own.")
@click.option("--lr", type=float, help="Default: 0.01. Both mappings have their own.")
@click.option("--batch", type=click.IntRange(min=1), help="Default: 64. Both mappings have their own.")
@click.option("--init", type=click.Choice(["random", "identity", "direct"]),
              help="Where a stitch starts. Default: direct; regression: random. The mappings have none.")  # fmt: skip
@click.option("--out", type=FileOrFolder(),
              help="Keep all of it in this folder, with a report; or write it to this file (.json).")  # fmt: skip
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, sender: str, receiver: str | None, out: Path | None, as_json: bool, **options: Any
) -> None:
    """Compare SENDER and RECEIVER, both MODEL@CUT, with counterparts whose answer is known, and judge.

    \b
    seamripper audit colour.safetensors@layer2 digit.safetensors@layer2 --data mnist/correlated --conflict mnist/digit
    seamripper audit a@layer3 b@layer3 --data folder:photos --interventions default

    With one argument, a folder that `seamripper compare --out` has written: does each measure find the layer that
    corresponds?
    """
    if receiver is None:
        if out is not None and out.suffix != ".json":
            raise click.UsageError(
                f"The audit of a folder is written to a file: expected --out FILE.json, but got {out}."
            )
        _audit_folder(ctx, sender, out, as_json)
        return
    started = time.time()
    with progress(quiet=as_json) as watch:
        found, as_result = _audited(sender, receiver, options, watch)
    if not as_json:
        # Before the file, so that a full disk does not take the figures along.
        show_audited(found)
    folder = None if out is None or out.suffix == ".json" else out
    file = out if folder is None else folder / FILE
    if file is not None:
        found.save(file)
    report = None if folder is None else reported(folder, "audit", [as_result(folder)], started=started)
    if as_json:
        print_json({**found.as_record(), "file": file and str(file), "report": report and str(report)})
    elif file is not None:
        print(f"\nwritten to {file}")
        print_report(report)


def _audited(
    sender: str, receiver: str, options: dict[str, Any], watch: Watcher
) -> tuple[Audited, Callable[[Path], Single]]:
    """The audit, and how it is kept in a folder as the result of a study."""
    from seamripper.audits import DEFAULT_CONTROLS, audit, chosen_audits, deciding_set
    from seamripper.controls import controls as every_control
    from seamripper.data import load_data
    from seamripper.experiment.single import audit_result

    # Words first: a slip of the pen must not wait for data to be fetched.
    if options["data_name"] is None:
        raise click.UsageError("Missing option '--data'.")
    way, changes = _matching(options), _interventions(options["changes"])
    controls = every_control.many(options["control_names"] or DEFAULT_CONTROLS)
    audits = chosen_audits(options["audit_names"])
    front, back = model_at(sender, "sender"), model_at(receiver, "receiver")
    data_name = data_for(options["data_name"], front[0], back[0])
    fit = load_data(data_name, "train", n=options["n"])
    test = load_data(data_name, "test", n=options["n_test"])
    half, name = split_for(fit, *back, "receiver"), options["conflict_name"]
    conflict = None if name is None else load_data(data_for(name, front[0], back[0]), "test")
    audited = audit(
        split_for(fit, *front, "sender"),
        half,
        fit,
        test,
        conflict=conflict,
        interventions=changes,
        others=[_other(text, half, back[1], fit) for text in options["other_names"]],
        matching=way,
        stitch=options["stitch_name"],
        freeze=options["freeze"],
        seeds=range(options["seeds"]),
        controls=controls,
        audits=audits,
        watch=watch,
    )

    def as_result(folder: Path) -> Single:
        return audit_result(folder, audited, half, deciding_set(audited, test, conflict, audits, changes))

    return audited, as_result


def _matching(options: dict[str, Any]) -> Matching:
    from seamripper.audits.audit import matching_of

    asked = {name: options[name] for name in ("epochs", "lr", "batch") if options[name] is not None}
    return with_options(matching_of(options["matching_name"]), training=asked, init=options["init"])


def _interventions(given: tuple[str, ...]) -> list[Intervention | str] | None:
    """None leaves the choice to the audit; `default` depends on the samples, which are not there yet."""
    from seamripper.audits.interventions import interventions

    words = words_of(given)
    if "none" in words and len(words) > 1:
        raise click.UsageError("Expected --interventions to be none, or names, but got both.")
    if not words:
        return None
    return [word if word == "default" else interventions.make(word) for word in words if word != "none"]


def _other(text: str, receiver: Split, cut: str, fit: Samples) -> Split:
    """The network of another seed; the receiver itself is refused, before any work is done."""
    role = "network of another seed"
    half = split_for(fit, *model_at(text if "@" in text else f"{text}@{cut}", role), role)
    if half.fingerprint == receiver.fingerprint:
        raise AuditError(
            f"Expected --other-seed to be a network from another seed than the receiver's, but {half.model.source} has "
            "the receiver's own weights. Give another, or none: the control 'self' is the receiver itself."
        )
    return half


def _audit_folder(ctx: click.Context, name: str, out: Path | None, as_json: bool) -> None:
    """Put the audit `identification` to every matrix of a comparison."""
    from seamripper.audits.identification import identify
    from seamripper.comparing import Comparison

    _require_folder(ctx, name)
    found = Comparison.load(name)
    verdicts: dict[str, Verdict] = {}
    skipped: dict[str, str] = {}
    for label in found.matrices:
        try:
            verdicts[label] = identify(found, label)
        except InapplicableError as e:
            skipped[label] = str(e)
    if not verdicts:
        raise InapplicableError(" ".join(dict.fromkeys(skipped.values())))
    record = {"folder": name, "identification": {k: v.as_record() for k, v in verdicts.items()}, "skipped": skipped}
    if not as_json:
        _show_identified(f"Is the corresponding layer the most similar one? {name}", verdicts, skipped)
    if out is not None:
        with atomic(out) as file:
            file.write(json.dumps(record, allow_nan=False).encode())
    if as_json:
        print_json({**record, "file": out and str(out)})
    elif out is not None:
        print(f"written to {out}")


def _require_folder(ctx: click.Context, name: str) -> None:
    from seamripper.comparing.comparison import FILE

    if not Path(name).is_dir():
        raise click.UsageError(
            "Expected SENDER and RECEIVER, both as MODEL@CUT, or one folder that `seamripper compare --out` has "
            f"written, but got {name!r} alone, which is no folder."
        )
    typed = click.core.ParameterSource.COMMANDLINE
    more = [p for p in ctx.command.params if p.name and ctx.get_parameter_source(p.name) is typed]
    extra = [p.opts[0] for p in more if p.name not in _OF_A_FOLDER]
    if extra:
        raise click.UsageError(f"A folder is audited as it is: {', '.join(extra)} cannot be given with it.")
    if not (Path(name) / FILE).is_file():
        raise FileError(f"{name} has no {FILE}. Make one: seamripper compare A B --data DATA --out {name}.")


def _show_identified(title: str, verdicts: dict[str, Verdict], skipped: dict[str, str]) -> None:
    columns = ["measure", "share identified [95 % interval]", "chance", "p", "mean rank"]
    rows = [
        [
            label,
            str(verdict.observed),
            f"{verdict.controls['chance'][0].value:.3f}",
            "–" if verdict.p is None else f"{verdict.p:.2g}",
            f"{verdict.figures['mean_rank']:.2f}",
        ]
        for label, verdict in verdicts.items()
    ]
    print_table(title, columns, rows)
    layers = next(iter(verdicts.values())).figures["layers"]
    print(f"{layers} layers, rows and columns counted; the intervals take layers for independent, which they are not")
    for label, why in skipped.items():
        print(f"– {label}: {why}")
