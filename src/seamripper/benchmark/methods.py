"""How the ratings of a league were made, for their methods cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seamripper.benchmark.base import BenchTest
from seamripper.benchmark.bench_set import BenchSet, samples_of
from seamripper.cards import method_record, version_words
from seamripper.experiment.methods import study_words

COST = "cost"
"""What stands for a test in the rows of what a pair of layers took."""


def league_method(
    bench_set: BenchSet,
    studies: Sequence[Mapping[str, Any]],
    *,
    tests: Sequence[BenchTest],
    words: Sequence[str],
    sampling: str,
) -> dict[str, Any]:
    """All that decides the ratings of a league. Each test has a study, whose fingerprint covers all of its jobs."""
    return method_record(
        "seamripper.benchmark.bench",
        models=bench_set.model_dump(mode="json", exclude={"folder"}),
        **{f"study {test.name}": dict(study) for test, study in zip(tests, studies, strict=True)},
        cut=list(bench_set.cuts) or "behind each block",
        n=samples_of(bench_set.data).n_test,
        sampling=sampling,
        pooling="mean over positions or tokens" if sampling == "pool" else "none",
        mask="tokens that are padding make no row",
        estimator={
            "measures": list(words),
            "tests": [test.as_record() for test in tests],
            "interval": "95 %, over training seeds",
        },
        null="permutations; p adjusted for the number of measures by Holm's method",
        versions=studies[-1]["versions"],
    )


def league_sentences(name: str, method: Mapping[str, Any]) -> list[str]:
    """How the ratings were made, from the method of a league."""
    studies = [study_words(part) for role, part in method.items() if role.startswith("study ")]
    measures = method["estimator"]["measures"]
    return [
        f"It is a rating of the league {name!r}, read from the results of {', '.join(studies)}.",
        f"{len(measures)} measures were rated: {', '.join(measures)} (sampling {method['sampling']!r}).",
        "Intervals of 95 % are over training seeds; p is by permutation, and p_holm is adjusted for the number of "
        "measures.",
        version_words(method["versions"]),
    ]
