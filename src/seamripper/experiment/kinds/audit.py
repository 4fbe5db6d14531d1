"""The job `audit`: a comparison, its controls, and the judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from seamripper.experiment.kinds._images import as_bytes, is_image
from seamripper.experiment.kinds.base import Kind, Output, Row, figure, plain

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from seamripper.audits import Audit, Audited
    from seamripper.audits.interventions import Intervention
    from seamripper.cut import Split
    from seamripper.data import Samples
    from seamripper.experiment.worker import Worker

_EXAMPLES, _APART = 12, 8
"""How many examples are kept, and how many of them at most on which receiver and stitched network disagree."""


@dataclass(frozen=True)
class Auditing(Kind):
    """Audit one pair of cuts.

    Content: `sender`, `receiver` and their cuts, `others` (models), `fit`, `test`, `conflict` (fingerprints),
    `matching`, `stitch`, `freeze`, `interventions`, `controls`, `audits` (in words), `seeds`, `threads`. The tensor
    `examples` holds images of the set that decided the audit `conflict`, with their `labels` and the answers of the
    `receiver` and of the `stitched` network of the first seed: where they disagree first. There is none, and null in
    the record, where that audit has no verdict or the inputs are no images.
    """

    name: ClassVar[str] = "audit"
    rate: ClassVar[float] = 5e-4

    def run(self, content: Mapping[str, Any], worker: Worker) -> Output:
        """Audit, and keep the whole record."""
        from seamripper.audits import audit, chosen_audits
        from seamripper.audits.base import DEFAULT_CONTROLS
        from seamripper.matching import matchings

        fit, test = worker.samples(content["fit"]), worker.samples(content["test"])
        conflict = None if content["conflict"] is None else worker.samples(content["conflict"])
        receiver = worker.half(content["receiver"], content["receiver_cut"], fit)
        found = audit(
            worker.half(content["sender"], content["sender_cut"], fit),
            receiver,
            fit,
            test,
            conflict=conflict,
            interventions=content["interventions"],
            others=[worker.half(other, content["receiver_cut"], fit) for other in content["others"]],
            matching=matchings.from_record(content["matching"]),
            stitch=content["stitch"],
            freeze=content["freeze"],
            seeds=content["seeds"],
            controls=content["controls"] or DEFAULT_CONTROLS,
            audits=content["audits"],
            memo=worker.matched,
        )
        return result_of(
            found,
            receiver,
            test,
            conflict,
            audits=chosen_audits(content["audits"]),
            interventions=content["interventions"],
            key=worker.key,
            keep=worker.keep,
        )

    def cost(self, content: Mapping[str, Any]) -> float:
        """A stitch for each seed, and about as many for each control."""
        epochs = content["matching"].get("training", {}).get("epochs", 1)
        controls = len(content["controls"] or range(7))
        return float((content["n"] * (1 + epochs) + content["n_test"]) * len(content["seeds"]) * (1 + controls))

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """What was observed and its effect, audit by audit; then the judgement, with the figure that it rests on."""
        for name, verdict in record["verdicts"].items():
            said = {"audit": name, "status": verdict["answer"]}
            yield from figure("observed", verdict["observed"], **said)
            yield from figure("effect", verdict["effect"], **said)
        judgement = record["judgement"]
        yield from figure("recovered", judgement["figures"]["recovered"], audit="rule", status=judgement["conclusion"])


def result_of(
    found: Audited,
    receiver: Split,
    test: Samples,
    conflict: Samples | None,
    *,
    audits: Sequence[Audit],
    interventions: Sequence[Intervention | str] | None,
    key: str,
    keep: Callable[[Callable[[Path], None]], str],
) -> Output:
    """The whole record of an audit, and examples of the set that decided it; the other arguments are the audit's own.

    `keep` keeps a file and gives the name that it goes by.
    """
    from seamripper._files import save_tensors

    decided = _decided(found, test, conflict, audits, interventions)
    kept = None if decided is None else _examples(found, receiver, *decided)
    if kept is None:
        return Output({**plain(found.as_record()), "examples": None})
    tensors, about = kept
    name = keep(lambda path: save_tensors(path, tensors, {"key": key, **about}, kind="examples"))
    return Output({**plain(found.as_record()), "examples": about}, {"examples": name})


def _decided(
    found: Audited,
    test: Samples,
    conflict: Samples | None,
    audits: Sequence[Audit],
    interventions: Sequence[Intervention | str] | None,
) -> tuple[str, Samples] | None:
    """The set that decided the audit `conflict`, by name, made as that audit makes it; None without a verdict of it."""
    from seamripper.audits.conflict import Conflict
    from seamripper.audits.interventions import Intervention, chosen_interventions

    if "conflict" not in found.verdicts:
        return None
    (chosen,) = [one for one in audits if isinstance(one, Conflict)]
    name = found.verdicts["conflict"].figures["decided_by"]
    if name == "conflict set":
        assert conflict is not None
        return name, conflict.draw(chosen.n, seed=chosen.seed)
    words = ("default",) if interventions is None else interventions
    changes = [(one,) if isinstance(one, Intervention) else chosen_interventions([one], test) for one in words]
    (change,) = [one for some in changes for one in some if one.label == name]
    return name, change.apply(test.draw(chosen.n, seed=chosen.seed), seed=chosen.seed)


def _examples(
    found: Audited, receiver: Split, name: str, shown: Samples
) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Examples of a set as tensors, and what the record says of them; None if they cannot be looked at."""
    import torch

    from seamripper.audits.agreement import answers

    match = found.outcomes[0].match
    if match is None or not isinstance(shown.inputs, torch.Tensor) or not is_image(shown.shape):
        return None
    theirs, ours = answers(receiver, shown), answers(match, shown)
    index = torch.from_numpy(_chosen(theirs != ours))
    images = shown.batch(index)
    assert isinstance(images, torch.Tensor)
    tensors = {
        "images": as_bytes(images, shown),
        "labels": shown.labels[index],
        "receiver": torch.from_numpy(theirs)[index],
        "stitched": torch.from_numpy(ours)[index],
    }
    return tensors, {"set": name, "n": len(index), "disagree": float((theirs != ours).mean())}


def _chosen(apart: NDArray[Any]) -> NDArray[Any]:
    """The numbers of the samples that are kept: the first that are apart, then the first that are not.

    >>> import numpy as np
    >>> _chosen(np.array([False, True, False, True])).tolist()
    [1, 3, 0, 2]
    """
    import numpy as np

    first = np.flatnonzero(apart)[:_APART]
    return np.concatenate([first, np.flatnonzero(~apart)[: _EXAMPLES - len(first)]])
