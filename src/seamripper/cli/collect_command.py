"""seamripper collect: what shards have found, into the store."""

from __future__ import annotations

from pathlib import Path

import click

from seamripper.cli._parse import json_option
from seamripper.cli._show import print_json
from seamripper.cli._study import store_argument


@click.command("collect")
@store_argument
@click.option("--study", type=click.Path(path_type=Path), metavar="STUDY.toml",
              help="The study that the shards are of: `status` and `results` then know what it asks for.")  # fmt: skip
@json_option
def command(folder: Path, study: Path | None, as_json: bool) -> None:
    """Enter what the shards of a run have found into the ledger of STORE. It may be repeated."""
    from seamripper.experiment import Experiment, Store, plan
    from seamripper.experiment.shard import collect

    new, all_of = collect(folder, lambda line: click.echo(f"seamripper: {line}", err=True))
    left = None
    if study is not None:
        experiment = Experiment.read(study)
        with Store(folder, write=True) as store:
            planned = plan(experiment, store)
            store.ledger.remember(
                experiment.name, experiment.model_dump(mode="json", exclude={"folder"}), planned.graph
            )
            left = len(planned.needed)
    if as_json:
        print_json({"new": new, "results": all_of, "left": left})
        return
    rest = "" if left is None else f"; {left} jobs of the study are left" if left else "; the study is done"
    print(f"{new} results are new, {all_of} there are in all{rest}")
