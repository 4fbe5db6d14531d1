"""[[audit]]: a job for each pair and cut."""

from __future__ import annotations

from collections.abc import Iterator

from seamripper.experiment.expand._expansion import Expansion, both, joined
from seamripper.experiment.job import Job
from seamripper.experiment.spec import Auditing


def audits(work: Expansion, part: Auditing) -> Iterator[Job]:
    """A job for each pair and cut."""
    data = work.experiment.samples(part.data, "an [[audit]]")
    fit, test = work.samples(data, "train"), work.samples(data, "test")
    conflict = None
    if part.conflict is not None:
        conflict = work.samples(work.experiment.samples(part.conflict, "an [[audit]]"), "test")
    matching = work.choices.audit_matching(part.matching)
    work.choices.require_stitches([part.stitch])
    controls = work.choices.audit_controls(part)
    others = [net for word in part.others for net in work.nets(word)]
    for sender, receiver in work.pairs(part):
        apart = [net for net in others if net.ref not in (sender.ref, receiver.ref)]
        for a, b in work.cuts(part.cuts, sender, receiver, fit.shape):
            content = {
                **joined(sender, receiver, a, b, fit, test),
                "others": [net.ref for net in apart],
                "n": fit.n,
                "n_test": test.n,
                "conflict": conflict and conflict.fingerprint,
                "matching": matching,
                "stitch": part.stitch,
                "freeze": part.freeze,
                "interventions": None if part.interventions is None else list(part.interventions),
                "controls": controls,
                "audits": list(part.audits),
                "seeds": list(part.seeds),
                "threads": work.experiment.threads,
            }
            labels = {
                **both(sender, receiver, a, b),
                "matching": part.matching or "audit's own",
                "stitch": part.stitch,
                "freeze": part.freeze,
                "data": data.name,
            }
            where = {**fit.where, **test.where, **(conflict.where if conflict else {})}
            for net in (sender, receiver, *apart):
                where |= net.where
            needs = [key for net in (sender, receiver, *apart) for key in net.needs]
            yield Job("audit", content, labels, tuple(dict.fromkeys(needs)), where)
