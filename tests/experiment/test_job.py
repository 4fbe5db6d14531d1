"""Jobs are known by their content, and a graph puts each behind what it needs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from seamripper.errors import ExperimentError
from seamripper.experiment import job as job_module
from seamripper.experiment.job import Graph, Job, canonical, decides, digest

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def job(name: str, *needs: Job, labels: dict[str, Any] | None = None) -> Job:
    return Job("call", {"name": name}, labels or {"call": name}, tuple(need.key for need in needs))


def names(jobs: Any) -> list[str]:
    return [one.content["name"] for one in jobs]


# ---- keys


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_the_order_of_keys_is_no_part_of_a_content(content: dict[str, Any]) -> None:
    turned = dict(reversed(content.items()))
    assert Job("call", content).key == Job("call", turned).key
    assert json.loads(canonical(content)) == content


def test_a_key_is_sha256_and_does_not_change_with_the_process() -> None:
    """Made with nothing of ours: a store that was filled last year is to be known again."""
    import hashlib
    from importlib.metadata import version

    torch = version("torch").partition("+")[0]
    text = (
        '{"content":{"a":[1,2.5,null,true,"\\u00e9"]},"decides":{"seamripper":'
        + str(job_module.NUMBERS)
        + ',"torch":"'
        + torch
        + '"},"kind":"call"}'
    )
    assert Job("call", {"a": (1, 2.5, None, True, "é")}).key == hashlib.sha256(text.encode()).hexdigest()


def test_what_decides_and_what_does_not() -> None:
    one = Job("call", {"x": 1}, {"model": "a"}, ("n",), {"file": "/a"})
    assert one.key == Job("call", {"x": 1}).key
    assert one.key == Job("call", {"x": 1}, {"model": "b"}, ("m",), {"file": "/b"}).key
    others = [("train", {"x": 1}), ("call", {"x": 2}), ("call", {"y": 1}), ("call", {"x": 1, "y": None})]
    others += [("call", {"x": True}), ("call", {"x": 1.0}), ("call", {"x": "1"}), ("call", {"x": [1]})]
    keys = {Job(kind, content).key for kind, content in others}
    assert len(keys) == len(others)
    assert one.key not in keys


def test_other_numbers_are_other_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes what results come out as raises NUMBERS."""
    before = Job("call", {"x": 1}).key
    monkeypatch.setattr(job_module, "NUMBERS", job_module.NUMBERS + 1)
    decides.cache_clear()
    try:
        assert Job("call", {"x": 1}).key != before
    finally:
        monkeypatch.undo()
        decides.cache_clear()
    assert Job("call", {"x": 1}).key == before


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_a_number_has_no_key(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"x": value})


def test_a_job_is_told_by_its_labels() -> None:
    labels = {"sender": "a", "sender_seed": 3, "receiver": "b", "sender_cut": "layer1", "seed": 0, "control": None}
    assert str(Job("stitch", {}, labels)) == "stitch a b layer1 0"
    assert str(Job("train", {})) == "train"


# ---- graphs


def test_each_job_stands_behind_what_it_needs() -> None:
    a = job("a")
    b = job("b", a)
    c = job("c", a, b)
    graph = Graph.of([c, a], [b])
    assert names(graph) == ["a", "b", "c"]
    assert len(graph) == 3
    assert [key for key, _ in graph.goals] == [c.key, a.key]
    assert graph.users() == {a.key: {b.key, c.key}, b.key: {c.key}, c.key: set()}


def test_what_helps_one_goal_stands_right_before_it() -> None:
    helpers = [job("h1"), job("h2")]
    goals = [job("g1", helpers[0]), job("g2", helpers[1])]
    assert names(Graph.of(goals, helpers)) == ["h1", "g1", "h2", "g2"]


def test_a_job_asked_for_under_two_labels_is_one_job_and_two_goals() -> None:
    one, other = job("a", labels={"sender": "x"}), job("a", labels={"sender": "y"})
    graph = Graph.of([one, other])
    assert len(graph) == 1
    assert graph.goals == ((one.key, {"sender": "x"}), (one.key, {"sender": "y"}))


def test_a_job_asked_for_twice_in_the_same_words_is_one_goal() -> None:
    graph = Graph.of([job("a"), job("b"), job("a")])
    assert [labels["call"] for _, labels in graph.goals] == ["a", "b"]


def test_a_need_that_is_not_there_is_told() -> None:
    missing = job("missing")
    with pytest.raises(ExperimentError, match=rf"The job call a needs a job that is not .*{missing.key[:12]}"):
        Graph.of([job("a", missing)])


def test_what_is_still_needed() -> None:
    a, b = job("a"), job("b")
    helper = job("helper", a)
    goal, other = job("goal", helper, b), job("other", helper)
    graph = Graph.of([a, b, goal, other], [helper])

    def needed(*done: Job) -> list[str]:
        return names(graph.remaining(frozenset(one.key for one in done)).values())

    assert needed() == ["a", "b", "helper", "goal", "other"]
    assert needed(a, b, helper) == ["goal", "other"]
    # A helper that is gone is made again for the one that is left, and with it nothing that is there.
    assert needed(a, b, goal) == ["helper", "other"]
    # ... and not for those that are done.
    assert needed(a, b, goal, other) == []
    assert needed(goal, other) == ["a", "b"]
    assert needed(a, b, helper, goal, other, job("of another study")) == []
