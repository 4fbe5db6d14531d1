"""Tables 1 and 2 and Fig. 5: similarity-trained against vanilla stitches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from seamripper.experiment import Experiment
from seamripper.papers.claims import Claim, Clause
from seamripper.papers.hernandez2022.derived import errors, triangle
from seamripper.papers.hernandez2022.fig_2 import UNLIKE, grids, matrices, mean_accuracy
from seamripper.papers.hernandez2022.setting import AUDITED, CASES, FEW, NAMES, OPPOSITE, good_enough
from seamripper.papers.items import Item, PaperGrid, PaperTable
from seamripper.papers.profiles import Profile
from seamripper.papers.results import Row, Select

_THEIRS = {
    "diagonal": (
        (2.0e-3, 2.2e-5, 1.2e-3, 4.4e-2, 1.5e-2, 2.3e-2, 2.8e-1, 1.9e-1, 1.1e-1, 6.1e-2, 3.7e-2, 3.9e-2),
        (1.3e-1, 5.5e-2, 2.7e-3, 4.3e5, 7.6e4, 1.7e5, 4.2e6, 3.6e5, 3.7e6, 1.1e6, 1.3e5, 7.3e5),
        (1.5e-2, 3.5e-5, 7.9e-3, 3.5e-1, 1.1e-3, 3.2e-1, 5.3e-1, 5.9e-3, 5.3e-1, 1.6e-1, 2.0e-3, 1.6e-1),
        (1.6e-1, 1.7e-2, 1.2e-1, 1.3e2, 4.9, 1.2e2, 1.4e3, 6.0e1, 1.4e3, 2.9e2, 1.3e1, 2.9e2),
    ),
    "all": (
        (1.6e-3, 5.4e-6, 7.8e-4, 4.5e-2, 1.6e-2, 2.0e-2, 3.6, 1.3, 5.9e-1, 1.4e-1, 5.9e-2, 3.3e-2),
        (1.6e-4, 1.7e-7, 1.5e-4, 2.6e5, 1.1e5, 6.3e4, 1.8e7, 9.2e6, 5.8e6, 1.0e6, 4.3e5, 3.4e5),
        (1.4e-2, 6.3e-6, 7.9e-3, 2.2, 2.1e-3, 2.2, 2.3e2, 1.9e-2, 2.3e2, 1.2e1, 4.3e-3, 1.2e1),
        (1.3e-1, 1.6e-2, 9.4e-2, 7.3e4, 4.2e4, 2.1e4, 1.2e7, 6.9e6, 4.8e6, 5.9e5, 3.4e5, 2.1e5),
    ),
}
"""The rows of Tables 1 and 2. What the paper calls its rows is not in the text that we have."""
_FIGURES = {"minimum": "least_error", "mean": "mean_error", "maximum": "largest_error", "deviation": "error_deviation"}
_BETWEEN = ("EV", "ES", "SV")


def _experiment(own: Profile) -> Experiment:
    about = "similarity-trained against vanilla stitches (Hernandez et al. 2022, Tables 1 and 2)"
    return matrices(own, "table-1", about)


def _derive(rows: Sequence[Row]) -> Iterator[Row]:
    yield from triangle(rows)
    yield from errors(rows)


def _orders(layers: Any, between: str = "EV") -> Select:
    return Select("orders", case="trained", layers=layers, between=between).with_name(
        f"the power of ten by which {between} is larger than ES"
    )


_GATES = (good_enough(*FEW),)
_MANY = Select("many_orders", case="trained", layers="all", between="EV").with_name(
    "the share of pairs of layers in which EV is 100 times ES or more")  # fmt: skip
_SOUND = Select(matching="vanilla").with_name("that of vanilla stitches")
CLAIMS = (
    Claim("Activations of similarity-trained stitches are closer to the expected ones than those of vanilla stitches",
        "ES below EV; Tables 1 and 2", _orders(("diagonal", "all")), "above", 0.0, gates=_GATES),
    Claim("They are also closer to the expected ones than to those of vanilla stitches", "ES below SV; Table 1",
        _orders("diagonal", "SV"), "above", 0.0, gates=_GATES),
    Claim("The vanilla stitch's difference is not larger by many orders of magnitude", "appendix, Tables 1 and 2",
        _orders(("diagonal", "all")), "at most", bound=2.0, gates=_GATES),
    Claim("Nor is a difference of many orders common, so that hacking cannot be concluded", "appendix", _MANY,
        "at most", bound=0.5, gates=_GATES),
    Claim("Similarity-trained stitches yield lower accuracy than vanilla stitches", "Fig. 5",
        mean_accuracy("below", matching="similarity"), "below", _SOUND,
        also=(Clause(mean_accuracy("diagonal", matching="similarity"), "below", _SOUND),), gates=_GATES),
    Claim("Similarity-trained stitches are unable to yield high accuracy", "Fig. 5",
        mean_accuracy("all", matching="similarity"), "at most", bound=0.6, gates=_GATES),
    Claim("Is that due to the training, as the least squares solution is more accurate on the diagonal?", "",
        mean_accuracy("diagonal", matching="direct", shape=UNLIKE), "above",
        Select(matching="similarity").with_name("that of similarity-trained stitches"), beyond=True,
        answers=("yes", "no"), gates=_GATES),
)  # fmt: skip


def _table(title: str, layers: str) -> PaperTable:
    columns = tuple(f"{name}, {between}" for name in _FIGURES for between in _BETWEEN)
    rows: list[tuple[Any, ...]] = [(f"paper, row {k}", *row) for k, row in enumerate(_THEIRS[layers], 1)]
    for case in CASES:
        cells = tuple(
            Select(figure, case=case, layers=layers, between=between)
            for figure in _FIGURES.values() for between in _BETWEEN
        )  # fmt: skip
        rows.append((f"ours, {NAMES['case'][case]}", *cells))
    caption = "Mean squared errors over images and pairs of layers; the mean has an interval over receivers."
    return PaperTable(title, ("networks", *columns), tuple(rows), caption, form=".1e")


def _accuracies() -> PaperTable:
    rows = tuple(
        (NAMES["matching"][way], *(mean_accuracy(place, matching=way) for place in ("below", "diagonal", "above")))
        for way in ("vanilla", "similarity", "direct")
    )
    columns = ("stitch", "below the diagonal", "on the diagonal", "above the diagonal")
    caption = "Least squares stitches are there for the pairs that are audited."
    return PaperTable("Mean relative accuracy by stitch", columns, rows, caption)


_SHOWS: tuple[PaperTable | PaperGrid, ...] = (
    _table("Table 1: corresponding layers", "diagonal"),
    _table("Table 2: all layers", "all"),
    _accuracies(),
    *grids("top1", "similarity", "accuracy of similarity-trained stitches (Fig. 5)", OPPOSITE),
    *grids("top1", "direct", "accuracy of least squares stitches", AUDITED),
)
_DEPARTS = (
    "Errors are measured on test images, which no stitch was fitted on, where the paper has all of CIFAR-10. The four "
    "rows of the paper's tables have lost their names in the text that we have: ours are by which network is trained."
)
ITEM = Item("table-1", ("Table 1", "Table 2", "Fig. 5"),
    "Similarity-trained against vanilla stitches: errors between what they make and what the receiver expects (EV, ES, "
    "SV), and accuracies.", _experiment, CLAIMS, _SHOWS, (_DEPARTS,), NAMES, derive=_derive)  # fmt: skip
