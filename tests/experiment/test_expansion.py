"""From a grid to jobs: which there are, what they share, and which words of a description decide a result."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seamripper.errors import (
    CutError,
    DataError,
    ExperimentError,
    MeasureError,
    SeamripperError,
)
from seamripper.experiment import (
    AuditPart,
    CallPart,
    ComparePart,
    ControlPart,
    Data,
    Experiment,
    FunctionalPart,
    Network,
    NoisePart,
    PicturesPart,
    StitchPart,
    run,
)
from seamripper.experiment.expansion import Expansion
from seamripper.experiment.experiment import Resources
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.plan import expand

R = "zoo:R_1111?width=0.125"
DATA: dict[str, Any] = {"name": "digits/digit", "n": 64, "n_test": 64}
NETWORK: dict[str, Any] = {"train": R, "data": "digits/digit", "n": 64, "training": "?epochs=1", "seeds": (0, 1)}
OTHERS: dict[str, Any] = {"senders": ("a",), "receivers": ("a",), "pairing": "others"}
MEMO: dict[str, Any] = {}
"""One for all tests: what is remembered of one question must not be taken for the answer to another."""


def study(*, network: Any = None, data: Any = None, folder: Path | str = ".", **given: Any) -> Experiment:
    """Two networks `a` that differ by seed, one `b`, and a loaded one; more, or other values, as given."""
    whole: dict[str, Any] = {
        "name": "study",
        "data": Data(**{**DATA, **(data or {})}),
        "models": {
            "a": Network(**{**NETWORK, **(network or {})}),
            "b": Network(**{**NETWORK, "data": "digits/colour"}),
            "theirs": Network(load=R),
        },
        "folder": str(folder),
    }
    return Experiment(**{**whole, **given})


def stitching(**given: Any) -> tuple[StitchPart]:
    return (StitchPart(**{**OTHERS, "cuts": ("layer1",), **given}),)


def comparing(**given: Any) -> tuple[ComparePart]:
    return (ComparePart(**{**OTHERS, "cuts": ("layer1", "layer2"), **given}),)


def auditing(**given: Any) -> tuple[AuditPart]:
    return (AuditPart(**{**OTHERS, "cuts": ("layer1",), **given}),)


def tabulating(**given: Any) -> tuple[FunctionalPart]:
    return (FunctionalPart(**{**OTHERS, "cuts": ("layer1",), **given}),)


def picturing(**given: Any) -> tuple[PicturesPart]:
    return (PicturesPart(**{**OTHERS, "cuts": ("layer1 -> before:conv1",), **given}),)


def graph_of(experiment: Experiment) -> Graph:
    return expand(experiment, Identities(MEMO, folder=experiment.folder))


def of_kind(graph: Graph, kind: str) -> list[Job]:
    return [job for job in graph if job.kind == kind]


def keys(experiment: Experiment, kind: str) -> set[str]:
    return {job.key for job in of_kind(graph_of(experiment), kind)}


def count(graph: Graph) -> dict[str, int]:
    return dict(Counter(job.kind for job in graph))


def pairs(graph: Graph, kind: str = "stitch") -> list[str]:
    """Who meets whom, as "a0 b1"; a loaded model has no number."""

    def shown(labels: Any, side: str) -> str:
        seed = labels[f"{side}_seed"]
        return f"{labels[side]}{'' if seed is None else seed}"

    found = [labels for key, labels in graph.goals if graph.jobs[key].kind == kind]
    return [f"{shown(labels, 'sender')} {shown(labels, 'receiver')}" for labels in found]


# ---- which jobs there are


def test_models_alone_are_trained() -> None:
    graph = graph_of(study())
    assert [str(job) for job in graph] == ["train a 0", "train a 1", "train b 0", "train b 1"]
    assert [labels for _, labels in graph.goals][:2] == [
        {"model": "a", "seed": 0, "data": "digits/digit"},
        {"model": "a", "seed": 1, "data": "digits/digit"},
    ]


def test_models_that_nothing_asks_for_are_not_trained() -> None:
    assert [str(job) for job in of_kind(graph_of(study(stitch=stitching())), "train")] == ["train a 0", "train a 1"]
    only = graph_of(study(compare=comparing(senders=("a/1",), receivers=("theirs",))))
    assert [str(job) for job in of_kind(only, "train")] == ["train a 1"]


@pytest.mark.parametrize("models", [{}, {"theirs": Network(load=R)}])
def test_an_experiment_that_asks_for_nothing(models: dict[str, Network]) -> None:
    with pytest.raises(ExperimentError) as e:
        graph_of(Experiment(name="empty", models=models))
    assert str(e.value) == (
        "The experiment 'empty' asks for nothing: add [[audit]], [[call]], [[compare]], [[control]], [[functional]], "
        "[[noise]], [[pictures]], [[probe]] or [[stitch]]."
    )


@pytest.mark.parametrize(
    ("senders", "receivers", "pairing", "met"),
    [
        (("a",), ("b",), "matched", ["a0 b0", "a1 b1"]),
        (("a",), ("b",), "others", ["a0 b1", "a1 b0"]),
        (("a",), ("b",), "all", ["a0 b0", "a0 b1", "a1 b0", "a1 b1"]),
        (("a",), ("a",), "matched", ["a0 a0", "a1 a1"]),
        (("a",), ("a", "b"), "others", ["a0 a1", "a1 a0", "a0 b1", "a1 b0"]),
        (("a/1",), ("b",), "matched", ["a1 b1"]),
        (("a/1",), ("b",), "others", ["a1 b0"]),
        (("a/0", "a/1"), ("b/1",), "all", ["a0 b1", "a1 b1"]),
        (("theirs",), ("b",), "matched", ["theirs b0", "theirs b1"]),
        (("theirs",), ("b",), "others", ["theirs b0", "theirs b1"]),
        (("b/1",), ("theirs",), "matched", ["b1 theirs"]),
        (("theirs",), ("theirs",), "others", ["theirs theirs"]),
    ],
)
def test_who_meets_whom(senders: tuple[str], receivers: tuple[str], pairing: Any, met: list[str]) -> None:
    asked: dict[str, Any] = {"senders": senders, "receivers": receivers, "pairing": pairing}
    parts: dict[str, Any] = {"stitch": stitching(**asked), "compare": comparing(**asked)}
    parts |= {"audit": auditing(**asked), "functional": tabulating(**asked)}
    experiment = study(**parts, pictures=picturing(**asked))
    graph = graph_of(experiment)
    assert [pairs(graph, kind) for kind in ("stitch", "compare", "audit", "functional", "pictures")] == [met] * 5
    sizes = {part.size(experiment) for _, part in experiment.parts()}
    assert sizes == {len(met)}, "what is counted beforehand is what comes of it"


@pytest.mark.parametrize(("senders", "receivers", "pairing"), [("a/0", "b/1", "matched"), ("a/0", "b/0", "others")])
def test_seeds_that_never_meet_are_told(senders: str, receivers: str, pairing: Any) -> None:
    with pytest.raises(ExperimentError) as e:
        graph_of(study(compare=comparing(senders=(senders,), receivers=(receivers,), pairing=pairing)))
    assert str(e.value).startswith(f"No seeds of {senders!r} and {receivers!r} are joined by pairing = {pairing!r}: ")


def test_a_stitch_for_every_point_of_the_grid() -> None:
    grid = stitching(
        cuts=("layer1", "layer1 -> layer2"),
        matchings=("task", "fewer"),
        stitches=("auto", "conv"),
        freeze=("all", "weights"),
        seeds=(0, 1, 2),
    )
    graph = graph_of(study(stitch=grid, matchings={"fewer": "task?epochs=1"}))
    jobs = of_kind(graph, "stitch")
    assert len(jobs) == 2 * 2 * 2 * 2 * 2 * 3
    assert grid[0].size(study()) == len(jobs)
    fields = ("sender_cut", "receiver_cut", "matching", "stitch", "freeze", "seed", "sender_seed")
    assert len({tuple(job.labels[name] for name in fields) for job in jobs}) == len(jobs)
    assert {(job.content["sender_cut"], job.content["receiver_cut"]) for job in jobs} == {
        ("layer1", "layer1"),
        ("layer1", "layer2"),
    }


LONG = tuple(range(1000))
CUTS = tuple(f"layer{k}" for k in LONG)
GRIDS: dict[str, tuple[dict[str, Any], int]] = {
    "stitch": ({"stitch": stitching(cuts=CUTS, seeds=LONG, controls=("shuffled",) * 499)}, 2 * 1000 * 1000 * 500),
    "control": ({"control": (ControlPart(**OTHERS, cuts=CUTS, seeds=LONG, controls=("self",) * 500),)}, 10**9),
    "noise": ({"noise": (NoisePart(receivers=("a",), cuts=CUTS[:500], seeds=LONG, radius=(0.1,) * 1000),)}, 10**9),
    "compare": ({"compare": comparing(senders=("a",) * 1000, receivers=("a",) * 1000, parts=999)}, 2 * 10**9),
    "audit": ({"audit": auditing(senders=("a",) * 1000, receivers=("a",) * 500, cuts=CUTS)}, 10**9),
    "functional": ({"functional": tabulating(senders=("a",) * 1000, receivers=("a",) * 500, cuts=CUTS)}, 10**9),
    "pictures": ({"pictures": picturing(cuts=CUTS * 500, matchings=("direct",) * 1000)}, 10**9),
    "call": ({"call": (CallPart(function="f.py:f", grid={"x": LONG, "y": LONG}, seeds=LONG),)}, 10**9),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_of_a_thousand_million_jobs_is_counted_and_refused(name: str) -> None:
    """Nothing of it is looked up first: there is no file f.py, and no layer999."""
    parts, size = GRIDS[name]
    with pytest.raises(ExperimentError) as e:
        graph_of(study(**parts))
    assert f"asks for {size + 5:,} jobs, {size:,} of them in the 1st [[{name}]], and at most 1,000,000 can" in str(
        e.value
    )


def test_a_study_that_is_refused_for_its_size_leaves_no_store(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="can be planned at once"):
        run(study(**GRIDS["call"][0]), tmp_path / "store")
    assert list(tmp_path.iterdir()) == []


def test_many_seeds_of_a_network_are_counted_too() -> None:
    with pytest.raises(ExperimentError, match=r"1,000,003 jobs, 1,000,000 of them in \[models.a\]"):
        graph_of(study(network={"seeds": tuple(range(10**6))}))


@pytest.mark.slow
def test_equal_seeds_are_not_sought_among_all() -> None:
    """Of 20,000 seeds on each side 20,000 pairs meet: looking at every two would take minutes."""
    many = study(network={"seeds": tuple(range(20_000))})
    part = stitching(senders=("a",), receivers=("a",), pairing="matched")[0]
    assert sum(1 for _ in Expansion(many, Identities(MEMO)).pairs(part)) == 20_000


def test_statistics_that_adapt_go_with_task_matching_alone() -> None:
    with pytest.raises(
        ExperimentError, match=r"freeze = 'weights' works only with the matching 'task', and 'direct' is"
    ):
        graph_of(study(stitch=stitching(matchings=("task", "direct"), freeze=("all", "weights"))))


def test_a_stitch_needs_its_networks_and_a_loaded_one_needs_nothing() -> None:
    graph = graph_of(study(stitch=stitching(senders=("a/0", "theirs"), receivers=("b/1",), pairing="all")))
    trained = {str(job): job.key for job in of_kind(graph, "train")}
    first, second = of_kind(graph, "stitch")
    assert first.needs == (trained["train a 0"], trained["train b 1"])
    assert second.needs == (trained["train b 1"],)
    assert first.content["sender"] == {"trained": trained["train a 0"]}
    assert list(second.content["sender"]) == ["loaded"]
    assert second.where[f"model:{second.content['sender']['loaded']}"]["load"] == R


def test_the_receivers_own_samples_are_there_for_one_trained_here() -> None:
    """Its accuracy on what it was trained for, beside that on what is stitched on."""
    graph = graph_of(study(stitch=stitching(senders=("a/0",), receivers=("b/1", "theirs"), pairing="all")))
    trained, loaded = of_kind(graph, "stitch")
    assert trained.content["own"] != trained.content["test"]
    assert trained.where[f"data:{trained.content['own']}"]["name"] == "digits/colour"
    assert loaded.content["own"] is None


def test_the_same_asked_for_twice_is_done_once_and_told_once() -> None:
    once = graph_of(study(stitch=stitching()))
    twice = graph_of(study(stitch=(*stitching(seeds=(0, 0)), *stitching(senders=("a", "a/0")))))
    assert twice.goals == once.goals
    assert set(twice.jobs) == set(once.jobs)


def test_a_network_under_two_names_is_trained_once_and_told_under_both() -> None:
    models = {"one": Network(**NETWORK), "two": Network(**NETWORK)}
    graph = graph_of(study(models=models, compare=comparing(senders=("one",), receivers=("two",))))
    assert count(graph) == {"train": 2, "compare": 2}
    told = [labels["model"] for key, labels in graph.goals if graph.jobs[key].kind == "train"]
    assert sorted(told) == ["one", "one", "two", "two"]


# ---- controls


def test_a_control_for_each_stitch_and_once_where_the_sender_does_not_matter() -> None:
    asked = stitching(senders=("a", "theirs"), receivers=("b",), pairing="matched", controls=("self", "shuffled"))
    graph = graph_of(study(stitch=asked))
    # a0 → b0, a1 → b1, theirs → b0, theirs → b1; but `self` has to do with b0 and b1 alone.
    found = Counter(job.content["control"] for job in of_kind(graph, "control"))
    assert found == {"shuffled": 4, "self": 2}
    told = [labels for key, labels in graph.goals if graph.jobs[key].kind == "control"]
    assert Counter(labels["control"] for labels in told) == {"shuffled": 4, "self": 4}
    trained = {job.key for job in of_kind(graph, "train") if job.labels["model"] == "b"}
    assert all(set(job.needs) <= trained for job in of_kind(graph, "control") if job.content["control"] == "self")


def test_a_control_without_the_sender_does_not_depend_on_the_senders_cut_either() -> None:
    asked = stitching(cuts=("layer1 -> layer2", "layer3 -> layer2", "layer2"), controls=("self", "shifted_labels?k=2"))
    graph = graph_of(study(stitch=asked))
    assert Counter(job.content["control"] for job in of_kind(graph, "control")) == {"self": 2, "shifted_labels?k=2": 2}


def test_controls_differ_by_their_options() -> None:
    one, other = (keys(study(stitch=stitching(controls=(f"shifted_labels?k={k}",))), "control") for k in (1, 2))
    assert len(one) == len(other) == 2
    assert not one & other


# ---- activations that are shared


def activations(experiment: Experiment) -> list[str]:
    """Sender's seed and cut of each, once for fitting and once for scoring."""
    graph = graph_of(experiment)
    trained = {job.key: job.labels["seed"] for job in of_kind(graph, "train")}
    found = of_kind(graph, "activations")
    return sorted(f"{trained.get(job.content['model'].get('trained'))} {job.content['cut']}" for job in found)


def test_one_stitch_alone_computes_its_own() -> None:
    graph = graph_of(study(stitch=stitching()))
    assert count(graph) == {"train": 2, "stitch": 2}
    assert all(job.where["activations"] == {} for job in of_kind(graph, "stitch"))


@pytest.mark.parametrize(
    "asked",
    [
        {"matchings": ("task", "direct")},
        {"seeds": (0, 1)},
        {"stitches": ("auto", "conv")},
        {"cuts": ("layer1", "layer1 -> layer2")},
        {"receivers": ("a", "b")},
        {"matchings": ("task",), "freeze": ("all", "weights"), "seeds": (0, 1)},
    ],
)
def test_several_from_one_place_share_them(asked: dict[str, Any]) -> None:
    experiment = study(stitch=stitching(**asked))
    assert activations(experiment) == ["0 layer1", "0 layer1", "1 layer1", "1 layer1"]
    graph = graph_of(experiment)
    helpers = {job.key: job for job in of_kind(graph, "activations")}
    for job in of_kind(graph, "stitch"):
        shared = job.where["activations"]
        if job.content["freeze"] == "weights":
            assert shared == {}
            continue
        assert set(shared) == {"fit", "test"}
        assert set(shared.values()) <= set(job.needs)
        for role, key in shared.items():
            assert helpers[key].content["data"] == job.content[role]
            assert helpers[key].content["model"] == job.content["sender"]
            assert helpers[key].needs == (job.content["sender"]["trained"],)
    assert not set(helpers) & {key for key, _ in graph.goals}


@pytest.mark.parametrize(
    "asked",
    [
        {"cuts": ("layer1", "layer2")},
        {"cuts": ("layer1 -> layer2", "layer2")},
        {"freeze": ("weights",), "seeds": (0, 1)},
        {"freeze": ("all", "weights")},
        {"matchings": ("augmented",), "seeds": (0, 1)},
        {"matchings": ("augmented", "direct")},
    ],
)
def test_what_is_not_the_same_is_not_shared(asked: dict[str, Any]) -> None:
    ways = {"augmented": "task?augment=flip_crop"}
    assert activations(study(matchings=ways, stitch=stitching(**asked))) == []


def test_other_samples_are_not_shared() -> None:
    def both(**data: Any) -> tuple[StitchPart, ...]:
        return (*stitching(), *stitching(matchings=("direct",), data=Data(**{**DATA, **data})))

    assert len(activations(study(stitch=both()))) == 4
    assert activations(study(stitch=both(seed=1))) == []
    assert activations(study(stitch=both(name="digits/colour"))) == []
    # Fitted on others, but scored on the same.
    graph = graph_of(study(stitch=both(n=32)))
    assert [set(job.where["activations"]) for job in of_kind(graph, "stitch")] == [{"test"}] * 4
    assert len(of_kind(graph, "activations")) == 2


def test_a_loaded_senders_activations_are_shared_and_need_nothing() -> None:
    graph = graph_of(study(stitch=stitching(senders=("theirs",), receivers=("theirs",), seeds=(0, 1))))
    assert count(graph) == {"activations": 2, "stitch": 2}
    assert all(job.needs == () for job in of_kind(graph, "activations"))


def test_whether_activations_are_shared_is_no_part_of_a_stitchs_key() -> None:
    alone = keys(study(stitch=stitching()), "stitch")
    assert alone < keys(study(stitch=stitching(seeds=(0, 1))), "stitch")


# ---- comparisons


def test_a_comparison_in_one_part_is_one_job() -> None:
    graph = graph_of(study(compare=comparing()))
    assert count(graph) == {"train": 2, "compare": 2}


def test_a_comparison_in_parts_is_a_pass_for_each_and_one_that_merges() -> None:
    graph = graph_of(study(compare=comparing(parts=3, batch=16)))
    assert count(graph) == {"train": 2, "pass": 6, "compare": 2}
    for job in of_kind(graph, "compare"):
        passes = [graph.jobs[key] for key in job.where["passes"]]
        assert [one.content["part"] for one in passes] == [0, 1, 2]
        assert [one.labels["part"] for one in passes] == ["1/3", "2/3", "3/3"]
        assert set(job.where["passes"]) <= set(job.needs)
        assert all({**one.content, "part": None} == {**job.content, "part": None} for one in passes)
    assert not {job.key for job in of_kind(graph, "pass")} & {key for key, _ in graph.goals}


def test_more_parts_than_batches_are_refused() -> None:
    assert graph_of(study(compare=comparing(parts=4, batch=16)))
    with pytest.raises(ExperimentError) as e:
        graph_of(study(compare=comparing(parts=5, batch=16)))
    assert str(e.value) == (
        "Expected `parts` of a [[compare]] to be at most 4, the batches of 16 that its 64 samples make, but got 5."
    )


def test_cuts_of_either_side() -> None:
    def sides(**asked: Any) -> tuple[Any, Any]:
        content = of_kind(graph_of(study(compare=comparing(**asked))), "compare")[0].content
        return content["sender_cuts"], content["receiver_cuts"]

    assert sides() == (["layer1", "layer2"], ["layer1", "layer2"])
    assert sides(sender_cuts=("layer3",)) == (["layer3"], ["layer1", "layer2"])
    assert sides(cuts=(), receiver_cuts=("layer*",)) == (None, ["layer*"])


# ---- audits


def test_an_audit_for_each_pair_and_cut_with_others_that_are_neither_side() -> None:
    models = {"a": Network(**{**NETWORK, "seeds": (0, 1, 2)})}
    asked = auditing(senders=("a/0",), receivers=("a/1",), pairing="all", cuts=("layer1", "layer2"), others=("a",))
    graph = graph_of(study(models=models, audit=asked))
    assert count(graph) == {"train": 3, "audit": 2}
    trained = {job.labels["seed"]: job.key for job in of_kind(graph, "train")}
    for job in of_kind(graph, "audit"):
        assert job.content["others"] == [{"trained": trained[2]}]
        assert job.needs == (trained[0], trained[1], trained[2])


def test_a_conflict_set_is_of_the_test_split_and_takes_its_numbers_from_the_experiment() -> None:
    graph = graph_of(study(audit=auditing(conflict="digits/colour-only")))
    job = of_kind(graph, "audit")[0]
    assert job.where[f"data:{job.content['conflict']}"] == {
        "name": "digits/colour-only",
        "split": "test",
        "n": 64,
        "seed": 0,
    }


# ---- pictures


def test_pictures_for_each_pair_cut_and_matching() -> None:
    asked = picturing(cuts=("layer1 -> before:conv1", "layer2 -> before:conv1"), matchings=("direct", "task"), seed=3)
    graph = graph_of(study(pictures=asked))
    assert count(graph) == {"train": 2, "pictures": 2 * 2 * 2}
    trained = {job.labels["seed"]: job.key for job in of_kind(graph, "train")}
    first = of_kind(graph, "pictures")[0]
    assert first.needs == (trained[0], trained[1])
    assert first.content["images"] == 8
    assert first.labels == {
        "sender": "a",
        "sender_seed": 0,
        "receiver": "a",
        "receiver_seed": 1,
        "sender_cut": "layer1",
        "receiver_cut": "before:conv1",
        "matching": "direct",
        "stitch": "auto",
        "freeze": "all",
        "seed": 3,
        "data": "digits/digit",
    }
    assert {key for key, _ in graph.goals} == set(graph.jobs)


def test_more_pictures_than_there_are_samples_are_all_of_them() -> None:
    found = [keys(study(pictures=picturing(n=n)), "pictures") for n in (64, 65, 1000)]
    assert found[0] == found[1] == found[2]


AUTOENCODER = {
    **NETWORK,
    "train": "zoo:autoencoder?channels=3",
}


def test_pictures_of_autoencoders() -> None:
    models = {"a": Network(**AUTOENCODER)}
    graph = graph_of(study(models=models, pictures=picturing(cuts=("encoder",), matchings=("direct", "regression"))))
    assert count(graph) == {"train": 2, "pictures": 4}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"pictures": picturing(cuts=("layer1",))},
            "Expected [[pictures]] to have a receiver that answers with images of 1 or 3 channels, or a receiver's cut "
            "at which such an image arrives (`before:` its first layer), but it answers with 10, and at 'layer1' "
            "arrives 8x7x7.",
        ),
        (
            {
                "models": {"a": Network(**AUTOENCODER)},
                "pictures": picturing(cuts=("encoder",), matchings=("direct", "task")),
            },
            "The matching 'task' is for receivers that answer with scores of classes, and this one answers with "
            "images: take 'direct', 'regression', 'class_mapping' or 'embedding_mapping' for its [[pictures]].",
        ),
        (
            {"pictures": picturing(matchings=("embedding_mapping", "class_mapping"))},
            "The matching 'class_mapping' is for receivers that answer with images, and this one answers with 10: take "
            "'embedding_mapping', which needs no answer, for its [[pictures]].",
        ),
        (
            {"pictures": picturing(matchings=("direct",), receiver_data="digits/colour")},
            "The matching 'direct' depends on what both networks make of the same samples, and with `receiver_data` "
            "each has its own samples: take 'class_mapping' or 'embedding_mapping' for these [[pictures]].",
        ),
        (
            {
                "models": {"a": Network(**AUTOENCODER)},
                "matchings": {"m": "class_mapping?label_map=0,1"},
                "pictures": picturing(cuts=("encoder",), matchings=("m",)),
            },
            "Expected 'class_mapping' to pair each of the 10 classes of the sender's data with one of the 10 of the "
            "receiver's (0 … 9), but got label_map = [0, 1].",
        ),
        (
            {
                "models": {"a": Network(**NETWORK), "j": Network(load=f"{R}&classes=5")},
                "pictures": picturing(judge="j"),
            },
            "Expected the judge 'j' of a [[pictures]] to tell the 10 classes of digits/digit apart, but it knows 5.",
        ),
    ],
)
def test_pictures_where_there_is_nothing_to_see_are_refused_when_planned(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ExperimentError) as e:
        graph_of(study(**asked))
    assert str(e.value) == message


def test_pictures_of_two_data_sets() -> None:
    models = {"a": Network(**AUTOENCODER), "j": Network(**{**NETWORK, "seeds": (4, 1)})}
    ways = ("class_mapping", "embedding_mapping")
    own = Data(name="digits/greyscale", n=50, n_test=6)
    asked = picturing(cuts=("encoder",), matchings=ways, receiver_data=own, judge="j")
    graph = graph_of(study(models=models, pictures=asked))
    # The receiver of seed 1 has a judge of its seed, that of seed 0 the judge's first.
    assert count(graph) == {"train": 4, "pictures": 4}
    trained = {(job.labels["model"], job.labels["seed"]): job.key for job in of_kind(graph, "train")}
    for job in of_kind(graph, "pictures"):
        seed = 1 if job.labels["receiver_seed"] == 1 else 4
        assert job.content["judge"] == {"trained": trained["j", seed]}
        assert job.needs[-1] == trained["j", seed]
        assert job.where[f"data:{job.content['fit']}"]["name"] == "digits/digit"
        assert job.where[f"data:{job.content['receiver_fit']}"] == {
            "name": "digits/greyscale",
            "split": "train",
            "n": 50,
            "seed": 0,
        }
        assert job.where[f"data:{job.content['receiver_test']}"]["split"] == "test"
        # As many of the one as of the other.
        assert (job.content["n"], job.content["n_test"], job.content["images"]) == (50, 64, 6)
        assert (job.labels["receiver_data"], job.labels["judge"]) == ("digits/greyscale", "j")


def test_a_judge_of_one_seed_or_of_none() -> None:
    models = {"a": Network(**NETWORK), "j": Network(**{**NETWORK, "seeds": (4, 1)}), "theirs": Network(load=R)}
    one = graph_of(study(models=models, pictures=picturing(judge="j/4")))
    assert {str(job) for job in of_kind(one, "train")} == {"train a 0", "train a 1", "train j 4"}
    other = graph_of(study(models=models, pictures=picturing(judge="theirs")))
    assert count(other) == {"train": 2, "pictures": 2}
    assert all(f"model:{job.content['judge']['loaded']}" in job.where for job in of_kind(other, "pictures"))
    with pytest.raises(ExperimentError, match="There is no model 'jay'"):
        graph_of(study(models=models, pictures=picturing(judge="jay")))
    auto = {**models, "j": Network(**AUTOENCODER)}
    with pytest.raises(ExperimentError, match=r"zoo:autoencoder\?channels=3.* and not with classes"):
        graph_of(study(models=auto, pictures=picturing(judge="j")))


def test_judged_images_are_of_the_shape_of_the_receivers_samples(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n\n\ndef net():\n"
        "    return nn.Sequential(nn.Conv2d(3, 3, 4, 4), nn.Flatten(), nn.Linear(147, 10))\n"
    )
    models = {"mine": Network(load="mine.py:net")}
    asked = picturing(senders=("mine",), receivers=("mine",), cuts=("0",), judge="mine")
    with pytest.raises(ExperimentError, match="to be 3x28x28, as the receiver's samples are, but they are 3x7x7"):
        graph_of(study(models=models, pictures=asked, folder=tmp_path))


# ---- calls


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with a file of the user's own."""
    (tmp_path / "mine.py").write_text("def figures(**given):\n    return {'one': 1}\n\n\nother = figures\n")
    return tmp_path


def test_a_call_for_each_point_of_the_grid(mine: Path) -> None:
    call = CallPart(function="mine.py:figures", grid={"x": (1, 2), "y": ("u",)}, seeds=(0, 1), args={"deep": True})
    graph = graph_of(Experiment(name="calls", call=(call,), folder=str(mine)))
    assert [job.content["args"] for job in graph] == [
        {"deep": True, "x": x, "y": "u", "seed": seed} for x in (1, 2) for seed in (0, 1)
    ]
    first = next(iter(graph))
    assert first.labels == {"call": "mine.py:figures", "deep": True, "x": 1, "y": "u", "seed": 0}
    assert first.where == {"file": str((mine / "mine.py").resolve())}
    assert str(mine) not in str(first.content)


def test_a_call_without_a_grid_is_one_job(mine: Path) -> None:
    graph = graph_of(Experiment(name="calls", call=(CallPart(function="mine.py:figures"),), folder=str(mine)))
    assert [job.content["args"] for job in graph] == [{}]


def test_an_argument_that_is_given_twice(mine: Path) -> None:
    for grid, seeds, name in (({"x": (1,)}, (), "x"), ({}, (0,), "seed")):
        call = CallPart(function="mine.py:figures", grid=grid, seeds=seeds, args={name: 1})
        with pytest.raises(ExperimentError, match=f"The argument '{name}' of mine.py:figures is given twice"):
            graph_of(Experiment(name="calls", call=(call,), folder=str(mine)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("mine.py", "Expected a function as FILE.py:FUNCTION, but got 'mine.py'."),
        ("mine:figures", "Expected a function as FILE.py:FUNCTION, but got 'mine:figures'."),
        ("mine.py:figures()", "Expected a function as FILE.py:FUNCTION, but got 'mine.py:figures()'."),
        ("mine.py:figurs", "{0}/mine.py has no function 'figurs': did you mean 'figures'?"),
        ("mine.py:zzz", "{0}/mine.py has no function 'zzz': there are: figures, other."),
        ("mien.py:figures", "There is no file {0}/mien.py. In that folder there are: mine.py."),
    ],
)
def test_a_wrong_function(mine: Path, function: str, message: str) -> None:
    with pytest.raises(ExperimentError) as e:
        graph_of(Experiment(name="calls", call=(CallPart(function=function),), folder=str(mine)))
    assert str(e.value) == message.format(mine.resolve())


@pytest.mark.parametrize(
    "text",
    [
        "from os.path import join as figures",
        "figures = lambda: {}",
        "if True:\n    def figures(): pass",
        "class figures(dict): pass",
        "from somewhere import *",
        "def figures(): return '\\d'",
        "raise SystemExit('planning does not run it')\ndef figures(): pass",
    ],
)
def test_a_function_may_come_about_in_any_way_and_planning_runs_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert len(graph_of(Experiment(name="c", call=(CallPart(function="mine.py:figures"),), folder=str(tmp_path)))) == 1


def test_a_file_that_is_not_python(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def figures(:\n    pass")
    with pytest.raises(ExperimentError, match=r"mine.py is not Python: invalid syntax .*line 1"):
        graph_of(Experiment(name="c", call=(CallPart(function="mine.py:figures"),), folder=str(tmp_path)))


# ---- wrong words, told when it is planned


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"stitch": stitching(senders=("aa",))}, ExperimentError, "There is no model 'aa': did you mean 'a'?"),
        ({"stitch": stitching(senders=("a/7",))}, ExperimentError, "The model 'a' has no seed '7': it has 0, 1."),
        ({"compare": comparing(receivers=("thiers",))}, ExperimentError, "did you mean 'theirs'?"),
        ({"audit": auditing(others=("bb",))}, ExperimentError, "There is no model 'bb': did you mean 'b'?"),
        ({"stitch": stitching(cuts=("layer11",))}, CutError, "did you mean 'layer1'"),
        ({"stitch": stitching(cuts=("layer1 -> layr2",))}, CutError, "did you mean 'layer2'"),
        ({"stitch": stitching(cuts=("layer1 ->",))}, ExperimentError, "Expected cuts as NAME, or SENDER'S -> "),
        ({"audit": auditing(cuts=("layer11",))}, CutError, "did you mean 'layer1'"),
        ({"pictures": picturing(cuts=("layer1 -> before:conv11",))}, CutError, "did you mean 'before:conv1'"),
        ({"pictures": picturing(stitch="afine")}, ExperimentError, "There is no stitch 'afine': did you mean"),
        ({"pictures": picturing(matchings=("dirct",))}, ExperimentError, "did you mean 'direct'"),
        ({"compare": comparing(cuts=("layer11",))}, CutError, "did you mean 'layer1'"),
        ({"compare": comparing(receiver_cuts=("layr2",))}, CutError, "did you mean 'layer2'"),
        ({"compare": comparing(sender_cuts=("layr*",))}, CutError, "No cut matches 'layr*': did you mean 'layer"),
        ({"stitch": stitching(matchings=("tsk",))}, ExperimentError, "no matching 'tsk': did you mean 'task'?"),
        ({"audit": auditing(matching="diect")}, ExperimentError, "no matching 'diect': did you mean 'direct'?"),
        ({"stitch": stitching(stitches=("afine",))}, ExperimentError, "no stitch 'afine': did you mean 'affine'"),
        ({"audit": auditing(stitch="afine")}, ExperimentError, "no stitch 'afine': did you mean 'affine'"),
        (
            {"stitch": stitching(controls=("shuffeled",))},
            ExperimentError,
            "no control 'shuffeled'",
        ),
        (
            {"stitch": stitching(controls=("shifted_labels?j=1",))},
            ExperimentError,
            "The control 'shifted_labels' has no option 'j'",
        ),
        ({"stitch": stitching(controls=("other_seed",))}, ExperimentError, "a [[stitch]] with pairing = 'others'."),
        ({"audit": auditing(controls=("slef",))}, ExperimentError, "There is no control 'slef': did you mean 'self'"),
        ({"audit": auditing(audits=("rnak",))}, ExperimentError, "There is no audit 'rnak': did you mean 'rank'"),
        ({"audit": auditing(mixtures=("rectangel",))}, ExperimentError, "did you mean 'rectangle'"),
        ({"audit": auditing(interventions=("hue_rotatoin",))}, ExperimentError, "did you mean 'hue_rotation'"),
        ({"compare": comparing(measures=("linear_cak",))}, MeasureError, "did you mean 'linear_cka'"),
        ({"compare": comparing(measures=("linear_cka", "svcca?dms=2"))}, MeasureError, "did you mean 'dims'?"),
        (
            {"network": {"train": "zoo:R_111x"}, "stitch": stitching()},
            ExperimentError,
            "There is no zoo network 'R_111x': did",
        ),
        ({"network": {"train": "R_1111?widht=2"}, "stitch": stitching()}, ExperimentError, "width"),
        ({"network": {"data": "digits/digt"}, "stitch": stitching()}, DataError, "did you mean 'digits/digit'"),
        ({"data": {"name": "digts/digit"}, "stitch": stitching()}, DataError, "did you mean 'digits/digit'"),
        ({"audit": auditing(conflict="digits/colour-onyl")}, DataError, "did you mean 'digits/colour-only'"),
    ],
)
def test_a_wrong_word_is_told_when_it_is_planned(
    asked: dict[str, Any], error: type[SeamripperError], message: str
) -> None:
    with pytest.raises(error) as e:
        graph_of(study(**asked))
    assert type(e.value) is error
    assert message in str(e.value)


def test_what_is_wrong_is_not_remembered_as_right() -> None:
    memo: dict[str, Any] = {}
    wrong = study(compare=comparing(measures=("linear_cak",)))
    for _ in range(2):
        with pytest.raises(MeasureError, match="linear_cak"):
            expand(wrong, Identities(memo))


def test_a_part_without_samples() -> None:
    with pytest.raises(ExperimentError, match=r"Expected an \[\[audit\]\] or the experiment to have `data`"):
        graph_of(Experiment(name="x", models={"t": Network(load=R)}, audit=auditing(senders=("t",), receivers=("t",))))


# ---- which words decide a result

EVERYTHING: dict[str, Any] = {
    "stitch": stitching(controls=("self", "shuffled"), seeds=(0, 1)),
    "compare": comparing(parts=2, batch=16),
    "audit": auditing(),
    "pictures": picturing(),
}

TRAINED = [
    {"train": "zoo:R_1111?width=0.25"},
    {"train": "zoo:lenet?channels=3"},
    {"data": "digits/colour"},
    {"n": 65},
    {"n": None},
    {"seeds": (2, 3)},
    {"training": "?epochs=1&optimiser=adam"},
    {"training": "?epochs=1&lr=0.05"},
    {"training": "?epochs=1&momentum=0.8"},
    {"training": "?epochs=1&weight_decay=0.0"},
    {"training": "?epochs=1&batch=32"},
    {"training": "?epochs=2"},
    {"training": "?epochs=1&schedule=cosine"},
    {"training": "balogh?epochs=1"},
]


@pytest.mark.parametrize("change", TRAINED, ids=str)
def test_every_part_of_a_training_decides(change: dict[str, Any]) -> None:
    base, changed = study(), study(network=change)
    only = {name: {"a": e.models["a"]} for name, e in (("base", base), ("changed", changed))}
    one, other = (keys(study(models=models), "train") for models in only.values())
    assert len(one) == len(other) == 2
    assert not one & other


def test_another_training_makes_other_jobs_of_all_that_use_it() -> None:
    asked: dict[str, Any] = {
        "stitch": stitching(controls=("self", "shuffled"), seeds=(0, 1)),
        "compare": comparing(parts=2, batch=16),
        "audit": auditing(),
        "pictures": picturing(),
    }
    one, other = graph_of(study(**asked)), graph_of(study(network={"training": "?epochs=1&lr=0.01"}, **asked))
    assert count(one) == count(other)
    assert not set(one.jobs) & set(other.jobs)


OPTIONS = [
    "init=identity",
    "loss=bce",
    "label_map=9,8,7,6,5,4,3,2,1,0",
    "augment=flip_crop",
    "optimise=False",
    "optimiser=sgd",
    "lr=0.01",
    "momentum=0.5",
    "weight_decay=0.0",
    "epochs=3",
    "batch=32",
    "l1=0.1",
    "schedule=cosine",
    "warmup=0.2",
]
STITCHED: list[dict[str, Any]] = [
    {"threads": 2},
    {"data": {"n": 65}},
    {"data": {"n_test": 65}},
    {"data": {"seed": 1}},
    {"data": {"name": "digits/colour"}},
    {"stitch": stitching(seeds=(1,))},
    {"stitch": stitching(cuts=("layer2",))},
    {"stitch": stitching(cuts=("layer1 -> layer2",))},
    {"stitch": stitching(cuts=("layer2 -> layer1",))},
    {"stitch": stitching(stitches=("affine",))},
    {"stitch": stitching(freeze=("weights",))},
    {"stitch": stitching(matchings=("direct",))},
    {"stitch": stitching(matchings=("regression",))},
    {"stitch": stitching(pairing="matched")},
    {"stitch": stitching(data="digits/colour")},
    *({"matchings": {"task": f"task?{option}"}} for option in OPTIONS),
]


@pytest.mark.parametrize("change", STITCHED, ids=str)
def test_every_part_of_a_stitch_decides(change: dict[str, Any]) -> None:
    one, other = (keys(study(**{"stitch": stitching(), **c}), "stitch") for c in ({}, change))
    assert len(one) == len(other) == 2
    assert not one & other


@pytest.mark.parametrize("change", [c for c in STITCHED if c.get("data") != {"name": "digits/colour"}], ids=str)
def test_every_part_of_a_stitch_decides_its_controls(change: dict[str, Any]) -> None:
    """But for what the sender is, which `self` has nothing to do with."""
    base = study(stitch=stitching(controls=("self",)))
    part = change.get("stitch", stitching())[0].model_copy(update={"controls": ("self",)})
    one, other = keys(base, "control"), keys(study(**{**change, "stitch": (part,)}), "control")
    assert len(one) == len(other) == 2
    apart = part.pairing == "others" and part.cuts != ("layer2 -> layer1",)
    assert one == other if not apart else not one & other


@pytest.mark.parametrize(
    "change",
    ["form=orthogonal", "ridge=0.1", "form=reduced_rank&rank=2", "rtol=0.1", "batch=32"],
)
def test_every_option_of_direct_matching_decides(change: str) -> None:
    asked = stitching(matchings=("direct",))
    one, other = (
        keys(study(stitch=asked, matchings={"direct": f"direct?{options}"}), "stitch") for options in ("", change)
    )
    assert not one & other


COMPARED = [
    {"cuts": ("layer1",)},
    {"cuts": ()},
    {"sender_cuts": ("layer1",)},
    {"receiver_cuts": ("layer1",)},
    {"measures": ("linear_cka", "svcca")},
    {"measures": ("svcca?dims=3",)},
    {"sampling": "flatten"},
    {"split": "train"},
    {"parts": 2, "batch": 16},
    {"batch": 17},
    {"keep": 10},
    {"folds": 4},
    {"interval": False},
    {"exact": True},
    {"seed": 1},
    {"pairing": "matched"},
    {"data": Data(**{**DATA, "seed": 5})},
]


@pytest.mark.parametrize("change", COMPARED, ids=str)
def test_every_part_of_a_comparison_decides(change: dict[str, Any]) -> None:
    batch = {"batch": 16} if "parts" in change else {}
    one = keys(study(compare=comparing(**batch)), "compare")
    other = keys(study(compare=comparing(**change)), "compare")
    assert len(one) == len(other) == 2
    assert not one & other
    assert not one & keys(study(threads=2, compare=comparing()), "compare")


def test_passes_of_other_numbers_of_parts_are_not_mixed() -> None:
    two, four = (keys(study(compare=comparing(batch=16, parts=parts)), "pass") for parts in (2, 4))
    assert (len(two), len(four)) == (4, 8)
    assert not two & four


AUDITED = [
    {"cuts": ("layer2",)},
    {"cuts": ("layer1 -> layer2",)},
    {"cuts": ("layer2 -> layer1",)},
    {"pairing": "matched"},
    {"matching": "direct"},
    {"stitch": "affine"},
    {"freeze": "weights"},
    {"conflict": "digits/colour-only"},
    {"interventions": ("greyscale",)},
    {"interventions": ()},
    {"mixtures": ("centre",)},
    {"mixtures": ()},
    {"controls": ("self",)},
    {"audits": ("rank",)},
    {"seeds": (0, 1)},
    {"others": ("b",)},
    {"data": Data(**{**DATA, "n_test": 65})},
]


@pytest.mark.parametrize("change", AUDITED, ids=str)
def test_every_part_of_an_audit_decides(change: dict[str, Any]) -> None:
    one, other = keys(study(audit=auditing()), "audit"), keys(study(audit=auditing(**change)), "audit")
    assert len(one) == len(other) == 2
    assert not one & other


PICTURED = [
    {"cuts": ("layer2 -> before:conv1",)},
    {"pairing": "matched"},
    {"matchings": ("regression",)},
    {"stitch": "resize"},
    {"seed": 1},
    {"n": 9},
    {"data": Data(**{**DATA, "n_test": 65})},
    {"data": Data(**{**DATA, "n": 65})},
    {"judge": "b"},
]


@pytest.mark.parametrize("change", PICTURED, ids=str)
def test_every_part_of_pictures_decides(change: dict[str, Any]) -> None:
    one, other = (keys(study(pictures=picturing(**c)), "pictures") for c in ({}, change))
    assert len(one) == len(other) == 2
    assert not one & other


def test_the_receivers_own_samples_decide() -> None:
    """Even if they are the sender's: rows of the two do not belong together."""
    every = [
        {},
        {"receiver_data": "digits/digit"},
        {"receiver_data": "digits/colour"},
        {"receiver_data": Data(name="digits/colour", n=65, n_test=64)},
        {"receiver_data": Data(name="digits/colour", n=64, n_test=65)},
    ]
    found = [keys(study(pictures=picturing(matchings=("embedding_mapping",), **one)), "pictures") for one in every]
    assert len(set.union(*found)) == 2 * len(every)


def test_every_part_of_a_call_decides(mine: Path) -> None:
    def key(function: str = "mine.py:figures", threads: int = 1, **args: Any) -> str:
        call = CallPart(function=function, args=args)
        graph = graph_of(Experiment(name="calls", threads=threads, call=(call,), folder=str(mine)))
        return next(iter(graph)).key

    found = [key(), key("mine.py:other"), key(threads=2), key(x=1), key(x=2), key(x=1.0), key(x=True), key(y=1)]
    assert len(set(found)) == len(found)
    # An argument, an axis of the grid and a seed are the same to the function.
    by_seed = CallPart(function="mine.py:figures", seeds=(3,))
    by_grid = CallPart(function="mine.py:figures", grid={"seed": (3,)})
    graph = graph_of(Experiment(name="calls", call=(by_seed, by_grid), folder=str(mine)))
    assert list(graph.jobs) == [key(seed=3)]


FIELDS = {
    "train": "architecture training seed data test n threads",
    "activations": "model cut data n threads",
    "stitch": "sender sender_cut receiver receiver_cut fit test own n n_test stitch matching freeze seed threads",
    "control": "sender sender_cut receiver receiver_cut fit test n n_test stitch matching freeze seed threads control",
    "pass": "sender receiver sender_cuts receiver_cuts measures data n rule parts threads part",
    "compare": "sender receiver sender_cuts receiver_cuts measures data n rule parts threads",
    "audit": "sender sender_cut receiver receiver_cut others fit test n n_test conflict matching stitch freeze "
    "interventions mixtures controls audits seeds threads",
    "pictures": "sender sender_cut receiver receiver_cut fit test n n_test images stitch matching seed threads",
}


def test_a_content_has_all_that_decides_and_nothing_else() -> None:
    graph = graph_of(study(**EVERYTHING))
    assert {job.kind: set(job.content) for job in graph} == {kind: set(said.split()) for kind, said in FIELDS.items()}
    for job in of_kind(graph, "train"):
        assert job.where[f"data:{job.content['data']}"]["split"] == "train"
        assert job.where[f"data:{job.content['test']}"]["split"] == "test"


def test_threads_decide_even_where_nothing_is_trained() -> None:
    """Sums that are added up in another order differ in the last digits."""
    pair: dict[str, Any] = {"senders": ("theirs",), "receivers": ("theirs",)}
    asked = {name: (part[0].model_copy(update=pair),) for name, part in EVERYTHING.items()}
    one, two = (graph_of(study(threads=threads, **asked)) for threads in (1, 2))
    every = {"activations": 2, "stitch": 2, "control": 4, "pass": 2, "compare": 1, "audit": 1, "pictures": 1}
    assert count(one) == count(two) == every
    assert not set(one.jobs) & set(two.jobs)


# ---- which words decide nothing


@pytest.mark.parametrize(
    "change",
    [
        {"name": "another"},
        {"about": "in other words"},
        {"resources": Resources(gpus=0.5)},
        {"matchings": {"unused": "direct"}},
        {"network": {"train": "R_1111?width=0.125"}},
        {"network": {"train": "zoo:R_1111?classes=10&width=0.125"}},
        {"network": {"training": "smith?epochs=1"}},
        {"network": {"training": "?optimiser=sgd&lr=0.1&momentum=0.9&weight_decay=1e-4&batch=128&epochs=1"}},
        {"network": {"seeds": (1, 0)}},
        {"data": {"seed": 0}},
        {"matchings": {"task": "task"}},
        {
            "matchings": {
                "task": "task?init=random&loss=cross_entropy&augment=none&optimise=True&optimiser=adam&lr=1e-3"
                "&momentum=0.9&weight_decay=1e-5&epochs=10&batch=256&l1=0&schedule=constant&warmup=0.0"
            }
        },
    ],
    ids=str,
)
def test_labels_and_defaults_written_out_decide_nothing(change: dict[str, Any]) -> None:
    base = graph_of(study(**EVERYTHING))
    again = graph_of(study(**{**EVERYTHING, **change}))
    shared = {"train": 2, "activations": 4, "pass": 4}
    assert count(base) == {**shared, "stitch": 4, "control": 8, "compare": 2, "audit": 2, "pictures": 2}
    assert set(again.jobs) == set(base.jobs)


def test_another_name_for_a_model_or_a_matching_decides_nothing() -> None:
    base = graph_of(study(**EVERYTHING))
    renamed = {"senders": ("digit",), "receivers": ("digit",)}
    again = graph_of(
        study(
            models={"digit": Network(**NETWORK)},
            matchings={"mine": "task"},
            stitch=(EVERYTHING["stitch"][0].model_copy(update={**renamed, "matchings": ("mine",)}),),
            compare=(EVERYTHING["compare"][0].model_copy(update=renamed),),
            audit=(EVERYTHING["audit"][0].model_copy(update=renamed),),
            pictures=(EVERYTHING["pictures"][0].model_copy(update=renamed),),
        )
    )
    assert set(again.jobs) == set(base.jobs)
    assert {labels["matching"] for _, labels in again.goals if "control" in labels} == {"mine"}


def test_another_name_for_the_same_samples_decides_nothing() -> None:
    one, other = (
        keys(study(data={"name": name}, stitch=stitching()), "stitch") for name in ("digits", "digits/greyscale")
    )
    assert one == other


def test_more_samples_than_there_are_are_all_of_them() -> None:
    found = [keys(study(data={"n": n}, stitch=stitching()), "stitch") for n in (None, 1437, 5000)]
    assert found[0] == found[1] == found[2]


def test_the_order_in_which_a_grid_is_written_decides_nothing() -> None:
    one, other = (
        set(graph_of(study(stitch=stitching(cuts=cuts, seeds=seeds, matchings=ways))).jobs)
        for cuts, seeds, ways in (
            (("layer1", "layer2"), (0, 1), ("task", "direct")),
            (("layer2", "layer1"), (1, 0), ("direct", "task")),
        )
    )
    assert one == other


def test_defaults_of_comparisons_and_audits_written_out() -> None:
    from seamripper.audits.base import DEFAULT_CONTROLS
    from seamripper.comparing import batch_for

    defaults: dict[str, Any] = {"sampling": "positions", "split": "test", "parts": 1, "keep": 1000, "folds": 5}
    whole = {**defaults, "measures": ("linear_cka",), "interval": True, "exact": False, "seed": 0}
    batch = batch_for(64, 5)
    assert keys(study(compare=comparing()), "compare") == keys(
        study(compare=comparing(**whole, batch=batch)), "compare"
    )
    audit = {"stitch": "auto", "freeze": "all", "audits": ("all",), "seeds": (0, 1, 2), "controls": DEFAULT_CONTROLS}
    assert keys(study(audit=auditing()), "audit") == keys(study(audit=auditing(**audit)), "audit")


def test_the_whole_recipe_and_matching_are_in_the_content() -> None:
    """What is not given may have another value in another version, and is then another job."""
    from seamripper.matching import Task
    from seamripper.models import Training

    graph = graph_of(study(stitch=stitching()))
    assert of_kind(graph, "train")[0].content["training"] == {**Training.make("smith").as_record(), "epochs": 1}
    matching = of_kind(graph, "stitch")[0].content["matching"]
    assert set(matching["training"]) == set(Task().as_record()["training"])
    encoder = {"e": Network(train="zoo:autoencoder?channels=3", data="digits", n=64)}
    found = of_kind(graph_of(study(models=encoder)), "train")[0].content["training"]
    assert found == Training.make("autoencoder").as_record()
    assert found != Training.make("smith").as_record()


def test_a_learning_rate_by_cut_takes_the_place_of_the_matching_s() -> None:
    words = ("task?lr=0.02&epochs=1", "task?lr=0.01&epochs=2")
    joined: dict[str, Any] = {"cuts": ("layer1", "layer1 -> layer2"), "matchings": words}
    part = StitchPart(senders=("net/0",), receivers=("net/1",), pairing="all", rates={"layer2": 0.05}, **joined)
    study = Experiment(name="rates", data=Data(**DATA), models={"net": Network(**NETWORK)}, stitch=(part,))
    told = {
        (job.content["receiver_cut"], job.labels["matching"]): job.content["matching"]["training"]["lr"]
        for job in of_kind(graph_of(study), "stitch")
    }
    assert told == {("layer1", words[0]): 0.02, ("layer1", words[1]): 0.01} | {("layer2", w): 0.05 for w in words}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"rates": {"layer3": 0.1}}, "There is a rate for 'layer3', which is no cut here: did you mean 'layer1'"),
        ({"rates": {"layer1": 0.1}, "matchings": ("direct",)}, "'direct' is not trained"),
        ({"rates": {"layer1": 0.1}, "matchings": ("task?rates=0.1,0.2",)}, "'task' chooses its own"),
    ],
)
def test_a_rate_that_can_change_nothing_is_refused(more: dict[str, Any], message: str) -> None:
    plain = {"senders": ("net/0",), "receivers": ("net/1",), "pairing": "all", "cuts": ("layer1",)}
    part = StitchPart(**{**plain, **more})
    study = Experiment(name="rates", data=Data(**DATA), models={"net": Network(**NETWORK)}, stitch=(part,))
    with pytest.raises(ExperimentError, match=message):
        graph_of(study)
