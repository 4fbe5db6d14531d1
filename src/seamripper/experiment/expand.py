"""Expanding an experiment: from a grid to jobs, and to the graph in which they share work.

::

    train ──┬─→ activations ─→ stitch        the same network for all, the same activations for every stitch from there
            ├─→ control
            ├─→ noise
            ├─→ audit
            ├─→ pictures
            └─→ pass ─→ compare              a part of the data each
    call
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seamripper.errors import ExperimentError
from seamripper.experiment.choices import Choices
from seamripper.experiment.identity import Identities
from seamripper.experiment.job import Graph, Job
from seamripper.experiment.kinds.noise import require_noise_way
from seamripper.experiment.kinds.pictures import (
    require_classes_of,
    require_images,
    require_judged,
    require_mapping,
    showing,
)
from seamripper.experiment.kinds.stitch import reusable
from seamripper.experiment.spec import (
    Auditing,
    Calling,
    Comparing,
    Controlling,
    Data,
    Experiment,
    Joining,
    Noising,
    Pairs,
    Picturing,
    Stitching,
)


def expand(experiment: Experiment, identities: Identities) -> Graph:
    """Every job of the experiment, those that share work behind the one that does it."""
    work = _Expansion(experiment, identities)
    grids = (
        experiment.stitch,
        experiment.control,
        experiment.noise,
        experiment.compare,
        experiment.audit,
        experiment.pictures,
        experiment.call,
    )
    for stitching in experiment.stitch:
        work.stitches(stitching)
    for controlling in experiment.control:
        work.stitches(controlling)
    for noising in experiment.noise:
        work.noises(noising)
    for comparing in experiment.compare:
        work.comparisons(comparing)
    for auditing in experiment.audit:
        work.audits(auditing)
    for picturing in experiment.pictures:
        work.pictures(picturing)
    for calling in experiment.call:
        work.calls(calling)
    if not any(grids):
        for word in experiment.models:
            work.nets(word)
    if not (work.goals or work.trained):
        raise ExperimentError(
            f"The experiment {experiment.name!r} asks for nothing: add [[stitch]], [[control]], [[noise]], "
            "[[compare]], [[audit]], [[pictures]] or [[call]]."
        )
    goals = [*work.trained.values(), *work.sharing(), *(job for job in work.goals if job.kind != "stitch")]
    return Graph.of(goals, work.helpers.values())


@dataclass(frozen=True)
class _Net:
    """One network: what the study calls it, what a content calls it, and where it comes from."""

    name: str
    seed: int | None
    ref: dict[str, str]
    spec: str
    needs: tuple[str, ...] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None


@dataclass(frozen=True)
class _Samples:
    """Samples: the fingerprint, and where they are found."""

    fingerprint: str
    n: int
    shape: list[int]
    where: Mapping[str, Any]


class _Expansion:
    """The jobs of an experiment, as they are found."""

    def __init__(self, experiment: Experiment, identities: Identities) -> None:
        self.experiment, self.identities = experiment, identities
        self.choices = Choices(experiment, identities)
        self.trained: dict[str, Job] = {}
        self.helpers: dict[str, Job] = {}
        self.goals: list[Job] = []

    # ---- what is compared

    def nets(self, word: str) -> list[_Net]:
        """The networks that a word means, and their trainings."""
        network, seeds = self.experiment.network(word)
        name = word.partition("/")[0]
        if network.load is not None:
            found = self.identities.loaded(network.load)["fingerprint"]
            where = {f"model:{found}": {"load": self.identities.located(network.load), "said": network.load}}
            return [_Net(name, None, {"loaded": found}, network.load, (), where)]
        known = self.identities.network(network)
        assert network.data is not None
        fit, test = self._drawn(network.data, "train", network.n, 0), self._drawn(network.data, "test", None, 0)
        nets = []
        for seed in seeds:
            content = {
                **known,
                "seed": seed,
                "data": fit.fingerprint,
                "test": test.fingerprint,
                "n": fit.n,
                "threads": self.experiment.threads,
            }
            labels = {"model": name, "seed": seed, "data": network.data}
            job = Job("train", content, labels, (), {**fit.where, **test.where})
            # By its name too: a network that goes by two is trained once, and told of under both.
            self.trained.setdefault(f"{job.key} {name}", job)
            ref = {"trained": job.key}
            nets.append(_Net(name, seed, ref, known["architecture"], (job.key,), {}, network.data))
        return nets

    def pairs(self, part: Pairs) -> Iterator[tuple[_Net, _Net]]:
        """Senders and receivers that meet."""
        for sender, receiver in itertools.product(part.senders, part.receivers):
            found = list(_met(self.nets(sender), self.nets(receiver), part.pairing))
            if not found:
                raise ExperimentError(
                    f"No seeds of {sender!r} and {receiver!r} meet by pairing = {part.pairing!r}: 'matched' joins "
                    "equal seeds, 'others' different ones, 'all' every two."
                )
            yield from found

    def samples(self, data: Data, split: str) -> _Samples:
        """The samples of one split."""
        return self._drawn(data.name, split, data.n if split == "train" else data.n_test, data.seed)

    def _drawn(self, name: str, split: str, n: int | None, seed: int) -> _Samples:
        found = self.identities.data(name, split, n, seed)
        at = {"name": self.identities.located(name), "split": split, "n": n, "seed": seed}
        return _Samples(found["fingerprint"], found["n"], found["shape"], {f"data:{found['fingerprint']}": at})

    def cuts(
        self, words: Sequence[str], sender: _Net, receiver: _Net, shape: list[int], own: list[int] | None = None
    ) -> list[tuple[str, str]]:
        """(sender's cut, receiver's cut) of each word, each seen to be there; `own`: the receiver's shape, if other."""
        found = []
        for word in words:
            first, arrow, second = (part.strip() for part in word.partition("->"))
            if arrow and not (first and second):
                raise ExperimentError(f"Expected cuts as NAME, or SENDER'S -> RECEIVER'S, but got {word!r}.")
            found.append((first, second or first))
        self.identities.require_cuts(_of(sender), sender.spec, [a for a, _ in found], shape)
        self.identities.require_cuts(_of(receiver), receiver.spec, [b for _, b in found], own or shape)
        return found

    # ---- what is asked

    def stitches(self, part: Stitching | Controlling) -> None:
        """A job for each pair, cut, matching, stitch, freeze and seed; and for each control."""
        what = "a [[stitch]]" if isinstance(part, Stitching) else "a [[control]]"
        data = self.experiment.samples(part.data, what)
        fit, test = self.samples(data, "train"), self.samples(data, "test")
        controls = {word: self.choices.control(word) for word in part.controls}
        ways = self.ways(part, what)
        more = {"rank": True} if isinstance(part, Stitching) and part.rank else {}
        for sender, receiver in self.pairs(part):
            own = None if receiver.data is None else self._drawn(receiver.data, "test", data.n_test, data.seed)
            for a, b in self.cuts(part.cuts, sender, receiver, fit.shape):
                for chosen, said in ways:
                    content = {
                        "sender": sender.ref,
                        "sender_cut": a,
                        "receiver": receiver.ref,
                        "receiver_cut": b,
                        "fit": fit.fingerprint,
                        "test": test.fingerprint,
                        "n": fit.n,
                        "n_test": test.n,
                        **chosen,
                        "threads": self.experiment.threads,
                    }
                    labels = {**_both(sender, receiver, a, b), **said, "data": data.name}
                    where = {**fit.where, **test.where, **sender.where, **receiver.where}
                    if isinstance(part, Stitching):
                        mine = {**where, **(own.where if own else {})}
                        whole = {**content, **more, "own": own and own.fingerprint}
                        self.goals.append(Job("stitch", whole, labels, (*sender.needs, *receiver.needs), mine))
                    for control, pair in controls.items():
                        front = {} if pair else {"sender": receiver.ref, "sender_cut": b}
                        needs = (*(sender.needs if pair else ()), *receiver.needs)
                        changed = {**content, **front, "control": control}
                        self.goals.append(Job("control", changed, {**labels, "control": control}, needs, where))

    def ways(self, part: Joining, what: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """Every matching, stitch, freeze and seed of a part: as a content has them, and as labels do."""
        ways = {word: self.choices.matching(word) for word in part.matchings}
        self.choices.require_stitches(part.stitches)
        for word, matching in ways.items():
            if "weights" in part.freeze and matching["name"] != "task":
                raise ExperimentError(
                    f"freeze = 'weights' goes with the matching 'task', and {word!r} is {matching['name']!r}: put it "
                    f"into {what} of its own."
                )
        found = []
        for (word, matching), stitch, freeze, seed in itertools.product(
            ways.items(), part.stitches, part.freeze, part.seeds
        ):
            rest = {"stitch": stitch, "freeze": freeze, "seed": seed}
            found.append(({"matching": matching, **rest}, {"matching": word, **rest}))
        return found

    def noises(self, part: Noising) -> None:
        """A job for each receiver, cut, radius and number of classes."""
        for word in part.matchings:
            require_noise_way(word, self.choices.matching(word))
        ways = self.ways(part, "a [[noise]]")
        for receiver in (net for word in part.receivers for net in self.nets(word)):
            shape, known = self._made_for(receiver, part)
            self.identities.require_cuts(_of(receiver), receiver.spec, part.cuts, shape)
            grid = itertools.product(part.cuts, part.radius, part.classes or (known,), ways)
            for cut, radius, classes, (chosen, said) in grid:
                if classes > known:
                    raise ExperimentError(
                        f"Expected `classes` of a [[noise]] to be at most {known}, as many as {receiver.name!r} can "
                        f"name, but got {classes}."
                    )
                content = {
                    "receiver": receiver.ref,
                    "receiver_cut": cut,
                    "input": shape,
                    "radius": radius,
                    "classes": classes,
                    "per_class": part.per_class,
                    "per_class_test": part.per_class_test,
                    **chosen,
                    "rank": part.rank,
                    "threads": self.experiment.threads,
                }
                labels = {
                    "sender": "clustered noise",
                    "receiver": receiver.name,
                    "receiver_seed": receiver.seed,
                    "receiver_cut": cut,
                    "radius": radius,
                    "classes": classes,
                    **said,
                }
                self.goals.append(Job("noise", content, labels, receiver.needs, receiver.where))

    def _made_for(self, net: _Net, part: Noising) -> tuple[list[int], int]:
        """The shape of one input of a network, and how many classes it has."""
        if net.data is not None and not part.input:
            shape = self._drawn(net.data, "test", None, 0).shape
        else:
            shape = list(part.input) or self.identities.made_for(net.spec)["input"]
        if not shape:
            raise ExperimentError(f"Expected a [[noise]] to have `input`, as {net.name!r} takes inputs of any shape.")
        return shape, self.identities.classes(_of(net), net.spec, shape)

    def sharing(self) -> Iterator[Job]:
        """The stitches; those of which several begin at one place take its activations from a job of their own."""
        stitches = [job for job in self.goals if job.kind == "stitch"]
        users: dict[str, set[str]] = defaultdict(set)
        made: dict[str, dict[str, Job]] = {}
        for job in stitches:
            made[job.key] = self._activations(job) if reusable(job.content) else {}
            for helper in made[job.key].values():
                users[helper.key].add(job.key)
        for job in stitches:
            shared = {role: helper for role, helper in made[job.key].items() if len(users[helper.key]) > 1}
            self.helpers.update({helper.key: helper for helper in shared.values()})
            keys = {role: helper.key for role, helper in shared.items()}
            yield replace(job, needs=(*job.needs, *keys.values()), where={**job.where, "activations": keys})

    def _activations(self, job: Job) -> dict[str, Job]:
        """The jobs that compute the sender's activations for a stitch."""
        found = {}
        model, cut = job.content["sender"], job.content["sender_cut"]
        for role, n in (("fit", "n"), ("test", "n_test")):
            content = {
                "model": model,
                "cut": cut,
                "data": job.content[role],
                "n": job.content[n],
                "threads": self.experiment.threads,
            }
            labels = {"sender": job.labels["sender"], "sender_cut": cut, "data": job.labels["data"]}
            needs = tuple(model.values()) if "trained" in model else ()
            found[role] = Job("activations", content, labels, needs, job.where)
        return found

    def comparisons(self, part: Comparing) -> None:
        """A job for each pair; with parts, one for each part, and one that merges them."""
        data = self.experiment.samples(part.data, "a [[compare]]")
        samples = self.samples(data, part.split)
        measures, where = self.choices.measures(part.measures)
        rule = self.choices.rule(part, samples.n)
        for sender, receiver in self.pairs(part):
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
                "threads": self.experiment.threads,
            }
            places = {**samples.where, **where, **sender.where, **receiver.where}
            needs = (*sender.needs, *receiver.needs)
            for net, side in ((sender, "sender_cuts"), (receiver, "receiver_cuts")):
                self.identities.require_heads(_of(net), net.spec, content[side], samples.shape)
            labels = {**_both(sender, receiver), "seed": part.seed, "data": data.name}
            passes = []
            for k in range(part.parts if part.parts > 1 else 0):
                one = Job("pass", {**content, "part": k}, {**labels, "part": f"{k + 1}/{part.parts}"}, needs, places)
                self.helpers[one.key] = one
                passes.append(one.key)
            self.goals.append(Job("compare", content, labels, (*needs, *passes), {**places, "passes": passes}))

    def audits(self, part: Auditing) -> None:
        """A job for each pair and cut."""
        data = self.experiment.samples(part.data, "an [[audit]]")
        fit, test = self.samples(data, "train"), self.samples(data, "test")
        conflict = None
        if part.conflict is not None:
            conflict = self.samples(self.experiment.samples(part.conflict, "an [[audit]]"), "test")
        matching = self.choices.audit_matching(part.matching)
        self.choices.require_stitches([part.stitch])
        controls = self.choices.audit_controls(part)
        others = [net for word in part.others for net in self.nets(word)]
        for sender, receiver in self.pairs(part):
            apart = [net for net in others if net.ref not in (sender.ref, receiver.ref)]
            for a, b in self.cuts(part.cuts, sender, receiver, fit.shape):
                content = {
                    "sender": sender.ref,
                    "sender_cut": a,
                    "receiver": receiver.ref,
                    "receiver_cut": b,
                    "others": [net.ref for net in apart],
                    "fit": fit.fingerprint,
                    "test": test.fingerprint,
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
                    "threads": self.experiment.threads,
                }
                labels = {
                    **_both(sender, receiver, a, b),
                    "matching": part.matching or "audit's own",
                    "stitch": part.stitch,
                    "freeze": part.freeze,
                    "data": data.name,
                }
                where = {**fit.where, **test.where, **(conflict.where if conflict else {})}
                for net in (sender, receiver, *apart):
                    where |= net.where
                needs = [key for net in (sender, receiver, *apart) for key in net.needs]
                self.goals.append(Job("audit", content, labels, tuple(dict.fromkeys(needs)), where))

    def pictures(self, part: Picturing) -> None:
        """A job for each pair, cut and matching."""
        data = self.experiment.samples(part.data, "a [[pictures]]")
        own = data if part.receiver_data is None else self.experiment.samples(part.receiver_data, "a [[pictures]]")
        fit, test = self.samples(data, "train"), self.samples(data, "test")
        own_fit, own_test = self.samples(own, "train"), self.samples(own, "test")
        for name, samples in ((data.name, test), (own.name, own_test)):
            require_images(samples.shape, name)
        ways = {word: self.choices.matching(word) for word in part.matchings}
        for matching in ways.values():
            self._require_pictured(matching, data, own, apart=part.receiver_data is not None)
        self.choices.require_stitches([part.stitch])
        theirs = {"receiver_fit": own_fit.fingerprint, "receiver_test": own_test.fingerprint}
        for sender, receiver in self.pairs(part):
            judge = None if part.judge is None else self._judge(part.judge, receiver, own, own_test.shape)
            nets = (sender, receiver, *([judge] if judge else []))
            for a, b in self.cuts(part.cuts, sender, receiver, fit.shape, own_fit.shape):
                answer, arrives = self._shapes(receiver, b, own_fit.shape)
                for word, matching in ways.items():
                    shows = showing(answer, arrives, b, matching=matching["name"])
                    if judge:
                        require_judged(answer if shows == "answer" else arrives, own_test.shape)
                    content = {
                        "sender": sender.ref,
                        "sender_cut": a,
                        "receiver": receiver.ref,
                        "receiver_cut": b,
                        "fit": fit.fingerprint,
                        "test": test.fingerprint,
                        **(theirs if part.receiver_data is not None else {}),
                        "n": min(fit.n, own_fit.n),
                        "n_test": test.n,
                        "images": min(part.n, test.n, own_test.n),
                        "stitch": part.stitch,
                        "matching": matching,
                        "seed": part.seed,
                        **({"judge": judge.ref} if judge else {}),
                        "threads": self.experiment.threads,
                    }
                    labels = {
                        **_both(sender, receiver, a, b),
                        "matching": word,
                        "stitch": part.stitch,
                        "freeze": "all",
                        "seed": part.seed,
                        "data": data.name,
                        **({"receiver_data": own.name} if part.receiver_data is not None else {}),
                        **({"judge": judge.name} if judge else {}),
                    }
                    where = {**fit.where, **test.where, **own_fit.where, **own_test.where}
                    for net in nets:
                        where |= net.where
                    needs = tuple(dict.fromkeys(key for net in nets for key in net.needs))
                    self.goals.append(Job("pictures", content, labels, needs, where))

    def _require_pictured(self, matching: Mapping[str, Any], data: Data, own: Data, *, apart: bool) -> None:
        """Refuse a matching that these samples, the sender's and the receiver's own, are not for."""
        if apart:
            require_mapping(matching["name"])
        if matching["name"] == "class_mapping":
            sender, receiver = (self._classes(of) for of in (data, own))
            require_classes_of(matching["label_map"], sender=sender, receiver=receiver)

    def _classes(self, data: Data) -> int:
        return int(self.identities.data(data.name, "test", data.n_test, data.seed)["classes"])

    def _judge(self, word: str, receiver: _Net, data: Data, shape: list[int]) -> _Net:
        """The classifier that looks at a receiver's images: that of the receiver's seed, or its first."""
        _, seeds = self.experiment.network(word)
        name = word.partition("/")[0]
        seed = receiver.seed if receiver.seed in seeds else seeds[0]
        (judge,) = self.nets(name if seed is None else f"{name}/{seed}")
        known, wanted = self.identities.classes(_of(judge), judge.spec, shape), self._classes(data)
        if known < wanted:
            raise ExperimentError(
                f"Expected the judge {word!r} of a [[pictures]] to tell the {wanted} classes of {data.name} apart, but "
                f"it knows {known}."
            )
        return judge

    def calls(self, part: Calling) -> None:
        """A job for each point of the grid."""
        file, colon, function = part.function.rpartition(":")
        if not colon or not file.endswith(".py") or not function.isidentifier():
            raise ExperimentError(f"Expected a function as FILE.py:FUNCTION, but got {part.function!r}.")
        path, sha = self.identities.file(file)
        self.identities.require_function(path, sha, function)
        axes = {**part.grid, **({"seed": part.seeds} if part.seeds else {})}
        twice = sorted(set(part.args) & set(axes))
        if twice:
            raise ExperimentError(
                f"The argument {twice[0]!r} of {part.function} is given twice: in `args` and as an axis."
            )
        for point in itertools.product(*axes.values()):
            args = {**part.args, **dict(zip(axes, point, strict=True))}
            content = {"file": sha, "function": function, "args": args, "threads": self.experiment.threads}
            labels = {"call": f"{file}:{function}", **{k: v for k, v in args.items() if k not in ("call", "figure")}}
            self.goals.append(Job("call", content, labels, (), {"file": path}))

    def _shapes(self, net: _Net, cut: str, shape: list[int]) -> tuple[list[int], list[int]]:
        """The shapes of one answer of a network, and of what passes at a cut of it."""

        def look() -> list[list[int]]:
            from seamripper.cut import split
            from seamripper.models import load

            network = load(self.identities.located(net.spec))
            half = split(network, cut, network.example(2, input=tuple(shape)))
            return [list(half.answer(half.example).shape[1:]), list(half.cut.shape)]

        answer, passes = self.identities.choice("shapes", [_of(net), cut, shape], look)
        return answer, passes


def _met(senders: Sequence[_Net], receivers: Sequence[_Net], pairing: str) -> Iterator[tuple[_Net, _Net]]:
    """The pairs whose seeds meet; a network without a seed meets every one."""
    for sender, receiver in itertools.product(senders, receivers):
        free = sender.seed is None or receiver.seed is None
        if free or pairing == "all" or (sender.seed == receiver.seed) == (pairing == "matched"):
            yield sender, receiver


def _both(sender: _Net, receiver: _Net, a: str | None = None, b: str | None = None) -> dict[str, Any]:
    cuts = {} if a is None else {"sender_cut": a, "receiver_cut": b}
    return {
        "sender": sender.name,
        "sender_seed": sender.seed,
        "receiver": receiver.name,
        "receiver_seed": receiver.seed,
        **cuts,
    }


def _of(net: _Net) -> dict[str, Any]:
    """What decides which cuts a network has: its architecture, or the model that it is."""
    return {"architecture": net.spec} if "trained" in net.ref else dict(net.ref)
