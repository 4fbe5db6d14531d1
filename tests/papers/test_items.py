"""The experiments of a paper's items: valid, told apart by name, quick ones small, the paper's own as printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from planted_worlds import jobs_of

from seamripper.data.samples import batches_in
from seamripper.experiment import Data, Experiment, Network
from seamripper.models import Training
from seamripper.papers import Item, papers

PROFILES = ("quick", "paper")
"""A night asks what the quick profile does, of more seeds."""
SMITH = papers["smith2025"]
ITEMS = {item.name: item for item in SMITH.items}
SEVERAL = ("table-c1", "section-4.2", "fig-3", "fig-c3", "fig-d1", "fig-g1", "table-g1", "table-c2")
"""Where the paper has more than one network."""
each_item = pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)


def paper_of(name: str) -> Experiment:
    return SMITH.experiment(ITEMS[name], "paper")


def quick_of(name: str) -> Experiment:
    return SMITH.experiment(ITEMS[name], "quick")


def options(word: str | None) -> dict[str, Any]:
    """A word as its name and options; numbers are numbers."""
    head, _, rest = (word or "").partition("?")
    pairs = dict(part.split("=", 1) for part in rest.split("&") if part)
    return {"way": head} | {key: float(x) if re.fullmatch(r"[\d.e-]+", x) else x for key, x in pairs.items()}


def units(experiment: Experiment) -> dict[tuple[Any, ...], set[Any]]:
    """Of how many networks a figure is an average: for each pair and place the seeds, or untrained networks."""
    found: dict[tuple[Any, ...], set[Any]] = {}
    for job, labels in jobs_of(experiment):
        if job.kind not in ("stitch", "noise", "control"):
            continue
        sender = str(labels.get("sender"))
        group = "untrained" if sender.startswith("random") else sender
        seed = sender if group == "untrained" else labels.get("receiver_seed")
        seed = labels["seed"] if seed is None else seed
        place = (group, labels["receiver"], labels["receiver_cut"], labels["freeze"], labels.get("data"))
        found.setdefault((job.kind, *place), set()).add(seed)
    return found


@pytest.mark.parametrize("profile", PROFILES)
@each_item
def test_the_experiment_is_one_and_is_called_like_its_item(item: Item, profile: Any) -> None:
    """Called so, a store keeps the items apart."""
    experiment = SMITH.experiment(item, profile)
    assert isinstance(experiment, Experiment)
    assert experiment.name == item.name
    assert "Smith et al. 2025" in experiment.about
    again = Experiment.model_validate_json(experiment.model_dump_json())
    assert again == experiment, "it can be written down and read back"
    json.dumps(experiment.model_dump(mode="json"), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@each_item
def test_the_experiment_becomes_jobs_all_of_them_different(item: Item, profile: Any) -> None:
    """Models, cuts of the zoo, matchings, controls and audits are looked up for that: what is not there is refused."""
    found = jobs_of(SMITH.experiment(item, profile))
    told = [(job.kind, json.dumps(labels, sort_keys=True)) for job, labels in found]
    assert len(set(told)) == len(told) > 5


@pytest.mark.slow
@each_item
def test_both_profiles_ask_the_same_questions(item: Item) -> None:
    quick, paper = ({(job.kind, labels.get("receiver")) for job, labels in jobs_of(SMITH.experiment(item, profile))}
                    for profile in PROFILES)  # fmt: skip
    assert quick == paper


@pytest.mark.slow
@each_item
def test_the_quick_profile_is_no_more_work_than_the_papers(item: Item) -> None:
    quick, paper = (SMITH.experiment(item, profile) for profile in PROFILES)
    assert len(jobs_of(quick)) <= len(jobs_of(paper))
    for name, network in quick.models.items():
        assert (network.n or 10**9) <= (paper.models[name].n or 10**9)
        assert len(network.seeds) <= len(paper.models[name].seeds)


@pytest.mark.parametrize("name", SEVERAL)
def test_the_quick_profile_has_three_seeds_where_the_paper_has_several(name: str) -> None:
    found = units(quick_of(name))
    assert found
    # Of what a figure with untrained senders is compared with, the paper has one network, too.
    few = {place: seeds for place, seeds in found.items() if len(seeds) < 3}
    assert all(name == "fig-g1" and place[1] != "untrained" for place in few), few
    assert any(len(seeds) >= 3 for seeds in found.values())


# ---- the authors' own


def test_the_paper_s_networks_are_the_authors() -> None:
    """B.1: SGD 0.1, momentum 0.9, weight decay 1e-4, 4 epochs, batches of 128, over 60,000 images; 5 of each."""
    for network in paper_of("table-c1").models.values():
        assert network.train == "zoo:resnet18?width=1"
        assert network.n is None, "all 60,000"
        assert network.seeds == (0, 1, 2, 3, 4)
        recipe = vars(Training.make(f"smith{network.training}"))
        told = {key: recipe[key] for key in ("optimiser", "lr", "momentum", "weight_decay", "epochs", "batch")}
        assert told == {"optimiser": "sgd", "lr": 0.1, "momentum": 0.9, "weight_decay": 1e-4, "epochs": 4, "batch": 128}


AUTHORS = {
    "way": "task",
    "optimiser": "sgd",
    "lr": 1e-4,
    "momentum": 0.9,
    "weight_decay": 1e-2,
    "epochs": 10,
    "batch": 128,
}
"""B.1, of the stitch."""


def test_the_paper_s_stitches_are_the_authors() -> None:
    experiment = paper_of("table-c1")
    assert options(experiment.matchings["theirs"]) == AUTHORS
    assert experiment.data == Data(name="mnist/correlated", ready=True), "all 60,000 to fit on, all 10,000 to score on"
    assert all(part.stitches == ("bn_affine",) for part in experiment.stitch)
    assert all(set(part.freeze) == {"all", "weights"} for part in experiment.stitch), "strictly, and as the authors do"
    assert all(part.rank for part in (*experiment.stitch, *experiment.noise))


@pytest.mark.parametrize("name", ["table-c1", "section-4.2", "table-d3"])
def test_the_paper_s_noise_is_the_authors(name: str) -> None:
    """B.1 and Algorithm 2: batches of 64, 4 epochs, 6,000 and 1,000 samples a class; the radius is 0.1."""
    experiment = paper_of(name)
    assert options(experiment.matchings["from noise"]) == {**AUTHORS, "epochs": 4, "batch": 64}
    for noise in experiment.noise:
        assert (noise.per_class, noise.per_class_test) == (6000, 1000)
        assert 0.1 in noise.radius
        assert not noise.classes, "as many clusters as classes"


def test_the_radii_are_those_of_table_d3() -> None:
    for profile in PROFILES:
        (noise,) = SMITH.experiment(ITEMS["table-d3"], profile).noise
        assert set(noise.radius) >= {0.5, 0.9, 0.99, 1.0}
        assert noise.cuts == ("layer2",), "before Res Block 3"


@pytest.mark.parametrize(("name", "lr"), [("fig-c3", 1e-3), ("fig-g3", 1e-3), ("fig-d1", 1e-2)])
def test_the_paper_s_vgg_is_the_authors(name: str, lr: float) -> None:
    """D.1: 50 epochs for networks and stitches, batches of 64, SGD, weight decay 1e-4."""
    experiment = paper_of(name)
    for network in experiment.models.values():
        if network.train is not None:
            assert network.train == "zoo:vgg19?width=1"
            told = {"optimiser": "sgd", "lr": 1e-2, "batch": 64, "epochs": 50, "weight_decay": 1e-4}
            assert told.items() <= options(network.training).items()
    for way in experiment.matchings.values():
        assert options(way) == {**AUTHORS, "lr": lr, "epochs": 50, "batch": 64, "weight_decay": 1e-4}
    cuts = {cut for part in (*experiment.stitch, *experiment.noise) for cut in part.cuts}
    assert cuts == {"features.1", "features.8", "features.22", "features.29", "features.35"}


@pytest.mark.parametrize("name", ["section-5.1", "section-5.4", "table-1"])
def test_the_paper_s_stitches_of_section_5_are_the_authors(name: str) -> None:
    """B.4: 20 epochs of SGD, learning rate and weight decay 1e-4, batches of 128."""
    way = options(paper_of(name).matchings["theirs"])
    assert way == {**AUTHORS, "weight_decay": 1e-4, "epochs": 20}


def test_fewer_clusters_are_stitched_as_the_authors_do_or_for_one_epoch() -> None:
    """D.4 gives no batch size, and with two clusters an epoch is short."""
    ways = paper_of("section-d4").matchings
    names = ("optimiser", "lr", "momentum", "weight_decay", "epochs")
    told = {word: tuple(options(way)[name] for name in names) for word, way in ways.items()}
    assert told == {"theirs": ("sgd", 1e-4, 0.9, 1e-4, 20), "one epoch": ("sgd", 1e-4, 0.9, 1e-4, 1)}
    assert {noise.classes for noise in paper_of("section-d4").noise} == {(10,), (5,), (2,)}


def test_fewer_clusters_have_as_many_steps_in_the_quick_profile() -> None:
    """What two clusters reach in an epoch is compared with what ten do: of the same length."""
    noises = quick_of("section-d4").noise
    assert {classes * noise.per_class for noise in noises for classes in noise.classes} == {1_500}


def test_the_paper_s_autoencoders_are_the_authors() -> None:
    """B.3: Adam 1e-4 for 25 epochs; embedding mapping SGD 1e-5 for 25, class mapping SGD 1e-2 for 20."""
    experiment = paper_of("fig-4")
    coders = [network for network in experiment.models.values() if "autoencoder" in str(network.train)]
    assert len(coders) == 3
    for network in coders:
        recipe = vars(Training.make(f"autoencoder{network.training}"))
        assert (recipe["optimiser"], recipe["lr"], recipe["epochs"]) == ("adam", 1e-4, 25)
    ways = {way["way"]: way for way in map(options, experiment.matchings.values())}
    told = {
        word: tuple(way[name] for name in ("lr", "epochs", "momentum", "weight_decay")) for word, way in ways.items()
    }
    assert told == {"embedding_mapping": (1e-5, 25, 0.9, 0.01), "class_mapping": (1e-2, 20, 0.9, 0.01)}


def test_the_penalties_of_table_b1_are_added_to_the_authors_stitch() -> None:
    ways = [options(way) for way in paper_of("table-b1").matchings.values()]
    assert {(way.get("l1"), way["weight_decay"]) for way in ways} == {
        (0.01, 1e-2),
        (0.1, 1e-2),
        (1.0, 1e-2),
        (None, 0.0),
    }
    assert {way["loss"] for way in ways} == {"bce"}


def test_all_nine_offsets_are_circular_shifts() -> None:
    for profile in PROFILES:
        ways = map(options, SMITH.experiment(ITEMS["fig-3"], profile).matchings.values())
        assert {way["label_map"] for way in ways} == {
            ",".join(str((c + k) % 10) for c in range(10)) for k in range(1, 10)
        }


def test_the_quick_stitches_are_as_their_departures_say() -> None:
    """Steps, rate and batches of the quick profile stand in the report: up to 384 steps at 2e-2 for 4,690 at 1e-4."""
    quick, paper = quick_of("table-c1"), paper_of("table-c1")
    steps = []
    for experiment in (quick, paper):
        way = options(experiment.matchings["theirs"])
        assert isinstance(experiment.data, Data)
        steps.append(batches_in(experiment.data.n or 60_000, way["batch"]) * way["epochs"])
    assert steps == [384, 4690]
    (smaller, *_) = SMITH.departures(ITEMS["table-c1"], "quick")
    assert "fitted on 2,000 images (all in the paper's profile); scored on 1,500 (all" in smaller
    assert "learning rate 0.02, epochs 24, rest 32 (learning rate 0.0001, epochs 10 in the paper's profile)" in smaller
    assert "noise of 300 samples per class (6,000 in the paper's profile)" in smaller
    assert {options(network.training).get("schedule") for network in quick.models.values()} == {"cosine"}
    assert {options(network.training).get("schedule") for network in paper.models.values()} == {None}


def test_the_quick_profile_has_five_seeds_where_they_are_cheap() -> None:
    cheap = {"table-c1": "digit", "section-4.2": "greyscale", "table-c2": "greyscale", "section-5.4": "photos"}
    for name, model in cheap.items():
        assert len(quick_of(name).models[model].seeds) == 5, name
    assert {len(part.seeds) for part in quick_of("table-g1").control} == {5}


def test_the_quick_profile_looks_at_as_many_images_as_a_claim_needs() -> None:
    """Probes at 10,000; all test images where one network is scored; inputs of 64 × 64 where BN adapts to them."""
    assert {part.data.n for part in quick_of("table-g1").control if isinstance(part.data, Data)} == {10_000}
    data = quick_of("table-b1").data
    assert isinstance(data, Data)
    assert data.n_test == 10_000
    assert {part.input for part in quick_of("table-1").noise} == {(3, 64, 64)}


def test_what_the_penalty_takes_off_a_weight_is_what_the_authors_takes_off() -> None:
    """It goes with learning rate × steps × λ."""
    taken = []
    for experiment in (quick_of("table-b1"), paper_of("table-b1")):
        way = options(experiment.matchings["L1 0.1"])
        assert isinstance(experiment.data, Data)
        steps = batches_in(experiment.data.n or 60_000, way["batch"]) * way["epochs"]
        assert "rest" not in way, "its length is a part of the penalty"
        taken.append(way["lr"] * way["l1"] * steps)
    assert taken[0] == pytest.approx(taken[1], rel=0.01)


def test_audits_of_table_c1_are_at_three_cuts() -> None:
    (audit,) = quick_of("table-c1").audit
    assert audit.cuts == ("maxpool", "layer2", "layer4")


@pytest.mark.parametrize("name", ["section-d4", "fig-g1"])
def test_where_there_is_one_network_draws_of_noise_are_the_units(name: str) -> None:
    """Ten clusters of one draw, all named rightly, would have an interval from 0.72 to 1."""
    assert {len(part.seeds) for part in quick_of(name).noise} == {3}


@each_item
def test_departures_are_of_what_an_item_uses(item: Item) -> None:
    """No images, noise or seeds of another item: each size is one that its experiment reads."""
    quick, paper = (" ".join(SMITH.departures(item, profile)) for profile in PROFILES)
    experiment = SMITH.experiment(item, "quick")
    assert quick != paper, "every item is smaller in the quick profile"
    assert quick.endswith(paper), "what holds in both is said in both"
    assert "in the paper's profile)" not in paper
    assert ("noise of" in quick) <= bool(experiment.noise)
    assert ("stitches fitted on" in quick) <= bool(experiment.stitch or experiment.pictures)
    assert ("Six cuts" in quick) <= any(len(part.cuts) >= 5 for part in experiment.stitch)
    seeds = {len(network.seeds) for network in experiment.models.values() if network.load is None}
    if match := re.search(r"(\d+) seeds \(", quick):
        assert int(match[1]) in seeds | {len(part.seeds) for part in experiment.control}


def test_jobs_that_two_figures_share_are_described_alike() -> None:
    """G.1 extends C.1: its stitches from trained senders and from noise are those of table-c1."""
    c1, g1 = (quick_of(name) for name in ("table-c1", "fig-g1"))
    assert g1.stitch[0].rank
    assert c1.stitch[0].rank
    assert g1.stitch[0].data == c1.data
    assert g1.matchings["theirs"] == c1.matchings["theirs"]
    assert g1.matchings["from noise"] == c1.matchings["from noise"]
    shared = ("cuts", "radius", "per_class", "per_class_test", "stitches", "rank")
    assert {name: getattr(g1.noise[0], name) for name in shared} == {
        name: getattr(c1.noise[0], name) for name in shared
    }


def test_untrained_networks_are_loaded_and_never_trained() -> None:
    for name in ("fig-g1", "fig-g3", "table-g1"):
        for profile in PROFILES:
            experiment = SMITH.experiment(ITEMS[name], profile)
            loaded: list[Network] = [one for one in experiment.models.values() if one.load is not None]
            assert loaded
            assert len({one.load for one in loaded}) == len(loaded)


def test_the_run_of_record_is_of_these_items_and_took_no_longer_than_45_minutes() -> None:
    """Each item stands on the page with the minutes that `seamripper papers` tells, and they add up."""
    text = (Path(__file__).parents[2] / "docs" / "smith2025.md").read_text()
    assert text.startswith(f"# {SMITH.title}: profile quick\n")
    for item in ITEMS.values():
        assert re.search(rf"^## {re.escape(', '.join(item.covers))}$", text, re.M), item.name
        assert f"{item.about} " in text
        minutes = SMITH.minutes[item.name]
        assert f" jobs, {minutes:.1f} min." in text.partition(item.about)[2].partition("\n")[0]
    (total,) = map(int, re.findall(r"^(\d+) minutes on 2 cores, .*, commit [0-9a-f]{12}\.$", text, re.M))
    assert sum(SMITH.minutes.values()) == pytest.approx(total, abs=1)
    assert total <= 45
