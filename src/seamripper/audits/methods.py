"""How the figures of an audit were made, for their methods cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.cards import data_words, method_record, model_words, version_words

FIGURES = {
    "observed": "observed is the sender's own figure.",
    "effect": "effect is the difference that the audit looks at.",
}
_CHOICES = ("matching", "stitch", "freeze", "seeds", "controls", "audits", "interventions", "mixtures")
_ROLES = ("sender", "receiver")


def audit_method(record: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides the figures of an audit, from its record."""
    data = record["data"]
    models = {role: record[role] for role in _ROLES} | {
        f"other_{number}": other for number, other in enumerate(record["others"])
    }
    known = ("source", "fingerprint", "cut", "way")
    return method_record(
        "seamripper.audit",
        **{role: {name: model[name] for name in known} for role, model in models.items()},
        **{role: data.get(role) for role in ("fit", "test", "conflict")},
        cut={role: record[role]["cut"]["name"] for role in _ROLES},
        n=data["test"]["n"],
        sampling="none: answers of the stitched networks; for distribution and rank, rows behind the cut",
        pooling=None,
        mask="tokens that are padding are left out",
        # What is known of a control is its class's own claim, and no choice.
        estimator={name: record[name] for name in _CHOICES}
        | {"controls": [{k: v for k, v in control.items() if k != "known"} for control in record["controls"]]},
        null="controls whose answer is known",
        versions=record["versions"],
    )


def audit_sentences(record: Mapping[str, Any]) -> list[str]:
    """How an audit was made, from its record."""
    sender, receiver, data = record["sender"], record["receiver"], record["data"]
    stitch = record["stitch"] if isinstance(record["stitch"], str) else record["stitch"]["name"]
    sets = [*record["interventions"], *(["a conflict set"] if "conflict" in data else []), *record["mixtures"]]
    return [
        f"The front of {model_words(sender, sender['cut']['name'])} was joined to the back of "
        f"{model_words(receiver, receiver['cut']['name'])} by the stitch {stitch!r}, found by the matching "
        f"{record['matching']['name']!r} on {data_words(data['fit'], data['fit']['n'])}, with the seeds "
        f"{', '.join(map(str, record['seeds']))}, and so were the controls "
        f"{', '.join(control['name'] for control in record['controls'])}.",
        f"All were scored on {data_words(data['test'], data['test']['n'])}.",
        f"Inputs were changed by {', '.join(sets)}." if sets else "",
        version_words(record["versions"]),
    ]
