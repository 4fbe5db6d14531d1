"""reproduce: real runs in a real store, stopped and gone on with; what fails is told and stops nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from planted_paper import called, item, paper, study

from in_process import InProcess
from seamripper.errors import FileError, StoreError
from seamripper.experiment import Data, Experiment, Network, Standing, StitchPart, Store
from seamripper.papers import Item, ItemReport, Reproduction, reproduce
from seamripper.papers.reproduce import RECORD, Listener, folder_of

Made = tuple[Path, Reproduction, list[ItemReport]]


def done(folder: Path, *items: Item, **more: Any) -> Reproduction:
    """The paper, reproduced in a store within the folder."""
    whole = paper(folder, *items)
    return reproduce(whole, whole.items, **{"store": folder / "store", "engine": InProcess(), **more})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A paper that was reproduced once: its folder, what came of it, and what was told on the way."""
    folder = tmp_path_factory.mktemp("paper")
    ended: list[ItemReport] = []
    return folder, done(folder, listener=Listener(end=ended.append)), ended


# ---- what comes of it


def test_items_are_run_and_read_one_after_the_other(made: Made) -> None:
    folder, found, told = made
    assert [report.item.name for report in found.reports] == ["table-1", "fig-3"]
    assert list(found.reports) == told
    first, second = found.reports
    assert first.reading
    assert second.reading
    assert [claim.status for claim in first.claims] == ["reproduced", "not reproduced"]
    assert [claim.status for claim in second.claims] == ["not reproduced"]
    assert (first.jobs, second.jobs, first.trouble, second.trouble) == (6, 6, "", "")
    assert first.seconds > 0
    assert sorted(called(folder)) == sorted(f"{size}/{seed}" for size in (1, 5) for seed in range(3))


def test_what_items_share_is_done_once_and_kept_apart_by_name(made: Made) -> None:
    folder, found, _ = made
    assert found.reports[1].seconds == 0, "all of it was done for the first"
    with Store(folder / "store") as store:
        assert set(store.experiments()) == {"table-1", "fig-3"}


def test_claims_beyond_the_paper_are_not_counted(made: Made) -> None:
    _, found, _ = made
    assert found.counts == {"reproduced": 1, "not reproduced": 1}
    assert found.seconds == sum(report.seconds for report in found.reports)


def test_the_record_is_json_and_comes_back_the_same(made: Made) -> None:
    folder, found, _ = made
    record = found.as_record()
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert (record["paper"], record["profile"], record["store"]) == ("nobody2020", "quick", str(folder / "store"))
    assert record["claims"] == {"reproduced": 1, "not reproduced": 1}
    first = record["items"][0]
    assert (first["item"], first["covers"], first["jobs"], first["trouble"]) == (
        "table-1",
        ["Table 1", "Fig. 2"],
        6,
        None,
    )
    assert [one["beyond"] for one in first["claims"]] == [False, True]
    assert set(first["claims"][0]) == {"says", "rule", "status", "figure", "beyond", "notes"}
    assert {"python", "packages", "machine"} <= set(record["made"])


def test_the_commits_at_which_the_runs_were_made_are_told(made: Made) -> None:
    folder, found, _ = made
    with Store(folder / "store") as store:
        assert found.made["revisions"] == list(dict.fromkeys(run["code"] for run in store.runs.all() if run["code"]))


def test_an_item_asks_and_reads_for_its_profile(tmp_path: Path) -> None:
    found = done(tmp_path, item(tmp_path, "table-1", ("Table 1",), (1, 5)), profile="paper")
    assert sorted(called(tmp_path)) == sorted(f"{size}/{seed}" for size in (1, 5, 9) for seed in range(4))
    assert found.counts == {"reproduced": 1}
    assert found.as_record()["profile"] == "paper"


def test_results_are_kept_by_paper_and_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = done(tmp_path, item(tmp_path, "table-1", ("Table 1",), (1,)), store=None)
    assert found.folder == folder_of(found.paper, "quick") == Path("runs/nobody2020-quick")
    assert (tmp_path / "runs" / "nobody2020-quick" / "store.json").is_file()


# ---- again, and further


def test_a_second_time_nothing_is_done_and_no_time_passes(made: Made) -> None:
    folder, found, _ = made
    before = called(folder)
    again = done(folder)
    assert called(folder) == before
    assert again.counts == found.counts
    assert [report.seconds for report in again.reports] == [report.seconds for report in found.reports]


def test_time_adds_up_where_there_was_more_to_do(tmp_path: Path) -> None:
    first = done(tmp_path, item(tmp_path, "table-1", ("Table 1",), (1, 5)))
    more = done(tmp_path, item(tmp_path, "table-1", ("Table 1",), (1, 5, 6)))
    assert more.seconds > first.seconds > 0
    assert len(called(tmp_path)) == 9
    kept = json.loads((tmp_path / "store" / RECORD).read_text())
    assert kept == {"seconds": {"table-1": more.seconds}}
    other = done(tmp_path, item(tmp_path, "fig-3", ("Fig. 3",), (7, 1)))
    kept = json.loads((tmp_path / "store" / RECORD).read_text())
    assert kept == {"seconds": {"table-1": more.seconds, "fig-3": other.seconds}}, "those of other items stay"


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_and_its_time_counts(tmp_path: Path) -> None:
    slow = item(tmp_path, "table-1", ("Table 1",), (100, 101))

    def stop(now: Standing) -> None:
        if now.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        done(tmp_path, slow, listener=Listener(watch=stop))
    spent = json.loads((tmp_path / "store" / RECORD).read_text())["seconds"]["table-1"]
    assert spent > 0.3
    kept = set(called(tmp_path)[:1])
    found = done(tmp_path, slow)
    assert found.seconds > spent
    assert found.reports[0].reading
    assert called(tmp_path).count(kept.pop()) == 1, "what was finished is not done twice"


def test_a_run_that_is_stopped_before_it_began_leaves_no_folder(tmp_path: Path) -> None:
    def stopped(own: Any) -> Experiment:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        done(tmp_path, Item("table-1", ("Table 1",), "Nothing.", stopped, ()))
    assert not (tmp_path / "store").exists()


# ---- what goes wrong


def test_a_failed_job_is_told_and_does_not_stop_the_other_items(tmp_path: Path) -> None:
    bad, good = item(tmp_path, "table-1", ("Table 1",), (13, 1)), item(tmp_path, "fig-3", ("Fig. 3",), (1, 5))
    said: list[str] = []
    found = done(tmp_path, bad, good, listener=Listener(announce=said.append))
    first, second = found.reports
    assert first.reading is None, "its figures are not there"
    assert "The results have no figure 'top1' with {'size': 13}" in first.trouble
    assert "ValueError: thirteen is not liked" in first.trouble
    assert (second.trouble, second.reading is not None) == ("", True)
    assert found.counts == {"reproduced": 1}
    assert any("thirteen is not liked" in line for line in said)
    assert found.as_record()["items"][0]["claims"] == []


def test_what_can_be_read_is_read_in_spite_of_a_failed_job(tmp_path: Path) -> None:
    """The claim is about sizes 1 and 5; 13 stands beside them and fails."""
    whole = item(tmp_path, "table-1", ("Table 1",), (1, 5))
    more = lambda own: study(own, tmp_path, "table-1", (1, 5, 13))  # noqa: E731
    some = Item("table-1", ("Table 1",), "Some.", more, whole.claims)
    (outcome,) = done(tmp_path, some).reports
    assert outcome.reading
    assert outcome.reading.claims[0].status == "reproduced"
    assert "thirteen is not liked" in outcome.trouble


def test_a_failed_job_is_done_again_if_asked_for(tmp_path: Path) -> None:
    bad = item(tmp_path, "table-1", ("Table 1",), (1, 13))
    assert done(tmp_path, bad).reports[0].trouble
    (tmp_path / "forgiven").touch()
    assert done(tmp_path, bad).reports[0].trouble, "what has failed stays so"
    assert called(tmp_path).count("13/0") == 1
    (outcome,) = done(tmp_path, bad, retry_failed=True).reports
    assert (outcome.trouble, called(tmp_path).count("13/0")) == ("", 2)
    assert outcome.reading


CHOKES = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 4, 7, stride=7), nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x):
        if len(x) > 4:
            raise ValueError("more than four is too much")
        return self.last(self.first(x))

def net():
    return Net()
"""


@pytest.mark.slow
def test_a_failed_helper_is_told_though_it_has_no_row_in_the_table(tmp_path: Path) -> None:
    """Two stitches begin at one place, and its activations fail: the stitches are never tried."""
    (tmp_path / "chokes.py").write_text(CHOKES)
    model = Network(load="chokes.py:net")
    pairs = StitchPart(senders=("net",), receivers=("net",), cuts=("first",), matchings=("direct",), seeds=(0, 1))
    study = Experiment(
        name="table-1",
        folder=str(tmp_path),
        data=Data(name="digits/digit", n=32, n_test=32),
        models={"net": model},
        stitch=(pairs,),
    )
    blind = Item("table-1", ("Table 1",), "Two.", lambda _: study, ())
    (outcome,) = done(tmp_path, blind).reports
    assert "more than four is too much" in outcome.trouble


def test_an_item_whose_data_is_not_to_be_had_does_not_stop_the_others(tmp_path: Path) -> None:
    nowhere = Network(train="zoo:lenet", data="folder:nowhere", training="?epochs=1")
    study = Experiment(name="table-1", folder=str(tmp_path), models={"net": nowhere})
    lost = Item("table-1", ("Table 1",), "Lost.", lambda _: study, ())
    found = done(tmp_path, lost, item(tmp_path, "fig-3", ("Fig. 3",), (1, 5)))
    first, second = found.reports
    assert first.reading is None
    assert "nowhere" in first.trouble
    assert first.jobs == 0
    assert second.reading


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"minutes": {}}', '{"seconds": [1, 2]}', '{"seconds": {"table-1": "long"}}', "\x00"]
)
def test_a_damaged_record_of_times_is_told_with_what_to_do(tmp_path: Path, damage: str) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / RECORD).write_text(damage)
    with pytest.raises(FileError, match=r"reproduction\.json is damaged: .*Remove it, and run this again; no result"):
        done(tmp_path)
    assert called(tmp_path) == [], "nothing is begun"


def test_a_folder_that_is_no_store_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "letter.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not a store of seamripper, and it is not empty"):
        done(tmp_path)
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["letter.txt"]
