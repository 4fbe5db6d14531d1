"""The command line: one file per command. Each parses, calls a public function, and prints."""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import click

from seamripper._words import did_you_mean, out_of_memory
from seamripper.errors import SeamripperError

COMMANDS = {
    "activations": "Write the activations of a model at a cut to a file.",
    "audit": "Compare two layers, and controls for which the right answer is known: can you trust the number?",
    "bench": "Rate measures, for example your own, by tests on a set of networks, and rank them.",
    "card": "Say how a number was made, and make it again.",
    "check": "Test a measure, for example your own, against the contract that all measures keep.",
    "compare": "Compare every layer of one model with every layer of another, in one pass.",
    "cuts": "List the places where a model can be cut.",
    "demo": "Train small networks on real MNIST, stitch each of them into the same one, and audit the results.",
    "diff": "Compare two checkpoints of one architecture: which layer diverged first, and does it matter?",
    "doctor": "Show versions, devices and extras, and run a self-test.",
    "list": "List the available data, models, stitches, matchings, measures, tests and all other choices.",
    "map": "Can an index of embeddings be kept when a new encoder embeds the queries?",
    "measure": "Measure how similar stored activations are.",
    "papers": "List the papers that can be reproduced, and what each of their tables and figures costs.",
    "plan": "Show what a study would run: jobs, roughly how long, and what is already done.",
    "report": "Write the report of a study as one HTML file, and its figures as PNG, PDF or SVG.",
    "reproduce": "Reproduce a paper's tables and figures beside its own numbers, and check its claims.",
    "results": "Show or write the results of a study as a table.",
    "run": "Run a study; run it again after a crash, and it continues.",
    "sbatch": "Write the script that runs a study as a Slurm job array.",
    "serve": "Show studies in a web browser while they run, on this machine only.",
    "status": "Show how far a study is: what is done, running and failed.",
    "stitch": "Join the front of one model to the back of another, and measure what the joined network can do.",
    "store": "Check or tidy the store of a study.",
    "swap": "May the front of a new model be put under the head of an old one, and what is lost?",
    "train": "Train a model of the zoo.",
}
BAD_INPUT, STOPPED = 2, 130
_STOP_MESSAGE = (
    "Stopped. Nothing half-written was left behind. Start a training or a study again, and it continues where it was."
)
_MEMORY_MESSAGE = "There is not enough memory for this. Take fewer samples (--n), smaller batches or a smaller network."


_HELP = {"help_option_names": ["-h", "--help"]}


class _Commands(click.Group):
    """Loads the file of a command only when it is asked for: `--help` must not wait for torch."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"seamripper.cli.{cmd_name}_command").command
        # Its own, too: click keeps the help option of a command as it was first made, under whichever parent.
        command.context_settings.update(_HELP)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS:
            ctx.fail(f"There is no command {args[0]!r}: {did_you_mean(args[0], list(COMMANDS))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings=_HELP)
@click.version_option(package_name="seamripper")
def cli() -> None:
    """Do two neural networks represent the same thing at this layer, and can you trust the number that says so?"""


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; errors become a sentence and an exit code (2: what was given; 130: stopped)."""
    words = sys.argv[1:] if args is None else list(args)
    as_json = "--json" in words
    with warnings.catch_warnings():
        warnings.showwarning = _warning_printer(warnings.showwarning)
        try:
            cli.main(words, prog_name="seamripper", standalone_mode=False)
            sys.stdout.flush()
        except SeamripperError as e:
            _fail(" ".join([str(e), *getattr(e, "__notes__", ())]), type(e).__name__, as_json, BAD_INPUT)
        except click.ClickException as e:
            if not as_json:
                e.show()
                sys.exit(BAD_INPUT)
            _fail(e.format_message(), "UsageError", as_json, BAD_INPUT)
        except (click.Abort, KeyboardInterrupt):
            _fail(_STOP_MESSAGE, "Stopped", as_json, STOPPED)
        except BrokenPipeError:
            # Whoever read our output has enough of it (`| head`): as click and rich do, end without a word, which
            # Python would not, because it flushes once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except (MemoryError, RuntimeError) as e:
            if not out_of_memory(e):
                raise
            _fail(_MEMORY_MESSAGE, "MemoryError", as_json, BAD_INPUT)
        except OSError as e:
            name = "A file" if e.filename is None else e.filename
            _fail(f"{name} could not be read or written: {e.strerror or e}.", "FileError", as_json, BAD_INPUT)


def _fail(message: str, kind: str, as_json: bool, code: int) -> NoReturn:
    if as_json:
        print(json.dumps({"error": {"kind": kind, "message": message}}))
    else:
        print(f"seamripper: {message}", file=sys.stderr)
    sys.exit(code)


def _warning_printer(others: Callable[..., None]) -> Callable[..., None]:
    """Shows our own warnings as sentences, each once; those of other libraries as `others` shows them."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not category.__module__.startswith("seamripper."):
            others(message, category, *where, **more)
        elif str(message) not in shown:
            shown.add(str(message))
            print(f"seamripper: {message}", file=sys.stderr)

    return show
