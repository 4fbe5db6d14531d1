"""seamripper serve: browse studies while they fill."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from seamripper.cli.inputs import json_option
from seamripper.cli.output import announce, print_json, terminable


@click.command("serve")
@click.argument("folder", type=click.Path(path_type=Path), default="runs")
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="An address or name of this machine.")
@json_option
def command(folder: Path, port: int, host: str, as_json: bool) -> None:
    """Show the studies in FOLDER (default: runs) and their reports in a browser while they run. Ctrl-C ends it.

    It answers only this machine, shows only the studies in FOLDER, and changes nothing.
    """
    from seamripper.report.serve import RunServer

    with terminable(), RunServer(folder, host=host, port=port) as server:
        if server.open_to_others:
            announce(
                f"{host} can be reached from other machines: whoever reaches it can read all studies in {folder}, "
                "without a password."
            )
        if as_json:
            print_json({"address": server.address, "folder": str(folder)})
        else:
            click.echo(f"{folder} is served at {server.address} (Ctrl-C ends it)")
        sys.stdout.flush()
        server.serve_forever(poll_interval=0.2)
