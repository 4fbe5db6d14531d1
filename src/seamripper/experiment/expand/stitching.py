"""[[stitch]] and [[control]]: the jobs of pairs, cuts and ways; and the activations that stitches share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from seamripper.experiment.expand._expansion import Expansion, both, joined
from seamripper.experiment.job import Job
from seamripper.experiment.kinds.stitch import reusable
from seamripper.experiment.spec import Controlling, Stitching


def stitches(work: Expansion, part: Stitching | Controlling) -> Iterator[Job]:
    """A job for each pair, cut, matching, stitch, freeze and seed; and for each control."""
    what = "a [[stitch]]" if isinstance(part, Stitching) else "a [[control]]"
    data = work.experiment.samples(part.data, what)
    fit, test = work.samples(data, "train"), work.samples(data, "test")
    controls = {word: work.choices.control(word) for word in part.controls}
    ways = work.ways(part, what)
    more = {"rank": True} if isinstance(part, Stitching) and part.rank else {}
    for sender, receiver in work.pairs(part):
        own = None if receiver.data is None else work.drawn(receiver.data, "test", data.n_test, data.seed)
        for a, b in work.cuts(part.cuts, sender, receiver, fit.shape):
            for chosen, said in ways:
                content = {
                    **joined(sender, receiver, a, b, fit, test),
                    "n": fit.n,
                    "n_test": test.n,
                    **chosen,
                    "threads": work.experiment.threads,
                }
                labels = {**both(sender, receiver, a, b), **said, "data": data.name}
                where = {**fit.where, **test.where, **sender.where, **receiver.where}
                if isinstance(part, Stitching):
                    mine = {**where, **(own.where if own else {})}
                    whole = {**content, **more, "own": own and own.fingerprint}
                    yield Job("stitch", whole, labels, (*sender.needs, *receiver.needs), mine)
                for control, pair in controls.items():
                    front = {} if pair else {"sender": receiver.ref, "sender_cut": b}
                    needs = (*(sender.needs if pair else ()), *receiver.needs)
                    changed = {**content, **front, "control": control}
                    yield Job("control", changed, {**labels, "control": control}, needs, where)


def sharing(work: Expansion, stitches: Sequence[Job]) -> Iterator[Job]:
    """The stitches; those of which several begin at one place take its activations from a job of their own."""
    users: dict[str, set[str]] = defaultdict(set)
    made: dict[str, dict[str, Job]] = {}
    for job in stitches:
        made[job.key] = _activations(work, job) if reusable(job.content) else {}
        for helper in made[job.key].values():
            users[helper.key].add(job.key)
    for job in stitches:
        shared = {role: helper for role, helper in made[job.key].items() if len(users[helper.key]) > 1}
        work.helpers.update({helper.key: helper for helper in shared.values()})
        keys = {role: helper.key for role, helper in shared.items()}
        yield replace(job, needs=(*job.needs, *keys.values()), where={**job.where, "activations": keys})


def _activations(work: Expansion, job: Job) -> dict[str, Job]:
    """The jobs that compute the sender's activations for a stitch."""
    found = {}
    model, cut = job.content["sender"], job.content["sender_cut"]
    for role, n in (("fit", "n"), ("test", "n_test")):
        content = {
            "model": model,
            "cut": cut,
            "data": job.content[role],
            "n": job.content[n],
            "threads": work.experiment.threads,
        }
        labels = {"sender": job.labels["sender"], "sender_cut": cut, "data": job.labels["data"]}
        needs = tuple(model.values()) if "trained" in model else ()
        found[role] = Job("activations", content, labels, needs, job.where)
    return found
