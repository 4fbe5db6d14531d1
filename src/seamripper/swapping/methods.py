"""How the figures of a swap were made, for their methods cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.cards import data_words, method_record, model_words, version_words

TEST, CURVE, CHOICE, COST = "test", "learning curve", "samples that choose", "cost"
PARTS = {
    TEST: "The figure is of the test samples, on which nothing was fitted or chosen.",
    CURVE: "The chosen cuts and matching were fitted on so many samples, and tested on the test samples.",
    CHOICE: "The loss is of the samples that choose between stitches.",
    COST: "It is of the whole network, per sample where it is not of its parameters.",
    "penalty": "penalty is error(joined) − error(old) on the same samples, with Tango's score interval; p is that of "
    "'worse by the tolerance or more'.",
    "flips": "flips is how many answers of the joined network are not those of the old one.",
}


def swap_method(record: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides the figures of a swap, from its record."""
    roles = ("old", "new")
    return method_record(
        "seamripper.swapping.swap",
        **{role: record[role] for role in roles},
        **record["data"],
        cut={role: chosen[f"{role}_cut"]["name"] for role in roles},
        n=record["test"],
        sampling="none: answers of the networks",
        pooling=None,
        mask="tokens that are padding are left out",
        estimator={**record["request"], "stitch": chosen["stitch"], "matching": chosen["matching"]},
        null=f"two one-sided tests against ± {record['request']['tolerance']:g}",
        versions=record["versions"],
    )


def swap_sentences(record: Mapping[str, Any], chosen: Mapping[str, Any]) -> list[str]:
    """How the stitches were fitted, chosen and tested, from the record of a verdict."""
    data = record["data"]
    new, old = (model_words(record[role], chosen[f"{role}_cut"]["name"]) for role in ("new", "old"))
    return [
        f"The front of {new} was joined to the back of {old} by the stitch {chosen['stitch']['name']!r}, found by the "
        f"matching {chosen['matching']['name']!r}.",
        f"Of {data_words(data['fit'], data['fit']['n'])}, {record['fitted']:,} were to fit stitches on and "
        f"{record['choice']:,} to choose between them, dealt by seed {record['request']['seed']}; the test is on "
        f"{data_words(data['test'], record['test'])}.",
        version_words(record["versions"]),
    ]
