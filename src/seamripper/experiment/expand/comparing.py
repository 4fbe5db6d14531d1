"""[[compare]]: a job for each pair; with parts, one for each part, and one that merges them."""

from __future__ import annotations

from collections.abc import Iterator

from seamripper.experiment.expand._expansion import Expansion, both, which
from seamripper.experiment.job import Job
from seamripper.experiment.spec import Comparing


def comparisons(work: Expansion, part: Comparing) -> Iterator[Job]:
    """A job for each pair; with parts, one for each part, and one that merges them."""
    data = work.experiment.samples(part.data, "a [[compare]]")
    samples = work.samples(data, part.split)
    measures, where = work.choices.measures(part.measures)
    rule = work.choices.rule(part, samples.n)
    for sender, receiver in work.pairs(part):
        content = {
            "sender": sender.ref,
            "receiver": receiver.ref,
            "sender_cuts": list(part.sender_cuts or part.cuts) or None,
            "receiver_cuts": list(part.receiver_cuts or part.cuts) or None,
            **measures,
            "data": samples.fingerprint,
            "n": samples.n,
            "rule": rule,
            "parts": part.parts,
            "threads": work.experiment.threads,
        }
        places = {**samples.where, **where, **sender.where, **receiver.where}
        needs = (*sender.needs, *receiver.needs)
        for net, side in ((sender, "sender_cuts"), (receiver, "receiver_cuts")):
            work.identities.require_heads(which(net), net.spec, content[side], samples.shape)
        labels = {**both(sender, receiver), "seed": part.seed, "data": data.name}
        passes = []
        for k in range(part.parts if part.parts > 1 else 0):
            one = Job("pass", {**content, "part": k}, {**labels, "part": f"{k + 1}/{part.parts}"}, needs, places)
            work.helpers[one.key] = one
            passes.append(one.key)
        yield Job("compare", content, labels, (*needs, *passes), {**places, "passes": passes})
