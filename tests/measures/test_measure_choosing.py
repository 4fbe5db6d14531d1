"""Choosing measures in groups."""

from __future__ import annotations

from seamripper.measures import choose_measures, measures


def test_all_is_every_variant_and_groups_are_its_parts() -> None:
    every = choose_measures(["all"])
    assert {m.name for m in every} == set(measures)
    assert len({m.label for m in every}) == len(every) > len(measures)
    parts = [choose_measures([word]) for word in ("moments", "batches", "rows")]
    assert all(parts)
    assert sorted(m.label for part in parts for m in part) == sorted(m.label for m in every)
    for word, part in zip(("moments", "batches", "rows"), parts, strict=True):
        assert {m.claims.needs for m in part} == {word}
    assert choose_measures(["opd,all"])[0].label == "opd"
    assert len(choose_measures(["all", "all,rows"])) == len(every)
