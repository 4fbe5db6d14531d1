"""Direct matching: the stitch that takes the sender's activations closest to the receiver's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from seamripper._devices import float64_home, like
from seamripper._progress import Progress
from seamripper.activations.collect import require_finite
from seamripper.data.paired import Paired
from seamripper.data.samples import batches_in
from seamripper.errors import MatchError
from seamripper.matching.base import Findings, Matching, Problem
from seamripper.matching.moments import Moments
from seamripper.matching.padding import tokens_compared
from seamripper.matching.solve import Solution, least_squares, procrustes, reduced_rank
from seamripper.stitches.base import LinearLayer
from seamripper.stitches.resize import ResizeLayer


@dataclass(frozen=True)
class Direct(Matching):
    """Least squares from the sender's rows X to the receiver's rows Y (Csiszárik 2021; Balogh 2025).

    Streamed float64 moments, so any number of samples. `form` may restrict W to orthonormal ones or to a rank; a
    stitch that can only hold such a W asks for that by itself. The residuals reported, on the samples of the fit and on
    others, are those of the very weights that were installed, in their precision. Tokens that are padding make no row.
    """

    name: ClassVar[str] = "direct"
    paper = "Csiszárik, Kőrösi-Szabó, Matszangosz, Papp, Varga 2021; Balogh, Jelasity 2025"
    formula = "min ‖Y − X Wᵀ − b‖²"
    least: ClassVar[Mapping[str, float]] = {"ridge": 0, "rank": 1, "rtol": 0, "batch": 1}

    form: Literal["auto", "least_squares", "orthogonal", "reduced_rank"] = "auto"
    ridge: float = 0.0
    rank: int | None = None
    rtol: float | None = None
    batch: int = 256

    def find(self, problem: Problem) -> Findings:
        """Solve for the map and install it."""
        layer = problem.layer
        if not isinstance(layer, LinearLayer):
            raise MatchError(
                f"Direct matching solves for one linear map, and this stitch ({type(layer).__name__}) is not one. "
                "Choose a linear stitch ('affine', 'resize', 'conv', …), or the matching 'task' or 'regression'."
            )
        moments = self.moments(problem, problem.fit, "direct matching")
        held = problem.held_out
        other = None if held is None else self.moments(problem, held, "held-out residual")
        return self.solution(problem, moments, other)

    def solution(self, problem: Problem, moments: Moments, held_out: Moments | None) -> Findings:
        """Install the map that the moments come to; its residual is also that on the moments of other samples."""
        layer = problem.layer
        assert isinstance(layer, LinearLayer)
        if moments.n < 2:
            raise MatchError(f"Direct matching needs at least 2 rows to fit on, but got {moments.n}.")
        solution = self._solve(moments, layer)
        weight, bias = layer.map()
        layer.install(like(solution.weight, weight), like(solution.bias, bias))
        weight, bias = layer.map()
        figures = {
            "form": self._form(layer),
            "rows": moments.n,
            "columns": moments.p,
            "rank": solution.rank,
            "condition": solution.condition,
            "residual_in_sample": moments.residual(weight, bias),
        }
        if held_out is not None:
            figures["residual_held_out"] = held_out.residual(weight, bias)
            figures["rows_held_out"] = held_out.n
        return Findings(_status(moments, layer, solution), figures)

    def moments(self, problem: Problem, samples: Paired, task: str) -> Moments:
        """The moments of sender rows and receiver rows over the samples, in one pass."""
        layer = problem.layer
        assert isinstance(layer, LinearLayer)
        moments, done, batch = None, 0, samples.fitting(self.batch)
        with torch.no_grad():
            for given, inputs in samples.batches(batch):
                ids = samples.ids[done * batch : (done + 1) * batch]
                x, y = problem.sender.head(given), problem.native(inputs, samples.receiver, ids)
                require_finite(x, problem.sender.cut.name, ids)
                require_finite(y, problem.receiver.cut.name, ids)
                grain, home = torch.finfo(x.dtype).eps, float64_home(y.device)
                if isinstance(layer, ResizeLayer) and layer.enlarges:
                    moments = moments or Moments(x.shape[1], y.shape[1], home)
                    moments.add_enlarged(x, y, grain=grain)
                else:
                    rows, targets = layer.rows_and_targets(x, y, tokens_compared(problem, x, y, (given, inputs)))
                    moments = moments or Moments(rows.shape[1], targets.shape[1], home)
                    moments.add(rows, targets, grain=grain)
                done += 1
                problem.watch(Progress(task, done, batches_in(len(samples), batch)))
        assert moments is not None
        return moments

    def _form(self, layer: LinearLayer) -> str:
        if self.form != "auto":
            return self.form
        if self.rank is not None:
            return "reduced_rank"
        return {"none": "least_squares", "orthogonal": "orthogonal", "rank": "reduced_rank"}[layer.constraint]

    def _solve(self, moments: Moments, layer: LinearLayer) -> Solution:
        form = self._form(layer)
        # A stitch without a bias is fitted about zero, where the least squares of its own map is.
        moments = moments if layer.intercept else moments.about_zero()
        if form == "orthogonal":
            return procrustes(moments, rtol=self.rtol)
        if form == "reduced_rank":
            rank = layer.rank if self.rank is None else self.rank
            if rank is None:
                raise MatchError("The reduced-rank form needs a rank: Direct(rank=8), or the stitch 'low_rank'.")
            return reduced_rank(moments, rank, ridge=self.ridge, rtol=self.rtol)
        return least_squares(moments, ridge=self.ridge, rtol=self.rtol)


def _status(moments: Moments, layer: LinearLayer, solution: Solution) -> str:
    unknowns = moments.p + int(layer.intercept)
    if solution.rank == 0:
        return "constant: the sender's activations do not vary, so nothing of them reaches the receiver"
    if moments.n <= unknowns:
        return f"interpolates: {moments.n} rows for {unknowns} unknowns, so the in-sample residual says nothing"
    return "ok"


Init = Literal["random", "identity", "direct"]


def initialise(problem: Problem, init: Init) -> None:
    """Set the layer to its starting point. `random` is how the layer was built, which is by the seed."""
    layer = problem.layer
    if init == "random":
        return
    if not isinstance(layer, LinearLayer):
        raise MatchError(
            f"init={init!r} needs a stitch that is one linear map, and {type(layer).__name__} is not one. "
            "Use init='random', or a linear stitch such as 'affine'."
        )
    if init == "direct":
        Direct().find(problem)
        return
    weight, bias = layer.map()
    if weight.shape[0] != weight.shape[1]:
        raise MatchError(
            f"init='identity' needs as many inputs as outputs, but this stitch maps {weight.shape[1]} to "
            f"{weight.shape[0]}. Use init='direct'."
        )
    layer.install(torch.eye(len(weight), dtype=weight.dtype, device=weight.device), torch.zeros_like(bias))
