"""Approximations beside the whole: by moments what the approximated rows themselves give, and through the network."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seamripper.activations import Activations, Sampling, collect, principal_directions
from seamripper.comparing import Representation, direct_functional, pair_activations
from seamripper.comparing.approximations import Role, direct_map
from seamripper.cut import Cut, split
from seamripper.cut.place import LAYOUTS
from seamripper.data import Samples
from seamripper.errors import DataError, MeasureError
from seamripper.matching import answers_of
from seamripper.measures import measures, score

WIDTH = 6
SHAPES = {"maps": (40, WIDTH, 3, 3), "tokens": (40, 5, WIDTH), "vectors": (60, WIDTH)}


def stored(kind: str, *, seed: int, mask: Tensor | None = None) -> Activations:
    """Correlated activations in float64, about a mean that is not zero."""
    shape = SHAPES[kind]
    layout = LAYOUTS[len(shape)]
    values = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    mix = torch.randn(WIDTH, WIDTH, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    last = (values.movedim(1, -1) if layout == "nchw" else values) @ mix + 2
    values = (last.movedim(-1, 1) if layout == "nchw" else last).contiguous()
    ids = torch.arange(shape[0]) + 1000 * seed
    return Activations(Cut("a", shape[1:], layout), values, ids % 2, ids, mask=mask)


def by_rows(name: str, whole: Activations, low: Activations, sampling: Sampling, role: Role) -> tuple[float, ...]:
    sides = (low, whole) if role == "sender" else (whole, low)
    measure = measures.make(name)
    estimate = score(measure, pair_activations(*sides, sampling=sampling).pair(measure))
    return estimate.value, estimate.low, estimate.high


@pytest.mark.parametrize("role", ["sender", "receiver"])
@pytest.mark.parametrize(("kind", "sampling"), [("maps", "positions"), ("tokens", "pool"), ("vectors", "positions")])
@pytest.mark.parametrize(
    "name",
    ["linear_cka", "pwcca_ding", "opd", "direct_structural", "size_and_shape", "permutation_procrustes", "mutual_knn"],
)
def test_a_score_is_that_of_the_approximated_rows(name: str, kind: str, sampling: Sampling, role: Role) -> None:
    """By measures that may be turned, that may not, that see the mean, that need one width, and that need rows."""
    directions, whole = principal_directions(stored(kind, seed=0)), stored(kind, seed=1)
    representation = Representation(whole, directions, sampling)
    for rank in (2, WIDTH):
        expected = by_rows(name, whole, directions.approximate(whole, rank), sampling, role)
        measure = measures.make(name)
        ours = score(measure, representation.approximation(rank).pair(measure, role=role))
        assert (ours.value, ours.low, ours.high) == pytest.approx(expected, rel=1e-6, abs=1e-7), rank


@pytest.mark.parametrize("name", ["linear_cka", "opd"])
def test_flattened_rows_are_those_of_the_approximated_maps(name: str) -> None:
    directions, whole = principal_directions(stored("maps", seed=0)), stored("maps", seed=1)
    expected = by_rows(name, whole, directions.approximate(whole, 2), "flatten", "sender")
    measure = measures.make(name)
    ours = score(measure, Representation(whole, directions, "flatten").approximation(2).pair(measure))
    assert (ours.value, ours.low, ours.high) == pytest.approx(expected, rel=1e-6)


def test_padding_makes_no_row() -> None:
    mask = torch.arange(5)[None] < torch.arange(40)[:, None] % 5 + 1
    directions, whole = principal_directions(stored("tokens", seed=0)), stored("tokens", seed=1, mask=mask)
    whole.values[~mask] = 1e3
    for name in ("linear_cka", "mutual_knn"):
        expected = by_rows(name, whole, directions.approximate(whole, 2), "positions", "sender")
        measure = measures.make(name)
        pair = Representation(whole, directions, "positions").approximation(2).pair(measure)
        assert score(measure, pair).value == pytest.approx(expected[0], rel=1e-6)
    assert Representation(whole, directions, "positions").every.n == int(mask.sum())


@pytest.mark.parametrize("name", ["linear_cka", "pwcca_ding", "opd", "direct_structural", "mutual_knn"])
def test_at_full_rank_a_measure_gives_its_self_score(name: str) -> None:
    directions, whole = principal_directions(stored("maps", seed=0)), stored("maps", seed=1)
    measure, approximation = measures.make(name), Representation(whole, directions, "positions").approximation(WIDTH)
    for role in ("sender", "receiver"):
        assert measure.value(approximation.pair(measure, role=role)) == pytest.approx(
            measure.claims.self_score, abs=1e-9
        )


def test_distances_grow_as_the_rank_falls() -> None:
    directions, whole = principal_directions(stored("maps", seed=0)), stored("maps", seed=1)
    representation = Representation(whole, directions, "positions")
    for name in ("opd", "direct_structural"):
        measure = measures.make(name)
        values = [measure.value(representation.approximation(rank).pair(measure)) for rank in (6, 4, 2, 1)]
        assert values == sorted(values)
        assert values[-1] > 0.1


def test_directions_of_another_width_are_refused() -> None:
    few = Activations(Cut("b", (3,), "nd"), torch.randn(9, 3), torch.arange(9), torch.arange(9))
    with pytest.raises(MeasureError, match=r"Expected directions of the 6 columns of a .*, but got some of 3"):
        Representation(stored("maps", seed=0), principal_directions(few), "positions")
    with pytest.raises(MeasureError, match="Expected a sampling of 'positions', 'flatten' or 'pool', but got 'rows'"):
        Representation(few, principal_directions(few), "rows")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Expected rank to be a whole number from 1 to 3, but got 4"):
        Representation(few, principal_directions(few), "pool").approximation(4)


# ---- through the network


def images(n: int, first_id: int) -> Samples:
    """Images of two channels, either of which is bright or dark: no single direction tells all four."""
    generator = torch.Generator().manual_seed(first_id)
    labels = torch.arange(n) % 4
    signs = torch.stack([labels % 2, labels // 2], 1) * 2.0 - 1
    pixels = signs[:, :, None, None] + torch.randn(n, 2, 8, 8, generator=generator)
    return Samples("shades", pixels, labels, torch.arange(first_id, first_id + n), classes=4)


@pytest.fixture(scope="module")
def network() -> nn.Module:
    """A convolutional network that was trained for a moment."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = nn.Sequential(
            nn.Conv2d(2, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(512, 4),
        )  # fmt: skip
    data, optimiser = images(200, 5000), torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(30):
        optimiser.zero_grad()
        nn.functional.cross_entropy(net(data.inputs), data.labels).backward()
        optimiser.step()
    return net.eval()


def test_through_a_stitch_of_full_rank_a_network_does_what_it_does(network: nn.Module) -> None:
    half = split(network, "1", torch.zeros(2, 2, 8, 8))
    fit, test = images(60, 0), images(80, 900)
    directions, activations = principal_directions(collect(half, fit)), collect(half, test)
    native = answers_of(half, test)
    scores = direct_functional(half, activations, directions, [8, 1], native=native)
    assert scores[8].value == 1.0
    assert scores[8].rule["sides"] == (float((native.argmax(1) == test.labels).double().mean()),) * 2
    assert (scores[8].n, scores[8].rule["direction"]) == (80, "similarity")
    assert scores[1].value < 0.9
    assert scores[1].low <= scores[1].value <= scores[1].high


@pytest.mark.parametrize("rank", [2, 5])
def test_the_map_is_least_squares_between_approximations(network: nn.Module, rank: int) -> None:
    half = split(network, "1", torch.zeros(2, 2, 8, 8))
    fit, test = (collect(half, images(n, first_id)) for n, first_id in ((60, 0), (80, 900)))
    directions = principal_directions(fit)

    def approximated(activations: Activations) -> Tensor:
        rows = directions.approximate(activations, rank).values.movedim(1, -1).flatten(0, -2).double()
        return torch.cat([rows, torch.ones(len(rows), 1)], 1)

    # By an SVD of the rows themselves, in which what float32 rounds is left out.
    map_ = torch.linalg.lstsq(approximated(fit), approximated(fit)[:, :-1], rcond=1e-5, driver="gelsd").solution
    weight, bias = direct_map(directions, rank, dtype=torch.float64)
    rows = test.values.movedim(1, -1).flatten(0, -2).double()
    torch.testing.assert_close(rows @ weight.T + bias, approximated(test) @ map_, rtol=0, atol=1e-5)


def test_without_answers_or_classes_there_is_no_accuracy(network: nn.Module) -> None:
    half = split(network, "1", torch.zeros(2, 2, 8, 8))
    test = images(8, 900)
    activations, native = collect(half, test), answers_of(half, test)
    directions = principal_directions(collect(half, images(60, 0)))
    with pytest.raises(DataError, match="Expected the network's answers to 8 samples, but got 7"):
        direct_functional(half, activations, directions, [2], native=native[:7])
    wrong = nn.functional.one_hot((test.labels + 1) % 4, 4)
    with pytest.raises(MeasureError, match="The network gets none of the 8 samples right"):
        direct_functional(half, activations, directions, [2], native=wrong)
    with pytest.raises(DataError, match="the receiver has 2 classes"):
        direct_functional(half, activations, directions, [2], native=native[:, :2])
