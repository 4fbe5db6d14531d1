"""How the figures of a stitched network were made, for their methods cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.cards import data_words, method_record, model_words, version_words
from seamripper.errors import MatchError

FIGURES = {
    "top1": "top1 is the share of samples whose class the stitched network names, with Wilson's interval.",
    "top5": "top5 is the share of samples whose class is among the first five, with Wilson's interval.",
    "penalty": "penalty is error(stitched) − error(receiver) on the same samples, with a paired bootstrap interval.",
    "relative_accuracy": "relative_accuracy is accuracy(stitched) / accuracy(receiver) on the same samples, with a "
    "paired bootstrap interval.",
    "agreement": "agreement is the share of samples on which the stitched network answers as the receiver does, with "
    "Wilson's interval.",
    "receiver_here": "receiver_here is the share of samples whose class the receiver names by itself.",
    "receiver_own": "receiver_own is the receiver's accuracy on the task that it was trained for.",
    "kl": "kl is the mean of KL(receiver ‖ stitched) over samples, in nats, with Student's interval.",
    "cross_entropy": "cross_entropy is that of what is right at each token (its label, or the next token), in nats, "
    "with texts as units.",
    "perplexity": "perplexity is the exponential of the cross-entropy of the stitched network.",
    "receiver_cross_entropy": "receiver_cross_entropy is the receiver's own, in nats, with texts as units.",
    "receiver_perplexity": "receiver_perplexity is the exponential of the receiver's own cross-entropy.",
    "top5_overlap": "top5_overlap is the mean share of five classes that are among the first five of both.",
}
"""What each figure is."""
_MASK = "tokens that are padding are left out"


def match_method(match: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides a match, from its record."""
    if "given" not in match["made_from"]:
        raise MatchError("This match was saved by an older version, which did not keep how its samples are loaded.")
    roles = ("sender", "receiver")
    return method_record(
        "seamripper.match",
        **{role: match[role] for role in roles},
        **match["made_from"]["given"],
        cut={role: match[role]["cut"]["name"] for role in roles},
        n=match["made_from"]["fit"]["n"],
        sampling="each position of a map and each token is one row",
        pooling=None,
        mask=_MASK,
        estimator={name: match[name] for name in ("stitch", "matching", "freeze")}
        | {"seed": match["made_from"]["seed"]},
        null=None,
        versions={name: match["made_from"][name] for name in ("seamripper", "torch") if name in match["made_from"]},
    )


def stitch_method(made_from: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides the figures of a stitched network, from what `evaluate` has kept."""
    return {
        **match_method(made_from["match"]),
        "function": "seamripper.match, seamripper.evaluate",
        "test": made_from["test"],
        "own": made_from["own"],
        "n": made_from["test"]["n"],
        "sampling": "none: answers of the stitched network",
        "versions": made_from["versions"],
    }


def match_sentences(match: Mapping[str, Any]) -> list[str]:
    """How a stitch was found, from the record of its match."""
    fit, sender, receiver = match["made_from"]["fit"], match["sender"], match["receiver"]
    options = ", ".join(f"{name} {value}" for name, value in match["matching"].items() if name != "name")
    return [
        f"The front of {model_words(sender, sender['cut']['name'])} was joined to the back of "
        f"{model_words(receiver, receiver['cut']['name'])} by the stitch {match['stitch']['name']!r}, found by the "
        f"matching {match['matching']['name']!r} ({options}) on {data_words(fit, fit['n'])}; freeze "
        f"{match['freeze']!r}, seed {match['made_from']['seed']}, status {match['status']!r}.",
        "Tokens that are padding are left out.",
    ]


def stitch_sentences(made_from: Mapping[str, Any]) -> list[str]:
    """How the stitched network was made and scored, from what `evaluate` has kept."""
    test = data_words(made_from["test"], made_from["test"]["n"])
    return [
        *match_sentences(made_from["match"]),
        f"It was scored on {test}, none of which it was fitted on.",
        version_words(made_from["versions"]),
    ]
