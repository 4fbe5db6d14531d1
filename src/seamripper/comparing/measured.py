"""measure_files: measures of two files of activations, each with its interval, its null and its methods card."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seamripper._doors import require_path
from seamripper._files import sha256_of
from seamripper._frames import Row
from seamripper.activations import Activations, Sampling
from seamripper.cards import WithMethods, method_record, version_words
from seamripper.comparing.methods import POOLING, SAMPLINGS, mask_sentence, measure_sentence
from seamripper.comparing.pairing import pair_activations
from seamripper.errors import FileError, MeasureError
from seamripper.estimate import Estimate
from seamripper.measures.base import Measure, choose_measures
from seamripper.measures.pair import FOLDS
from seamripper.measures.score import reason, score
from seamripper.models.running import versions


@dataclass(frozen=True)
class Measured(WithMethods):
    """The scores of several measures by label; `reasons` say why others have none."""

    kind: ClassVar[str] = "measure"
    axes: ClassVar[tuple[str, ...]] = ("measure",)
    scores: Mapping[str, Estimate]
    reasons: Mapping[str, str]
    record: Mapping[str, Any]

    def rows(self) -> list[Row]:
        """One row per measure that has a score."""
        scores = self.scores.items()
        return [{"measure": k, "direction": s.rule["direction"], **s.as_row()} for k, s in scores]

    def method(self) -> dict[str, Any]:
        """All that decides the scores."""
        sampling, null = self.record["sampling"], self.record["null"]
        return method_record(
            "seamripper.comparing.measure_files",
            **{name: self.record[name] for name in ("sender", "receiver", "cut", "n", "sampling", "versions")},
            pooling=POOLING.get(sampling, "none"),
            mask="tokens that are padding make no row" if self.record["padded"] else None,
            estimator={"interval": f"95 %, over {FOLDS} folds of samples"},
            null={"permutations": null} if null else None,
        )

    def sentences(self) -> list[str]:
        """How the scores were made."""
        record, null = self.record, self.record["null"]
        files = [f"{record[role]['source']} (sha256 {record[role]['fingerprint'][:12]}…)" for role in _ROLES]
        return [
            f"Compared are the activations in {files[0]}, the sender, and {files[1]}, the receiver, of the same "
            f"{record['n']:,} samples in one order.",
            SAMPLINGS.get(record["sampling"], "Each sample is one row."),
            mask_sentence(record["padded"]),
            f"The 95 % interval is over {FOLDS} folds of samples, dealt in turn.",
            f"The null is of {null} permutations of the samples within their folds, drawn with seed 0."
            if null
            else "No null was computed.",
            version_words(record["versions"]),
        ]

    def figure_sentences(self) -> dict[str, str]:
        """What each measure is."""
        return {label: measure_sentence(label, score.rule["direction"]) for label, score in self.scores.items()}


_ROLES = ("sender", "receiver")


def measure_files(
    sender: str | os.PathLike[str],
    receiver: str | os.PathLike[str],
    *,
    measures: Sequence[Measure | str] | Measure | str = "linear_cka",
    sampling: Sampling | None = None,
    null: int = 0,
) -> Measured:
    """Measure how similar the activations in two files are, of the same samples in the same order.

    The files are of `Activations.save`, or `.npy`. A measure that has no score says why; if none has one, it is an
    error. With a `null` of so many permutations, scores that depend on which sample is which are compared with it.
    """
    paths = [
        Path(require_path(file, role, error=FileError)) for file, role in zip((sender, receiver), _ROLES, strict=True)
    ]
    chosen = choose_measures(measures)
    a, b = (Activations.load(path) for path in paths)
    both = pair_activations(a, b, sampling=sampling, names=(str(paths[0]), str(paths[1])))
    scores: dict[str, Estimate] = {}
    reasons: dict[str, str] = {}
    for measure in chosen:
        try:
            permutations = null if measure.claims.paired else 0
            scores[measure.label] = score(measure, both.pair(measure), sampling=both.sampling, null=permutations)
        # A measure of the user's own may raise anything, and must not take the others along.
        except Exception as e:
            reasons[measure.label] = reason(measure, e)
    if not scores:
        raise MeasureError(" ".join(dict.fromkeys(reasons.values())))
    files = {
        role: {"source": str(path), "fingerprint": sha256_of(path)} for role, path in zip(_ROLES, paths, strict=True)
    }
    padded = a.counting_tokens() is not None or b.counting_tokens() is not None
    cut = {role: side.cut.name for role, side in zip(_ROLES, (a, b), strict=True)}
    record = {**files, "cut": cut, "n": len(a), "sampling": both.sampling, "null": null, "padded": padded}
    return Measured(scores, reasons, {**record, "versions": versions()})
