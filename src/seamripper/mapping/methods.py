"""How the figures of mapped queries were made, for their methods cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seamripper.cards import method_record, version_words

FIGURES = {
    "own": "Looked for is the query's own document.",
    "old": "Looked for is what the old query finds in the old index, its own document left out.",
    "again": "Looked for is what the new query finds in an index that is embedded again, its own document left out.",
    "R²": "R² is of the mapped rows of the test documents, with a jackknife interval.",
    "MRR": "MRR is the mean reciprocal rank, in which ranks above 100 count 0.",
    **{f"Recall@{k}": f"Recall@{k} is a share over the test queries, with Wilson's interval." for k in (1, 10, 100)},
}
"""What is looked for, and what each figure is."""
_DECIDE = ("old", "new", "documents", "fit", "choice", "test", "versions")


def map_method(record: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides the figures, from the record of a verdict."""
    return method_record(
        "seamripper.mapping.map_embeddings",
        **{name: record[name] for name in _DECIDE},
        data=record["old"].get("data"),
        cut={role: record[role].get("cut", {}).get("name") for role in ("old", "new")},
        n=record["test"],
        sampling="one row per document",
        pooling="mean over tokens or positions, where there are any",
        mask="tokens that are padding are left out",
        estimator={**{name: record[name] for name in ("metric", "tolerance", "seed")}, "map": dict(chosen)},
        null="a map fitted to shuffled pairs ('shuffled pairs')",
    )


def map_sentences(record: Mapping[str, Any], label: str) -> list[str]:
    """How the maps were fitted, chosen and tested, from the record of a verdict."""
    old, new = (_embedding_words(record[role]) for role in ("old", "new"))
    return [
        f"Queries of {new} search the index of {old}, {record['documents']:,} documents, by {record['metric']} "
        "nearness.",
        f"Maps from new to old were fitted on {record['fit']:,} documents; ranks and ridges were chosen there by R² "
        f"over five folds, and the kind ({label}) on {record['choice']:,} others by Recall@10 of the old query's "
        f"results; the test is on {record['test']:,} others, all drawn with seed {record['seed']}.",
        "The control is a map fitted to shuffled pairs.",
        version_words(record["versions"]),
    ]


def _embedding_words(record: Mapping[str, Any]) -> str:
    return f"{record['name']} ({record['width']} columns, fingerprint {record['fingerprint'][:12]}…)"
