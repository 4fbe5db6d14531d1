"""Results in a notebook: HTML that is short and safe whatever things are called, and figures that can be seen."""

from __future__ import annotations

import io
import math
import os
import pickle
import subprocess
import sys
import textwrap
from collections import OrderedDict
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor, nn

from seamripper._notebook import choice, text_of
from seamripper.audits import Audited, Verdict, audit
from seamripper.comparing import Comparison, Matrix, compare
from seamripper.controls import controls
from seamripper.cut import Split, cuts, split
from seamripper.data import Samples, load_data
from seamripper.errors import MeasureError
from seamripper.estimate import Estimate
from seamripper.figures import KNOWN, Strip, plot, scene
from seamripper.figures.colours import GROUND, shade
from seamripper.matching import Direct, Functional, Match, Task, match
from seamripper.measures import Pair, measures, score
from seamripper.measures.score import claims_of
from seamripper.models import Model, Training
from seamripper.models.running import use_seed
from seamripper.stitches import stitches
from seamripper.stitches.low_rank import LowRank

HOSTILE = "<script>alert('1')</script>&amp;\"$x$ $\\frac$\n_"
"""HTML, and what matplotlib would take for a formula (and fail on it)."""
QUICK = Task(Training(epochs=8, batch=32, lr=0.02))


def network(seed: int, hidden: str) -> nn.Module:
    """A small network for the digits, with a layer of this name, trained for a moment."""
    data = load_data("digits/digit", n=200)
    with use_seed(seed):
        parts = [("flat", nn.Flatten()), ("first", nn.Linear(3 * 28 * 28, 12)), (hidden, nn.ReLU())]
        net = nn.Sequential(OrderedDict([*parts, ("deep", nn.Linear(12, 12)), ("out", nn.Linear(12, 10))]))
        optimiser = torch.optim.Adam(net.parameters(), 0.005)
        for _ in range(30):
            optimiser.zero_grad()
            nn.functional.cross_entropy(net(data.batch(slice(None))), data.labels).backward()
            optimiser.step()
    return net.eval()


def halves(seed: int, name: str) -> Split:
    example = load_data("digits/digit", "test", n=2).batch(slice(None))
    # By hooks: fx writes the names of layers into code.
    return split(Model(network(seed, name), name, (3, 28, 28), 10), name, example, way="hooks")


def fit(name: str) -> Samples:
    return replace(load_data("digits/digit", n=160), name=name)


@pytest.fixture(scope="module")
def pair() -> tuple[Split, Split]:
    return halves(0, "hidden"), halves(1, "hidden")


@pytest.fixture(scope="module")
def hostile() -> tuple[Split, Split]:
    return halves(0, HOSTILE), halves(1, HOSTILE)


@pytest.fixture(scope="module")
def audited(pair: tuple[Split, Split]) -> Audited:
    test = load_data("digits/digit", "test", n=120)
    return audit(
        *pair,
        fit("digits/digit"),
        test,
        matching=QUICK,
        seeds=(0, 1),
        controls=("self", "random_sender", "clustered_noise"),
        audits=("margin", "conflict", "stability"),
    )


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return compare(
        Model(network(0, HOSTILE), HOSTILE),
        Model(network(1, HOSTILE), HOSTILE),
        fit(HOSTILE),
        measures=["linear_cka", "procrustes", "svcca", "cca_mean", "debiased_cka", "effective_rank"],
        sender_cuts=["first", HOSTILE, "deep"],
        receiver_cuts=["first", HOSTILE, "deep", "out"],
    )


# ---- looking at what was made


class Reader(HTMLParser):
    """Reads HTML as a browser would: its tags, its attributes, its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(thing: Any) -> str:
    """The text of a thing's HTML, which must be whole, harmless and short."""
    page = thing._repr_html_()
    assert type(page) is str
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    assert set(reader.tags) <= {"div", "table", "tr", "th", "td"}
    assert reader.attributes <= {"style"}
    for no in ("url(", "http", "src=", "black", "white", "#000", "#fff"):
        assert no not in page.replace("&lt;script", "")
    assert len(page) < 70_000
    return "\n".join(reader.text)


def pixels(figure: Figure) -> Any:
    """The figure, rendered; something must be seen in it."""
    assert type(figure) is Figure
    canvas = FigureCanvasAgg(figure)
    file = io.BytesIO()
    canvas.print_png(file)
    assert file.getvalue().startswith(b"\x89PNG")
    seen = np.asarray(canvas.buffer_rgba())[..., :3]
    assert seen.shape[0] > 100
    assert (seen != 255).any(axis=2).mean() > 0.01
    return seen


def texts(figure: Figure) -> str:
    import matplotlib.text

    return "\n".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


def has(seen: Any, colour: str) -> bool:
    wanted = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
    return bool((np.abs(seen.astype(int) - wanted).max(axis=2) < 3).sum() > 10)


# ---- match


def test_a_match_says_what_was_joined_to_what(pair: tuple[Split, Split]) -> None:
    found = match(*pair, fit("digits/digit"), stitch=LowRank(rank=3), matching=QUICK, seed=7)
    said = read(found)
    for word in ("hidden, cut at hidden (12, nd)", "low_rank (rank=3)", "task (lr=0.02, epochs=8, batch=32)", "all"):
        assert word in said
    for word in ("ok", "loss_end", text_of(found.figures["loss_end"]), "digits/digit, n = 160", "\n7"):
        assert word in said


def test_showing_a_match_runs_no_model(pair: tuple[Split, Split]) -> None:
    found = match(*pair, fit("digits/digit"), matching=Direct())

    def ran(module: nn.Module, given: tuple[Tensor, ...]) -> None:
        raise AssertionError("a module was run")

    halves = (found.sender.head, found.sender.tail, found.receiver.head, found.receiver.tail)
    hooks = [part.register_forward_pre_hook(ran) for part in (*halves, found.layer)]
    try:
        with pytest.raises(AssertionError, match="was run"):
            found(load_data("digits/digit", "test", n=2).batch(slice(None)))
        read(found)
        pixels(found.plot())
    finally:
        for hook in hooks:
            hook.remove()


def test_a_hostile_match_is_harmless(hostile: tuple[Split, Split]) -> None:
    found = match(*hostile, fit(HOSTILE), matching=QUICK)
    assert "<script>" not in found._repr_html_()
    assert "<script>alert('1')</script>" in read(found)
    assert "</script>" in texts(found.plot())
    pixels(found.plot())


def test_a_match_is_plotted_by_its_loss(pair: tuple[Split, Split]) -> None:
    found = match(*pair, fit("digits/digit"), matching=QUICK)
    figure = found.plot()
    assert "step" in texts(figure)
    assert "loss" in texts(figure)
    pixels(figure)
    long = replace(found, curves={"loss": torch.rand(1000) + 1, "_other": torch.rand(1000) + 1})
    assert "_other" in texts(long.plot())
    pixels(long.plot())


def test_a_match_without_steps_is_plotted_by_its_residuals(pair: tuple[Split, Split], tmp_path: Path) -> None:
    found = match(*pair, fit("digits/digit"), matching=Direct())
    for name in ("residual in sample", "residual held out"):
        assert name in texts(found.plot())
    assert has(pixels(found.plot()), "#0072b2")
    found.save(tmp_path / "a.safetensors")
    again = Match.load(tmp_path / "a.safetensors", sender=pair[0].model, receiver=pair[1].model)
    assert sorted(read(again).split()) == sorted(read(found).split())
    none = replace(found, figures={"residual_in_sample": None, "residual_held_out": math.nan})
    assert "No loss and no residual" in texts(none.plot())


def test_a_stitch_without_parameters_has_its_say(pair: tuple[Split, Split]) -> None:
    found = match(*pair, fit("digits/digit"), stitch="identity")
    assert "nothing to find" in read(found)
    assert "nothing to find" in texts(found.plot())
    pixels(found.plot())


def test_a_choice_is_told_by_what_is_not_the_default() -> None:
    assert choice(Task()) == "task"
    assert choice(Task(Training(lr=0.5), init="direct")) == "task (lr=0.5, init=direct)"
    assert choice(stitches.make("affine")) == "affine"


# ---- score


def scored(words: str = "linear_cka", **more: Any) -> Estimate:
    data = load_data("digits/digit", n=60)
    x = data.batch(slice(None)).flatten(1)[:, 300:340]
    return score(measures.make(words), Pair.of(x, x[:, ::2]), **more)


def test_a_score_says_what_it_is() -> None:
    one = scored()
    said = read(one)
    for word in ("linear_cka", f"{one.value:.4f}", f"[{one.low:.4f}, {one.high:.4f}]", "60", "rows", "similarity"):
        assert word in said
    assert "none" in read(scored(interval=False))
    assert "of the receiver" in read(scored("effective_rank"))


def test_a_score_is_plotted_on_a_scale() -> None:
    assert {"0", "1", "linear_cka, similarity"} <= set(texts(scored().plot()).splitlines())
    for one in (scored(), scored("effective_rank"), scored(interval=False), scored("svcca?dims=5")):
        assert has(pixels(one.plot()), "#d55e00")


def test_every_measure_is_found_by_its_label() -> None:
    known = [variant for cls in measures.values() for variant in cls.variants()]
    assert len(known) > 25
    assert [m.label for m in known if claims_of(m.label) != m.claims] == []


@pytest.mark.parametrize(
    "label", [HOSTILE, "svcca?dims", "svcca?dims=x", "../../etc/passwd.py:M", "", "direct_functional"]
)
def test_a_score_of_an_unknown_measure_is_shown_all_the_same(label: str) -> None:
    one = Estimate(3.0, 2.0, 5.0, 9, rule={"measure": label, "sampling": HOSTILE, "direction": HOSTILE})
    assert "<script>" in read(one)
    pixels(one.plot())


@pytest.mark.parametrize("values", [(math.nan,) * 3, (0.0,) * 3, (1.0, math.nan, math.nan), (2.0, 0.5, 1.0)])
def test_odd_figures_can_be_drawn(values: tuple[float, float, float]) -> None:
    one = Estimate(*values, 5)
    pixels(one.plot())
    pixels(plot(Strip("odd", (("a", (one, one)), ("b", ())), one, "x", {"base": one})))


# ---- verdict and audited


def test_a_verdict_says_question_answer_and_figures(audited: Audited) -> None:
    verdict = audited.verdicts["margin"]
    said = read(verdict)
    for word in (
        verdict.question,
        verdict.answer,
        verdict.sentence,
        text_of(verdict.observed),
        text_of(verdict.effect),
    ):
        assert word in said
    for name, each in verdict.controls.items():
        assert name in said
        assert text_of(each[0]) in said


def test_a_verdict_is_plotted_with_each_control_around_it(audited: Audited) -> None:
    verdict = audited.verdicts["margin"]
    figure = verdict.plot()
    dots = [patch for patch in figure.axes[0].patches if isinstance(patch, Circle)]
    kinds = {KNOWN[controls[name].known] for name in verdict.controls}
    assert "has learnt nothing" in kinds
    assert len(dots) == len(kinds) + sum(map(len, verdict.controls.values())), "and one for each kind in the legend"
    assert {"observed", *verdict.controls, *kinds} <= set(texts(figure).splitlines())
    seen = pixels(figure)
    assert has(seen, GROUND["faint"]), "the colour of what has learnt nothing"
    assert has(seen, "#d55e00")


def test_a_hostile_verdict_is_harmless() -> None:
    one = Estimate(0.5, 0.4, 0.6, 9)
    verdict = Verdict(HOSTILE, HOSTILE, "no", one, {HOSTILE: (one,) * 50}, one, HOSTILE * 9)
    said = read(verdict)
    assert "and 46 more" in said
    assert "p\n–" in said
    pixels(verdict.plot())


def test_an_audited_comparison_shows_its_conclusion_and_every_verdict(audited: Audited) -> None:
    said = read(audited)
    assert said.lower().startswith(audited.conclusion)
    assert "hidden at hidden → hidden at hidden" in said
    assert audited.judgement.reason in said
    assert f"What would change this: {audited.judgement.experiment}" in said
    assert len(audited.verdicts) >= 2
    for name, verdict in audited.verdicts.items():
        assert name in said
        assert verdict.sentence in said
    for name, why in audited.skipped.items():
        assert f"{name} was skipped: {why}" in said


def test_an_audited_comparison_is_plotted_by_what_decided(audited: Audited) -> None:
    pixels(audited.plot())
    for conclusion, by in (("different information", "conflict"), ("same information", "conflict")):
        figures = {"deciding_audit": by, "decided_by": "greyscale"}
        judgement = replace(audited.judgement, conclusion=conclusion, figures=figures)
        assert f"{by}: observed" in texts(replace(audited, judgement=judgement).plot())
    noise = replace(audited.judgement, conclusion="interchangeable here, information unknown", figures={})
    assert "margin: observed" in texts(replace(audited, judgement=noise).plot())
    nothing = replace(audited, verdicts={}, skipped={HOSTILE: HOSTILE})
    assert "No audit applies" in texts(nothing.plot())
    assert "<script>" in read(nothing)


# ---- comparison


def test_a_comparison_shows_a_table_a_measure_and_no_more_than_four(compared: Comparison) -> None:
    page, said = compared._repr_html_(), read(compared)
    assert page.count("<table") == 4
    assert "And 2 more: debiased_cka, effective_rank." in said
    assert "n = 160; 3 × 4 cuts" in said
    assert text_of(compared.score("linear_cka", "first", "out").value) in said
    assert "<script>" in said
    assert page.count("background:rgba") == 4 * 12


def test_a_comparison_shows_the_interval_of_every_score(compared: Comparison) -> None:
    score = compared.score("linear_cka", "first", "out")
    assert score.has_interval
    assert text_of(score) in read(compared)


def test_cuts_and_a_split_show_themselves(pair: tuple[Split, Split]) -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    places = cuts(net, torch.zeros(1, 3, 8, 8))
    said = read(places)
    assert f"{len(places)} cuts" in said
    assert all(cut.name in said for cut in places)
    assert "4x6x6" in said
    assert places == tuple(places), "they are a tuple"
    sender = pair[0]
    said = read(sender)
    assert str(sender.cut) in said
    assert text_of(sender.cut.after) in said
    assert sender.way in said


def test_a_functional_result_shows_its_figures_with_their_intervals() -> None:
    share = Estimate(0.912345, 0.9, 0.93, 500, "samples")
    more = {"top5": None, "penalty": share, "relative_accuracy": share, "receiver_own": None, "data": "/home/me/set"}
    said = read(Functional(top1=share, agreement=share, receiver_here=share, n=500, chance=0.1, **more))
    assert "A stitched network on set, n = 500" in said
    assert "receiver here" in said
    assert "receiver own" not in said, "what was not measured is not shown"
    assert said.count("0.9123 [0.9, 0.93]") == 5


def test_no_folder_of_this_machine_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    record = {"sender": {"source": str(path)}, "receiver": {"source": f"hf:{tmp_path}/lm?head=causal-lm"}}
    page = Comparison(("a",), ("b",), {}, record)._repr_html_()
    assert str(tmp_path) not in page
    assert "net.safetensors × hf:lm?head=causal-lm" in page


@pytest.mark.slow
def test_no_sentence_of_an_audit_names_a_folder_of_this_machine(pair: tuple[Split, Split]) -> None:
    sources = ("/home/me/runs/first.safetensors", "/home/me/runs/second.safetensors")
    named = [
        replace(half, model=replace(half.model, source=source)) for half, source in zip(pair, sources, strict=True)
    ]
    more = {"seeds": (0,), "controls": ("self",), "audits": ("symmetry", "identification")}
    audited = audit(*named, fit("digits/digit"), load_data("digits/digit", "test", n=60), matching=Direct(), **more)
    page = audited._repr_html_() + "".join(verdict._repr_html_() for verdict in audited.verdicts.values())
    assert "Between first.safetensors and second.safetensors, by linear_cka" in page
    assert "first.safetensors@hidden" in page or "symmetry" in audited.skipped
    assert "/home/me" not in page


def test_the_more_similar_the_darker_whatever_the_direction() -> None:
    def shades(direction: str) -> list[str]:
        cells = tuple(Estimate(v) for v in (0.0, 1.0))
        matrix = Matrix("own", direction, ((*cells, None),))
        page = Comparison(("a",), ("x", "y", "z"), {"own": matrix}, {})._repr_html_()
        return [part.split(")")[0] for part in page.split("rgba(0,114,178,")[1:]]

    assert shades("similarity") == ["0.04", "0.54"]
    assert shades("distance") == ["0.54", "0.04"]


@pytest.mark.slow
def test_a_large_comparison_stays_short() -> None:
    cell = Estimate(0.25, 0.2, 0.3, 5, "rows")
    names = tuple(f"{HOSTILE}.{k}" for k in range(60))
    grids = {str(k): Matrix("own", "similarity", ((cell,) * 60,) * 60, {"a": "b"}) for k in range(6)}
    large = Comparison(names, names, grids, {})
    said = read(large)
    assert "12 × 12 of 60 × 60 cuts" in said
    assert "$\n_.59" in said
    assert "Cells without a score: 1." in said
    pixels(large.plot())


def test_a_matrix_is_plotted_with_its_diagonal_and_its_values(compared: Comparison) -> None:
    figure, value = compared.plot("linear_cka"), compared.score("linear_cka", "first", "out").value
    assert f"{value:.2f}".lstrip("0") in texts(figure).splitlines()
    grid = compared.grid("linear_cka")
    assert (grid.scale, grid.direction, grid.rows) == ((0.0, 1.0), "similarity", compared.senders)
    assert [mark.hover.split(": ")[0] for mark in scene(grid).marks if mark.role == "same"] == [
        f"{name} × {name}" for name in compared.senders
    ]
    assert has(pixels(figure), shade(value, (0, 1)))
    assert compared.grid("procrustes").direction == "distance"
    assert texts(compared.plot()) == texts(figure)


def test_cells_without_a_score_and_cuts_of_other_names_are_drawn() -> None:
    cell = Estimate(5000.0, 1.0, 1.0, 5, "rows")
    odd = Comparison(("a", "b"), ("c", "d"), {"own": Matrix("own", "similarity", ((cell, None), (None, cell)))}, {})
    assert texts(odd.plot()).splitlines().count("5e+03") == 2
    pixels(odd.plot())
    empty = Comparison(("a",), ("c",), {"own": Matrix("own", "similarity", ((None,),))}, {})
    pixels(empty.plot())
    read(empty)


def test_a_measure_that_is_not_there_is_named(compared: Comparison) -> None:
    with pytest.raises(MeasureError, match="did you mean 'linear_cka'"):
        compared.plot("linear_ck")
    with pytest.raises(MeasureError, match="no matrix"):
        Comparison(("a",), ("b",), {}, {}).plot()


def test_a_comparison_that_was_read_back_looks_the_same(compared: Comparison, tmp_path: Path) -> None:
    compared.save(tmp_path)
    assert Comparison.load(tmp_path)._repr_html_() == compared._repr_html_()


# ---- figures in a notebook


def test_a_figure_shows_itself_and_can_be_kept(audited: Audited) -> None:
    figure = audited.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert pickle.loads(pickle.dumps(figure))._repr_png_().startswith(b"\x89PNG")


def python(code: str) -> subprocess.CompletedProcess[str]:
    quiet = {"PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | quiet,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_a_plot_leaves_pyplot_alone() -> None:
    ran = python(
        """
        import sys
        from seamripper import Estimate
        one = Estimate(0.5, 0.4, 0.6, 9, "rows")
        one._repr_html_()
        print("matplotlib" in sys.modules)
        print(len(one.plot()._repr_png_()) > 1000, "matplotlib.pyplot" in sys.modules)
        """
    )
    assert ran.stdout.split() == ["False", "True", "False"], ran.stderr


@pytest.mark.slow
def test_without_matplotlib_html_is_there_and_a_plot_says_how_to_get_it() -> None:
    ran = python(
        """
        import sys
        sys.modules["matplotlib"] = None
        from seamripper import Estimate
        one = Estimate(0.5, 0.4, 0.6, 9, "rows")
        print("0.5000" in one._repr_html_())
        one.plot()
        """
    )
    assert ran.stdout.split() == ["True"]
    wanted = "A plot needs the library 'matplotlib', which is not installed: pip install 'seamripper[report]'."
    assert wanted in ran.stderr.splitlines()[-1]
