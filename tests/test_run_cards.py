"""Methods cards of what is added up or read from a study: streaming scores, leagues, claims; and of measured times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from example_paper import FINDINGS, PAPER as EXAMPLE
from planted_paper import item, paper
from planted_worlds import rows_of

import seamripper as sr
from card_files import NETS, again, digits
from in_process import InProcess
from seamripper.activations import collect
from seamripper.benchmark import BenchSet, bench
from seamripper.benchmark.page import save
from seamripper.cards import Card, Methods
from seamripper.cli import main
from seamripper.comparing import Sources, StreamingScore, streaming_metric
from seamripper.errors import DataError, ExperimentError, FileError, MeasureError
from seamripper.papers import ItemReport, Results, reproduce
from seamripper.papers.methods import item_method
from seamripper.papers.page import save as save_paper
from seamripper.remaking import remake
from seamripper.swapping import swap


@pytest.mark.parametrize("sampling", ["pool", "positions"])
def test_a_streaming_score_comes_out_again_from_the_models_that_it_names(sampling: Any, tmp_path: Path) -> None:
    samples = digits()
    halves = [sr.split(net, "conv2", net.example()) for net in map(sr.load, NETS)]
    parts = [collect(half, samples).values for half in halves]
    streaming = StreamingScore("linear_cka", sampling=sampling, sources=Sources(*halves, data=samples))
    for batch in torch.arange(80).split([1, 30, 49]):
        streaming.update(*(part[batch] for part in parts))
    remade = again(streaming.card(), tmp_path)
    assert remade.same, remade
    assert (remade.row["value"], remade.row["n"]) == (pytest.approx(streaming.compute().value), streaming.compute().n)
    text = str(streaming.card())
    for words in (f"{NETS[0]} at conv2", "80 samples of digits/digit", f"sampling '{sampling}'", "so there is none"):
        assert words in text
    with pytest.raises(FileError, match="The receiver has the fingerprint"):
        again(streaming.card(), tmp_path, receiver=sr.load("zoo:lenet?channels=3&seed=2"))
    streaming.update(*(part[:2] for part in parts))
    with pytest.raises(MeasureError, match="name 80 samples of digits/digit, but the score has seen 82"):
        streaming.card()


def test_a_streaming_score_of_files_or_of_arrays_comes_out_again(tmp_path: Path) -> None:
    x, y = torch.randn(2, 60, 5, 4, generator=torch.Generator().manual_seed(0)).unbind()
    mask = torch.arange(5) < torch.arange(60)[:, None] % 4 + 2
    for name, rows in (("x", x), ("y", y)):
        np.save(tmp_path / f"{name}.npy", rows.mean(1).numpy())
    files = StreamingScore("opd", sources=Sources(tmp_path / "x.npy", tmp_path / "y.npy"))
    files.update(x.mean(1), y.mean(1))
    assert again(files.card("opd"), tmp_path).same
    np.save(tmp_path / "y.npy", y.mean(1).numpy() + 1)
    with pytest.raises(FileError, match="The receiver has the fingerprint"):
        again(files.card(), tmp_path)
    nameless = StreamingScore("linear_cka", sampling="positions")
    nameless.update(x, y, mask)
    assert "arrays of 5x4 that were in memory and that nobody named" in str(nameless.card())
    with pytest.raises(DataError, match=r"were in memory: pass them, remake\(card, sender=array\)"):
        again(nameless.card(), tmp_path)
    assert again(nameless.card(), tmp_path, sender=x, receiver=y.numpy(), mask=mask).same
    assert not again(nameless.card(), tmp_path, sender=x, receiver=y.flip(0), mask=mask).same
    other = StreamingScore("opd", sources=Sources(tmp_path / "x.npy", tmp_path / "x.npy"))
    with pytest.raises(MeasureError, match="the same sources"):
        files.merge_state(other)
    net = sr.load(NETS[0])
    half = sr.split(net, "conv2", net.example())
    with pytest.raises(MeasureError, match="Expected the samples that the models are shown"):
        Sources(half, tmp_path / "x.npy")


BENCH_NETWORK = {"train": "zoo:R_1111?width=0.125", "data": "digits/digit", "n": 60, "training": "?epochs=1"}


@pytest.mark.slow
def test_the_ratings_of_a_league_come_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    networks = {"net": {**BENCH_NETWORK, "seeds": (0, 1)}}
    some = {"name": "tiny", "data": {"name": "digits/correlated", "n": 60, "n_test": 40}, "models": networks}
    given = BenchSet(**some, cuts=("layer1", "layer2"))
    league = bench(given, measures="linear_cka,opd", tests="identification", store="store", engine=InProcess())
    save(league)
    rating = Methods.load(Path("store/methods-league.json")).card("identification", "share between", "opd")
    assert rating.row["value"] == league.ratings[-1].estimate.value
    # From the results of its study, and from nothing at all: then the networks are trained again.
    assert again(rating, tmp_path, store="store").same
    assert again(rating, tmp_path).same
    assert "the study 'tiny identification' (" in str(rating)
    assert "1 is best, one over the number of layers is chance" in str(rating)
    other = BenchSet(**some, cuts=("layer1", "layer3"))
    with pytest.raises(FileError, match="The study identification has the fingerprint"):
        again(rating, tmp_path, store="store", models=other)
    with pytest.raises(FileError, match="but nowhere is none"):
        again(rating, tmp_path, store="nowhere")
    time = league.card("cost", "seconds per pair of layers", "structural")
    assert time.row["value"] == league.costs["structural"]
    refuses_a_time(time, tmp_path)
    capsys.readouterr()
    main(["card", "store", "league", "identification", "share b", "opd"])
    assert capsys.readouterr().out.startswith("identification, share between, net, opd: ")


def refuses_a_time(card: Card, folder: Path) -> None:
    """A time says on what it was measured, and is not made again."""
    assert "cores" in card.row["measured_on"]
    assert f"It is a time, measured on {card.row['measured_on']}" in str(card)
    with pytest.raises(FileError, match="it cannot be made again, only measured anew"):
        again(card, folder)


@pytest.mark.slow
def test_the_figures_of_claims_come_out_again_from_their_results(tmp_path: Path) -> None:
    whole = paper(tmp_path)
    done = reproduce(whole, whole.items, store=tmp_path / "store", engine=InProcess())
    save_paper(done)
    methods = Methods.load(tmp_path / "store" / "methods-table-1.json")
    cards = [methods.card(row["part"], row["cell"], row["figure"]) for row in methods.rows if row["part"] != "time"]
    # Both sides and the difference of both claims, the table's two cells, and the plot's.
    assert [card.labels["figure"] for card in cards].count("difference") == 2
    assert {card.labels["part"].partition(" |")[0] for card in cards} >= {"Figures by size", "Lines by size, 1 to 5"}
    for card in cards:
        remade = again(card, tmp_path, paper=whole, store=tmp_path / "store")
        assert remade.same, remade
    claim = done.reports[0].claims[0]
    first = methods.card(claim.says, "", "value")
    assert first.row["value"] == claim.cells[0].value.value
    assert f"{claim.rule} Here: reproduced." in str(first)
    # Without the results the jobs are run again.
    assert again(first, tmp_path, paper=whole, trust=True).same
    refuses_a_time(methods.card("time"), tmp_path)
    wider = paper(tmp_path, item(tmp_path, "table-1", ("Table 1",), (1, 5, 7)))
    with pytest.raises(FileError, match="The study has the fingerprint"):
        again(first, tmp_path, paper=wider, store=tmp_path / "store")
    with pytest.raises(ExperimentError, match="was not run, so it has no numbers"):
        ItemReport(whole.items[0], None, 0.0, 0).card()


def test_whatever_number_a_papers_page_shows_has_a_card() -> None:
    """Also those of tables, lines, baselines, matrices, gates and findings."""

    def world(kind: str, labels: Any) -> dict[str, float]:
        return dict.fromkeys(("accuracy", "receiver_here", "top1"), 0.95)

    (deep,) = (finding.numbers["deep"][1] for finding in FINDINGS)
    for each in EXAMPLE.items:
        reading = EXAMPLE.read(each, Results(rows_of(EXAMPLE, each, "quick", world)), "quick")
        findings = {"deep": deep} if each.name == "table-1" else {}
        study = {"name": each.name, "jobs": 1, "fingerprint": "0" * 64, "versions": {}, "measured_on": "planted"}
        made = item_method(EXAMPLE.name, "quick", each, study)
        methods = ItemReport(each, reading, 60.0, 9, made_from=made, findings=findings).methods()
        parts = {row["part"] for row in methods.rows}
        gates = {f"{c.says}: gate, {gate.says}" for c in reading.claims for gate in c.claim.gates}
        shown = {show.title for show in each.shows} | {claim.says for claim in reading.claims} | gates
        assert parts == shown | {"time"} | {f"finding: {name}" for name in findings}
        # Each of them can be asked for, and is that one.
        for row in methods.rows:
            card = methods.card(row["part"], row["cell"], row["figure"])
            assert card.row["value"] == row["value"]
            assert ("None" in str(card)) is False
    lines = next(row for row in EXAMPLE.items[1].shows if row.title == "Fig. 1: into Digit")
    assert len([cell for select in lines.selections() for cell in select.cells()]) == 9, "two senders and a baseline"


def test_what_a_swap_takes_is_said_to_be_measured(tmp_path: Path) -> None:
    verdict = swap(*NETS, digits("train"), digits(n=60), audit=False, old_cuts="fc2", new_cuts="fc2")
    card = verdict.card("cost", "seconds, joined")
    assert card.row["value"] == verdict.costs["joined"].seconds.value
    assert "PyTorch threads" in str(card)
    refuses_a_time(card, tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["card", str(card.save(tmp_path / "time.json")), "--remake"])
    flops = again(verdict.card("cost", "flops, joined"), tmp_path)
    assert flops.same


@pytest.mark.slow
def test_a_torchmetrics_metric_has_the_card_of_its_score() -> None:
    x, y = torch.randn(2, 40, 4, generator=torch.Generator().manual_seed(0)).unbind()
    metric = streaming_metric("linear_cka")
    metric.update(x, y)
    assert metric.card().row["value"] == pytest.approx(float(metric.compute()))
    assert remake(metric.card(), sender=x, receiver=y).same
