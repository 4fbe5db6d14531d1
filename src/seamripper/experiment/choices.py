"""Choices: what the words of an experiment choose (matchings, controls, measures …), with all their options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamripper._words import did_you_mean
from seamripper.errors import ExperimentError
from seamripper.experiment.identity import Identities
from seamripper.experiment.spec import Auditing, Comparing, Experiment


class Choices:
    """Looks choices up as contents have them; an error, with the nearest right word, for one that there is not."""

    def __init__(self, experiment: Experiment, identities: Identities) -> None:
        self.experiment, self.identities = experiment, identities

    def matching(self, word: str) -> dict[str, Any]:
        """A matching with all its options: those that are not given may have other values in another version."""
        record = self.experiment.matching(word)

        def look() -> dict[str, Any]:
            from seamripper.experiment.kinds.base import plain
            from seamripper.matching import matchings

            whole: dict[str, Any] = plain(matchings.from_record(record).as_record())
            return whole

        found: dict[str, Any] = self.identities.choice("matching", record, look)
        return found

    def audit_matching(self, word: str | None) -> dict[str, Any]:
        """The matching of an audit: the audit's own, if none is named."""
        if word is not None:
            return self.matching(word)

        def look() -> dict[str, Any]:
            from seamripper.audits.audit import MATCHING
            from seamripper.experiment.kinds.base import plain

            whole: dict[str, Any] = plain(MATCHING.as_record())
            return whole

        found: dict[str, Any] = self.identities.choice("matching of audits", None, look)
        return found

    def control(self, word: str) -> bool:
        """Whether a control has to do with the sender; an error if there is none of that name."""

        def look() -> bool:
            from seamripper.controls import controls

            return controls.make(word).of_sender

        if word.partition("?")[0] == "other_seed":
            raise ExperimentError("For networks of other seeds as senders, add a [[stitch]] with pairing = 'others'.")
        return bool(self.identities.choice("control", word, look))

    def require_stitches(self, words: Sequence[str]) -> None:
        """Refuse a stitch that there is not."""

        def look() -> list[str]:
            from seamripper.stitches import stitches

            return ["auto", *stitches]

        known = self.identities.choice("stitches", None, look)
        for word in words:
            if word not in known:
                raise ExperimentError(f"There is no stitch {word!r}: {did_you_mean(word, known)}")

    def audit_controls(self, part: Auditing) -> list[str]:
        """The controls of an audit, all of its words seen to be right."""

        def look() -> list[str]:
            from seamripper.audits import chosen_audits
            from seamripper.audits.base import DEFAULT_CONTROLS
            from seamripper.audits.interventions import interventions
            from seamripper.controls import controls

            chosen_audits(part.audits)
            for word in part.controls or ():
                controls.make(word)
            for word in part.interventions or ():
                if word != "default":
                    interventions.make(word)
            return list(part.controls or DEFAULT_CONTROLS)

        words = [list(part.audits), list(part.controls or ()), list(part.interventions or ())]
        found: list[str] = self.identities.choice("controls of audits", words, look)
        return found

    def measures(self, words: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Measures as a content has them, and where those of users' own files are."""
        located, plain_words, files, shas = list[str](), list[str](), list[str](), list[str]()
        for word in words:
            file, colon, name = word.rpartition(":")
            if colon and file.endswith(".py"):
                path, sha = self.identities.file(file)
                files.append(path)
                shas.append(sha)
                located.append(f"{path}:{name}")
                plain_words.append(f"{len(files)}:{name}")
            else:
                located.append(word)
                plain_words.append(word)

        def look() -> list[str]:
            from seamripper.comparing import requested_measures

            measures, functional = requested_measures(located)
            return [*(measure.label for measure in measures), *functional]

        self.identities.choice("measures", [plain_words, shas], look)
        return {"measures": plain_words, "files": shas}, {"measures": located, "files": files}

    def rule(self, part: Comparing, n: int) -> dict[str, Any]:
        """The rule of a comparison of n samples, in no more parts than it has batches."""

        def look() -> dict[str, Any]:
            from dataclasses import asdict

            from seamripper.comparing import Rule, batch_for

            batch = part.batch or batch_for(n, part.folds)
            if part.parts > -(-n // batch):
                raise ExperimentError(
                    f"Expected `parts` of a [[compare]] to be at most {-(-n // batch)}, the batches of {batch} that "
                    f"its {n} samples make, but got {part.parts}."
                )
            return asdict(
                Rule(
                    part.sampling,
                    batch,
                    part.folds,
                    part.keep,
                    part.interval,
                    not part.exact,
                    "float64" if part.exact else "float32",
                    part.seed,
                )
            )

        words = part.model_dump(include={"sampling", "batch", "folds", "keep", "interval", "exact", "seed", "parts"})
        found: dict[str, Any] = self.identities.choice("rule", [words, n], look)
        return found
