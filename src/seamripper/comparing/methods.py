"""How scores of a comparison and differences of two checkpoints were made, for their methods cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper._words import shape_text
from seamripper.cards import data_words, method_record, model_words, version_words
from seamripper.measures.base import FUNCTIONAL, measures
from seamripper.measures.pair import FOLDS
from seamripper.measures.score import claims_of
from seamripper.models.running import versions

SAMPLINGS = {
    "positions": "Each position of a map and each token is one row (sampling 'positions'); the sender's map is resized "
    "to the receiver's grid.",
    "pool": "Each sample is one row, the mean over the positions of its map or over its tokens (sampling 'pool').",
    "flatten": "Each sample is one row, its map flattened (sampling 'flatten').",
}
"""What a sampling is, in a sentence."""
POOLING = {"positions": "none", "pool": "mean over positions or tokens", "flatten": "none, flattened"}


def comparison_method(record: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides the scores of a comparison, from its record."""
    rule = dict(record["rule"])
    interval = f"95 %, over {rule['folds']} folds of samples" if rule["interval"] else None
    roles = ("sender", "receiver")
    return method_record(
        "seamripper.compare",
        **{role: dict(record[role]) for role in roles},
        data=dict(record["data"]),
        cut={role: [cut["name"] for cut in record[role]["cuts"]] for role in roles},
        n=record["n"],
        sampling=rule["sampling"],
        pooling=POOLING[rule["sampling"]],
        mask="tokens that are padding make no row" if record.get("padded") else None,
        estimator={"rule": rule, "interval": interval, "precision": record["dtype"]},
        functional=record.get("functional"),
        null=record.get("null"),
        versions=record["versions"],
    )


def comparison_sentences(record: Mapping[str, Any]) -> list[str]:
    """How a comparison was made, from its record."""
    rule, null, sender, receiver = record["rule"], record.get("null"), record["sender"], record["receiver"]
    return [
        f"Compared are the activations of {model_words(sender)}, the sender, and {model_words(receiver)}, the "
        f"receiver, both frozen and in eval mode, on {data_words(record['data'], record['n'])}.",
        SAMPLINGS[rule["sampling"]],
        mask_sentence(bool(record.get("padded"))),
        f"The 95 % interval is over {rule['folds']} folds of samples." if rule["interval"] else "There is no interval.",
        f"The null is of {null['permutations']} permutations of the samples within their folds, drawn with seed "
        f"{rule['seed']}."
        if null
        else "No null was computed.",
        f"Numbers: {record['dtype']}.",
        version_words(record["versions"]),
    ]


def mask_sentence(padded: bool) -> str:
    """What was done about padding."""
    return "Tokens that are padding are left out." if padded else "No sample has padding."


def measure_sentence(label: str, direction: str) -> str:
    """What a measure is: its direction, its range and its paper, where it is one of ours."""
    claims, name = claims_of(label), label.partition("?")[0]
    if claims is None:
        return FUNCTIONAL.get(label, f"{label} is a {direction}.")
    low, high = (f"{end:g}" for end in claims.range)
    return f"{label} is a {direction} between {low} and {high} ({measures[name].paper})."


def difference_method(record: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    """All that decides the figures of a difference, from its record."""
    return method_record(
        "seamripper.comparing.diff",
        **{role: dict(record[role]) for role in ("base", "changed")},
        data=dict(record["data"]),
        cut=list(record["cuts"]),
        n=record["n"],
        sampling="every number of a layer; for CKA, pool",
        pooling="none; for CKA, the mean over positions or tokens",
        mask="tokens that are padding are left out" if record["padded"] else None,
        estimator={
            "relative error": "‖changed − base‖ / ‖base‖, with a jackknife interval over samples",
            "stitch": "direct, fitted on four fifths of the samples and scored on the others",
            "tolerance": tolerance,
        },
        null={"permutations": record["cka"]["null"]} if record["cka"]["null"] else None,
        versions=record["versions"],
    )


def difference_sentences(record: Mapping[str, Any]) -> list[str]:
    """How a difference was made, from its record."""
    base, changed, null = record["base"], record["changed"], record["cka"]["null"]
    return [
        f"{model_words(changed)} is compared with {model_words(base)}, from which it was made, layer by layer, both "
        f"frozen and in eval mode, on {data_words(record['data'], record['n'])}.",
        mask_sentence(record["padded"]),
        f"Stitches are fitted on {record['fitted']:,} of the samples by direct matching, and scored on the other "
        f"{record['held_out']:,}.",
        f"CKA is of pooled activations, with a null of {null} permutations of the samples." if null else "",
        version_words(record["versions"]),
    ]


def stream_method(
    sources: Mapping[str, Any], *, shapes: Any, n: int, sampling: str, padded: bool, interval: bool
) -> dict[str, Any]:
    """All that decides a streaming score; what its sources do not name was in memory, and has a shape alone."""
    nameless = {"kind": "memory", "source": None, "cut": {"name": None}}
    sides = {
        role: {**nameless, **sources.get(role, {}), "shape": shape}
        for role, shape in zip(("sender", "receiver"), shapes, strict=True)
    }
    return method_record(
        "seamripper.comparing.StreamingScore",
        **sides,
        data=sources.get("data"),
        cut={role: side["cut"]["name"] for role, side in sides.items()},
        n=n,
        sampling=sampling,
        pooling=POOLING.get(sampling, "none"),
        mask="tokens that are padding make no row" if padded else None,
        estimator={"interval": interval, "folds": FOLDS, "precision": "sums float64"},
        null=None,
        versions=versions(),
    )


def stream_sentences(method: Mapping[str, Any]) -> list[str]:
    """How a streaming score was made, from its method."""
    sides = [_side_words(method[role]) for role in ("sender", "receiver")]
    data = f"the same {method['n']:,} samples" if method["data"] is None else data_words(method["data"], method["n"])
    return [
        f"Added up, batch by batch, are the activations of {sides[0]}, the sender, and {sides[1]}, the receiver, on "
        f"{data} in one order.",
        SAMPLINGS.get(method["sampling"], "Each sample is one row."),
        mask_sentence(method["mask"] is not None),
        f"The 95 % interval is over {FOLDS} folds of samples, dealt in turn."
        if method["estimator"]["interval"]
        else "There is no interval.",
        "A null needs the rows themselves, so there is none.",
        version_words(method["versions"]),
    ]


def _side_words(side: Mapping[str, Any]) -> str:
    if side["kind"] == "model":
        return model_words(side, side["cut"]["name"])
    if side["kind"] == "file":
        return f"{side['source']} (sha256 {side['fingerprint'][:12]}…)"
    return f"arrays of {shape_text(side['shape'])} that were in memory and that nobody named"
