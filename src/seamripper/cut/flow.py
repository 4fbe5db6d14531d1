"""Which values can be cut, and what leaks around those that cannot: read off two watched runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from torch import nn

from seamripper._words import did_you_mean, shape_text, word_list
from seamripper.cut.frozen import seal
from seamripper.cut.observe import Edge, ModuleCall, Observation, observe
from seamripper.cut.place import LAYOUTS, Cut
from seamripper.cut.values import probes
from seamripper.data.samples import Inputs, first_input
from seamripper.errors import CutError, LeakError


@dataclass(frozen=True)
class Spot:
    """A name that a user may type: the output of a module call, or (`before`) its input."""

    name: str
    module: str
    occurrence: int
    before: bool
    edge: Edge | None
    shape: tuple[int, ...]
    batched: bool
    """Whether the first axis is the batch, and the others are fixed or the length of the sequence."""
    start: int
    end: int
    alias: bool

    @property
    def rank(self) -> tuple[int, int, bool, int]:
        """Which of several names of one value to show: an output, of the outermost module, that came first."""
        return (self.alias, self.module.count("."), self.before, self.start)


@dataclass
class Flow:
    """The spots of a model and the graph between them; answers whether a spot can be cut."""

    seen: Observation
    second: Observation
    """Another run, with another batch size: what differs between the two follows the batch."""
    spots: dict[str, Spot]
    channels_last: set[tuple[int, ...]]
    repeated: dict[str, int]
    never_called: tuple[str, ...] = ()
    _verdicts: dict[Edge, tuple[str, ...]] = field(default_factory=dict)

    def find(self, name: str) -> Spot:
        """The spot a user named, or an error that offers the nearest names."""
        if name in self.spots:
            return self.spots[name]
        bare = name.removeprefix("before:").split("#")[0]
        if bare in self.repeated and "#" not in name:
            prefix = "before:" if name.startswith("before:") else ""
            choices = [f"{prefix}{bare}#{k + 1}" for k in range(self.repeated[bare])]
            raise CutError(
                f"{bare!r} is called {self.repeated[bare]} times in one run, so its name does not say which call to "
                f"cut at. Say which call: {word_list(choices[:6], last='or')}."
            )
        if bare in self.never_called:
            raise CutError(f"{bare!r} is part of the model but was not called on the example, so it cannot be cut.")
        raise CutError(f"There is no layer {name!r} to cut: {did_you_mean(name, list(self.spots))}")

    def around(self, edge: Edge) -> tuple[str, ...]:
        """The names of the values that are computed before this one and used after it, other than through it."""
        if edge not in self._verdicts:
            self._verdicts[edge] = tuple(dict.fromkeys(self._crossing(edge)))
        return self._verdicts[edge]

    def obstacle(self, spot: Spot) -> str | None:
        """Why the spot is no place to cut, leaks aside; None if it is one."""
        if spot.edge is None or self.seen.answer is None:
            return "the model's answer does not depend on it through anything differentiable"
        if spot.alias:
            real = [s.name for s in self.same_value(spot.edge) if not s.alias]
            offer = f"; cut at {word_list(real[:1])}, the value it passes on" if real else ""
            return f"it does nothing in eval mode and returns its very input{offer}"
        if not self._depends_on_input(spot.edge):
            return "it does not depend on the model's input: it is a constant"
        if len(spot.shape) not in LAYOUTS:
            return f"its shape {spot.shape} is neither a map, nor tokens, nor a vector"
        if not spot.batched:
            return f"its first axis is not the batch (shape {spot.shape} for {self.seen.batch} samples)"
        if spot.shape[1:] in self.channels_last:
            return f"it is a channels-last map (shape {spot.shape}), and maps are cut as n, c, h, w"
        return None

    def require(self, name: str) -> Spot:
        """The spot, if it can be cut; else the reason why not, with the nearest that can."""
        spot = self.find(name)
        why = self.obstacle(spot)
        if why is not None:
            raise CutError(f"{name!r} cannot be cut: {why}. {self._offer(spot)}")
        assert spot.edge is not None
        leaks = self.around(spot.edge)
        if leaks:
            raise LeakError(
                f"{name!r} cannot be cut: {word_list(leaks[:4])} "
                f"{'goes' if len(leaks) == 1 else 'go'} around it (computed before the cut, used after it). "
                f"{self._offer(spot)}",
                around=leaks,
            )
        return spot

    def same_value(self, edge: Edge) -> list[Spot]:
        """All spots where this very value passes, the one to show first."""
        return sorted((s for s in self.spots.values() if s.edge == edge), key=lambda s: s.rank)

    def legal(self) -> list[Spot]:
        """The spots that can be cut, one for each value, in the order in which the model reaches them."""
        shown: dict[Edge, Spot] = {}
        for spot in self.spots.values():
            if spot.edge is not None and spot.edge not in shown and self.obstacle(spot) is None:
                best = next(s for s in self.same_value(spot.edge) if self.obstacle(s) is None)
                shown[spot.edge] = best
        return sorted((s for e, s in shown.items() if not self.around(e)), key=self.moment)

    def cut_at(self, spot: Spot) -> Cut:
        """The spot as users see it."""
        assert spot.edge is not None
        assert self.seen.answer is not None
        sizes = self.seen.parameters
        before = self.seen.ancestors(spot.edge)
        after = self.seen.ancestors(self.seen.answer, without=spot.edge)
        return Cut(
            name=spot.name,
            shape=spot.shape[1:],
            layout=LAYOUTS[len(spot.shape)],
            before=sum(size for node, size in sizes.items() if node in before),
            after=sum(size for node, size in sizes.items() if node in after),
            aliases=tuple(s.name for s in self.same_value(spot.edge) if s.name != spot.name and not s.alias),
        )

    def _offer(self, spot: Spot) -> str:
        legal = self.legal()
        if not legal:
            return "This model has no place that can be cut."
        at = self.moment(spot)
        earlier = [s.name for s in legal if self.moment(s) <= at][-1:]
        later = [s.name for s in legal if self.moment(s) > at][:1]
        return f"The nearest places that can: {word_list([*earlier, *later])}."

    def moment(self, spot: Spot) -> int:
        """When the run made this value: spots sort by it."""
        if spot.edge is not None and spot.edge in self.seen.made_at:
            return self.seen.made_at[spot.edge]
        return spot.start if spot.before else spot.end

    def _depends_on_input(self, edge: Edge) -> bool:
        return not self.seen.sources.keys().isdisjoint(self.seen.ancestors(edge))

    def _crossing(self, edge: Edge) -> Iterator[str]:
        """The taint check: follow the answer back without passing `edge`; whoever meets a tainted source leaks."""
        seen = self.seen
        assert seen.answer is not None
        behind = seen.ancestors(seen.answer, without=edge)
        made = seen.made_at.get(edge, -1)
        early = {node for node in behind if seen.sources.get(node, made + 1) <= made}
        if not early:
            return
        tainted = self._descendants(early, behind)
        born = seen.born[edge[0]]
        for node in sorted(tainted, key=lambda n: seen.born[n]):
            if node in early or seen.born[node] < born:
                continue
            for value in seen.edges[node]:
                if value != edge and value[0] in tainted and (value[0] in early or seen.born[value[0]] < born):
                    yield self._name_of(value)

    def _descendants(self, early: set[int], within: set[int]) -> set[int]:
        """The nodes among `within` that depend on one of `early`."""
        users: dict[int, list[int]] = {}
        for node in within:
            for child, _ in self.seen.edges[node]:
                users.setdefault(child, []).append(node)
        later, todo = set(early), list(early)
        while todo:
            for user in users.get(todo.pop(), ()):
                if user not in later:
                    later.add(user)
                    todo.append(user)
        return later

    def _name_of(self, value: Edge) -> str:
        if self.seen.sources.get(value[0]) == -1:
            return "the input"
        names = self.same_value(value)
        if names:
            return names[0].name
        # Not the output of a module: named by its operation and the last module value it was made from.
        todo, behind = list(self.seen.edges[value[0]]), self.seen.kinds[value[0]]
        while todo:
            edge = todo.pop(0)
            for spot in self.same_value(edge):
                return f"{behind}({spot.name}, …)"
            todo.extend(self.seen.edges[edge[0]])
        return behind


def read_flow(module: nn.Module, example: Inputs) -> Flow:
    """The flow of a frozen model from two runs with different batch sizes: the first gives the graph of values."""
    first, second = _two_runs(module, example)
    twins = {(c.name, c.occurrence): c for c in second.calls}
    counts: dict[str, int] = {}
    for call in first.calls:
        counts[call.name] = max(counts.get(call.name, 0), call.occurrence)
    spots: dict[str, Spot] = {}
    for call in first.calls:
        twin = twins.get((call.name, call.occurrence))
        name = f"{call.name}#{call.occurrence}" if counts[call.name] > 1 else call.name
        place, time = (call.name, call.occurrence), (call.start, call.end)
        if twin is not None and call.input_shape:
            batched = _is_batched(call.input_shape, twin.input_shape, first, second)
            label = f"before:{name}"
            spots[label] = Spot(label, *place, True, call.input, call.input_shape, batched, *time, alias=False)
        if twin is not None and call.output_shape:
            batched, alias = _is_batched(call.output_shape, twin.output_shape, first, second), call.aliases_input
            spots[name] = Spot(name, *place, False, call.output, call.output_shape, batched, *time, alias=alias)
    return Flow(
        seen=first,
        second=second,
        spots=spots,
        channels_last=set(_channels_last(module, first.calls)),
        repeated={name: n for name, n in counts.items() if n > 1},
        never_called=tuple(name for name, _ in module.named_modules() if name and name not in counts),
    )


def _two_runs(module: nn.Module, example: Inputs) -> tuple[Observation, Observation]:
    try:
        with seal({"model": module}):
            first, second = (observe(module, probe) for probe in probes(example))
    except (RuntimeError, TypeError, ValueError, IndexError, AssertionError) as e:
        raise CutError(
            f"The model does not run on inputs of shape {shape_text(first_input(example).shape[1:])}: {first_line(e)}. "
            "Give inputs of the shape it was made for: data, an example in Python, or --input of `seamripper cuts`."
        ) from e
    if not (first.finite and second.finite):
        raise CutError(
            "The model's answer on the example holds NaN or Inf, so it cannot be checked that two halves reproduce "
            "it. Give an example like the inputs it was trained on."
        )
    return first, second


def first_line(error: Exception) -> str:
    """What an error says, in short."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _is_batched(shape: tuple[int, ...], other: tuple[int, ...], first: Observation, second: Observation) -> bool:
    if len(shape) != len(other) or (shape[0], other[0]) != (first.batch, second.batch):
        return False
    return all(a == b or (a, b) == (first.length, second.length) for a, b in zip(shape[1:], other[1:], strict=True))


def _channels_last(module: nn.Module, calls: Iterable[ModuleCall]) -> Iterator[tuple[int, ...]]:
    """Shapes of 4-D values whose last axis holds the channels: a Linear or LayerNorm works along it."""
    kinds = dict(module.named_modules())
    for call in calls:
        if len(call.input_shape) == 4 and _works_on_last_axis(kinds[call.name], call.input_shape):
            yield call.input_shape[1:]
            yield call.output_shape[1:]


def _works_on_last_axis(layer: nn.Module, shape: tuple[int, ...]) -> bool:
    if isinstance(layer, nn.LayerNorm) and type(layer) is not nn.LayerNorm:
        # The libraries' own: some take n, c, h, w and move the channels to the last axis themselves.
        return layer.normalized_shape == shape[-1:] != shape[1:2]
    return isinstance(layer, nn.Linear | nn.LayerNorm)
