"""[[audit]]: a comparison, its controls, and the judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from seamripper._files import plain
from seamripper.experiment.expansion import (
    DataSetRef,
    Expansion,
    Net,
    merge_needs,
    merge_where,
    pair_content,
    pair_labels,
)
from seamripper.experiment.identity import AUDITS, CONTROLS, INTERVENTIONS, MIXTURES
from seamripper.experiment.images import as_bytes, is_image
from seamripper.experiment.job import Job
from seamripper.experiment.parts.audit_evidence import evidence_sections
from seamripper.experiment.parts.audit_judgements import judgements_section
from seamripper.experiment.parts.base import Output, Part, Row, figure_row, training_cost
from seamripper.experiment.result import StudyResults
from seamripper.experiment.tables import Data, Pairs, Seeds, Some, Study, Word, Words
from seamripper.figures import Section

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from seamripper.audits import Audited
    from seamripper.cut import Split
    from seamripper.data import Samples
    from seamripper.experiment.worker import Worker

_EXAMPLES, _APART = 12, 8
"""How many examples are kept, and how many of them at most on which receiver and stitched network disagree."""


class AuditPart(Pairs, Part):
    """An audit of every pair at every cut: controls, conflict set or interventions, mixtures, and the judgement.

    `others` names networks trained as the receiver was: of each, those seeds that neither side has.

    The tensor `examples` holds images of the set that decided the audit `conflict`, with their `labels` and the answers
    of the `receiver` and of the `stitched` network of the first seed: where they disagree first. There is none, and
    null in the record, where that audit has no verdict or the inputs are no images. The tensor `mixtures` holds the
    pairs of images that told most in the audit `mixing`, `a` and `b`, with their labels, and their mixtures `m`; what
    both networks say of them is in its verdict.
    """

    name: ClassVar[str] = "audit"
    rate: ClassVar[float] = 5e-4

    cuts: Some
    matching: Word | None = None
    stitch: Word = "auto"
    freeze: Literal["all", "weights"] = "all"
    conflict: Word | Data | None = None
    interventions: Words | None = None
    mixtures: Words = ("default",)
    others: Words = ()
    controls: Some | None = None
    audits: Some = ("all",)
    seeds: Seeds = (0, 1, 2)

    def size(self, study: Study) -> int:
        """One job for each pair and cut."""
        return self.pairs(study) * len(self.cuts)

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each pair and cut."""
        data = expansion.experiment.samples(self.data, "an [[audit]]")
        fit, test = expansion.splits(data)
        conflict = self._conflict(expansion)
        choices, files = self._choices(expansion)
        others = [net for word in self.others for net in expansion.nets(word)]
        for sender, receiver in expansion.pairs(self):
            apart = [net for net in others if net.ref not in (sender.ref, receiver.ref)]
            nets: tuple[Net, ...] = (sender, receiver, *apart)
            for a, b in expansion.cuts(self.cuts, (sender, receiver), fit.shape):
                content = {
                    **pair_content(sender, receiver, a, b, fit, test),
                    "others": [net.ref for net in apart],
                    "conflict": conflict and conflict.fingerprint,
                    **choices,
                    "seeds": list(self.seeds),
                    "threads": expansion.experiment.threads,
                }
                labels = {
                    **pair_labels(sender, receiver, a, b),
                    "matching": self.matching or "audit's own",
                    "stitch": self.stitch,
                    "freeze": self.freeze,
                    "data": data.name,
                }
                where = {**merge_where(fit, test, conflict, *nets), **files}
                yield Job("audit", content, labels, merge_needs(nets), where)

    def _conflict(self, expansion: Expansion) -> DataSetRef | None:
        if self.conflict is None:
            return None
        return expansion.samples(expansion.experiment.samples(self.conflict, "an [[audit]]"), "test")

    def _choices(self, expansion: Expansion) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is chosen by words, as a content has it, and where users' own files for it are."""
        identities, files = expansion.identities, dict[str, Any]()
        matching, where = self._matching(expansion)
        stitch, place = expansion.stitch(self.stitch)
        files |= where | place

        def words(place: str, given: Sequence[str], groups: Sequence[str] = ()) -> list[str]:
            contents = []
            for word in given:
                content, where = (word, {}) if word in groups else identities.word(place, word, also=groups)
                contents.append(content)
                files.update(where)
            return contents

        def look() -> list[str]:
            from seamripper.audits import DEFAULT_CONTROLS

            return list(DEFAULT_CONTROLS)

        controls = self.controls or identities.remember("default controls", look)
        changes = self.interventions
        return {
            "matching": matching,
            "stitch": stitch,
            "freeze": self.freeze,
            "interventions": None if changes is None else words(INTERVENTIONS, changes, ("default", "none")),
            "mixtures": words(MIXTURES, self.mixtures or ("none",), ("default", "none")),
            "controls": words(CONTROLS, controls),
            "audits": words(AUDITS, self.audits, ("all",)),
        }, files

    def _matching(self, expansion: Expansion) -> tuple[dict[str, Any], dict[str, Any]]:
        """The matching's record, and where a user's file for it is: the audit's own, if none is named."""
        if self.matching is not None:
            return expansion.matching(self.matching)

        def look() -> dict[str, Any]:
            from seamripper.audits import matching_of

            record: dict[str, Any] = plain(matching_of("task").as_record())
            return record

        return expansion.identities.remember("matching of an audit", look), {}

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Audit, and keep the whole record."""
        from seamripper.audits import audit, chosen_audits, deciding_mixtures, deciding_set

        fit, test = worker.samples(content["fit"]), worker.samples(content["test"])
        conflict = None if content["conflict"] is None else worker.samples(content["conflict"])
        receiver = worker.half(content["receiver"], content["receiver_cut"], fit)
        words = content["interventions"]
        changes = None if words is None else list(map(worker.word, words))
        mixtures = list(map(worker.word, content["mixtures"]))
        audits = chosen_audits(map(worker.word, content["audits"]))
        audited = audit(
            worker.half(content["sender"], content["sender_cut"], fit),
            receiver,
            fit,
            test,
            conflict=conflict,
            interventions=changes,
            mixtures=mixtures,
            others=[worker.half(other, content["receiver_cut"], fit) for other in content["others"]],
            matching=worker.matching(content["matching"]),
            stitch=worker.stitch(content["stitch"]),
            freeze=content["freeze"],
            seeds=content["seeds"],
            controls=list(map(worker.word, content["controls"])),
            audits=audits,
            memo=worker.matched,
        )
        decided = deciding_set(audited, test, conflict, audits, changes)
        mixed = deciding_mixtures(audited, test, audits, mixtures)
        return audit_output(audited, receiver, decided, worker.key, worker.keep, mixed=mixed)

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """A stitch for each seed, and about as many for each control."""
        stitch = training_cost(content, content["n"], content["n_test"])
        return stitch * len(content["seeds"]) * (1 + len(content["controls"]))

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """What was observed and its effect, audit by audit; then the judgement, with the figure that it rests on."""
        for name, verdict in record["verdicts"].items():
            answer = {"audit": name, "status": verdict["answer"]}
            yield from figure_row("observed", verdict["observed"], **answer)
            yield from figure_row("effect", verdict["effect"], **answer)
        judgement = record["judgement"]
        recovered = judgement["figures"]["recovered"]
        yield from figure_row("recovered", recovered, audit="rule", status=judgement["conclusion"])

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """What was judged and why, the evidence of the single audits, and the controls around what was observed."""
        audits = results.of(cls.name)
        if not audits:
            return
        yield judgements_section(audits)
        yield from evidence_sections(results, audits)


def audit_output(
    audited: Audited,
    receiver: Split,
    decided: tuple[str, Samples] | None,
    key: str,
    keep: Callable[[Callable[[Path], None]], str],
    *,
    mixed: tuple[Samples, Samples, Samples] | None = None,
) -> Output:
    """The whole record of an audit, and examples of what decided it; `keep` keeps a file and names it.

    `decided` is the set of the audit `conflict`, `mixed` are the pairs and mixtures of the audit `mixing`.
    """
    from seamripper._files import save_tensors

    examples = None if decided is None else _examples(audited, receiver, *decided)
    files, about = {}, None
    if examples is not None:
        tensors, about = examples
        text = {"key": key, **about}
        files["examples"] = keep(lambda path: save_tensors(path, tensors, text, kind="examples"))
    if mixed is not None and is_image(mixed[0].shape):
        images = {name: as_bytes(_images(samples), samples) for name, samples in zip("abm", mixed, strict=True)}
        images |= {f"{name}_labels": samples.labels for name, samples in zip("ab", mixed, strict=False)}
        files["mixtures"] = keep(lambda path: save_tensors(path, images, {"key": key}, kind="mixtures"))
    return Output({**plain(audited.as_record()), "examples": about}, files)


def _images(samples: Samples) -> Tensor:
    """All inputs of samples of images."""
    images = samples.batch(slice(None))
    assert not isinstance(images, dict)
    return images


def _examples(
    audited: Audited, receiver: Split, name: str, samples: Samples
) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Examples of a set as tensors, and what the record says of them; None if they cannot be looked at."""
    import torch

    from seamripper.audits import answers

    match = audited.outcomes[0].match
    if match is None or not isinstance(samples.inputs, torch.Tensor) or not is_image(samples.shape):
        return None
    theirs, ours = answers(receiver, samples), answers(match, samples)
    index = torch.from_numpy(_example_rows(theirs != ours))
    images = samples.batch(index)
    assert isinstance(images, torch.Tensor)
    tensors = {
        "images": as_bytes(images, samples),
        "labels": samples.labels[index],
        "receiver": torch.from_numpy(theirs)[index],
        "stitched": torch.from_numpy(ours)[index],
    }
    return tensors, {"set": name, "n": len(index), "disagree": float((theirs != ours).mean())}


def _example_rows(apart: NDArray[Any]) -> NDArray[Any]:
    """The numbers of the samples that are kept: the first that are apart, then the first that are not.

    >>> import numpy as np
    >>> _example_rows(np.array([False, True, False, True])).tolist()
    [1, 3, 0, 2]
    """
    import numpy as np

    first = np.flatnonzero(apart)[:_APART]
    return np.concatenate([first, np.flatnonzero(~apart)[: _EXAMPLES - len(first)]])
