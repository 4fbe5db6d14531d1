"""The pages that are made from the code: one for every measure, stitch, matching, control, audit and so on.

What they say stands on the classes: formula, paper, claims, options, and a docstring with an example. An example of a
control, an audit or a matching needs two networks; they are those of the tutorial.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamripper._options import default_options, known_options, type_words
from seamripper.audits import audits
from seamripper.audits.interventions import interventions
from seamripper.audits.mixtures import mixtures
from seamripper.controls import controls
from seamripper.matching import matchings
from seamripper.measures import measures
from seamripper.measures.base import TRANSFORMATIONS, Measure
from seamripper.registry import Registry
from seamripper.stitches import stitches

Facts = dict[str, object]

NETWORKS = """\
import seamripper as sr

sender, receiver = (sr.split(sr.load(f"{name}-0.safetensors"), "layer2") for name in ("colour", "digit"))
fit, test = (sr.load_data("digits/correlated", split, n=300) for split in ("train", "test"))
"""
"""The start of an example: the two networks that the tutorial trains, and samples on which their cues agree."""


def _measure_facts(measure: Measure) -> Facts:
    claims = measure.claims
    seen = claims.invariant_to if claims.receiver_invariant_to is None else claims.receiver_invariant_to
    of_x, of_y = (_in_order(names) for names in (claims.invariant_to, seen))
    return {
        "direction": f"{claims.direction}: {'higher' if claims.direction == 'similarity' else 'lower'} is more alike",
        "range": f"{claims.range[0]:.4g} to {claims.range[1]:.4g}",
        "of a representation with itself": f"{claims.self_score:.4g}",
        "symmetric": claims.symmetric,
        "invariant to": of_x if of_x == of_y else f"{of_x} of the sender; {of_y} of the receiver",
        "not invariant to": _in_order(set(TRANSFORMATIONS) - claims.invariant_to),
        "computed from": claims.needs,
        "fewest samples": "more than columns" if claims.spans else claims.fewest,
        "widths": "equal" if claims.same_width else "may differ",
    }


def _stitch_facts(stitch: Any) -> Facts:
    return {
        "from": ", ".join(stitch.source_layouts),
        "to": ", ".join(stitch.target_layouts),
        "the same positions on both sides": stitch.same_positions,
    }


def _control_facts(control: Any) -> Facts:
    return {
        "what is known of it": control.known,
        "where its activations come from": control.origin,
        "depends on the sender": control.of_sender,
        "another one for every seed": control.draws,
    }


def _audit_example(name: str) -> str:
    seeds = "(0, 1)" if name == "stability" else "(0,)"
    return (
        f'{NETWORKS}conflict = sr.load_data("digits/digit", "test", n=300)\n'
        'chosen = ("self", "random_sender", "clustered_noise")\n'
        f'options = {{"audits": "{name}", "controls": chosen, "conflict": conflict, "seeds": {seeds}}}\n'
        f'print(sr.audit(sender, receiver, fit, test, **options).verdicts["{name}"])\n'
    )


def _control_example(name: str) -> str:
    others = ', others=(sr.split(sr.load("digit-1.safetensors"), "layer2"),)' if name == "other_seed" else ""
    return (
        f"{NETWORKS}from seamripper.controls import Case, controls\n\n"
        f"case = Case(sender, receiver, fit, test, seeds=(0,){others})\n"
        f'for outcome in controls.make("{name}").outcomes(case):\n    print(outcome.label, outcome.result.top1)\n'
    )


def _matching_example(name: str) -> str:
    return (
        f'{NETWORKS}match = sr.match(sender, receiver, fit, matching="{name}")\nprint(match.status)\n'
        "print(sr.evaluate(match, test).agreement)\n"
    )


@dataclass(frozen=True)
class Kind:
    """One kind of choice: where its pages are, what they say of a choice, and an example where a class has none."""

    folder: str
    title: str
    registry: Registry[Any]
    command: str
    """How a choice is used on the command line."""
    facts: Callable[[Any], Facts] = lambda choice: {}
    example: Callable[[str], str] | None = None


_AUDIT = "seamripper audit colour-0.safetensors@layer2 digit-0.safetensors@layer2 --data digits/correlated"
KINDS = (
    Kind("measures", "Measures", measures, "seamripper measure x.npy y.npy -m {name}", _measure_facts),
    Kind(
        "stitches",
        "Stitches",
        stitches,
        "seamripper stitch A.safetensors@CUT B.safetensors@CUT --data DATA --stitch {name}",
        _stitch_facts,
    ),
    Kind(
        "matchings",
        "Matchings",
        matchings,
        "seamripper stitch A.safetensors@CUT B.safetensors@CUT --data DATA --matching {name}",
        example=_matching_example,
    ),
    Kind("controls", "Controls", controls, f"{_AUDIT} --controls {{name}}", _control_facts, _control_example),
    Kind(
        "audits",
        "Audits",
        audits,
        f"{_AUDIT} --conflict digits/digit --audits {{name}}",
        lambda audit: {"asks": audit.question, "compares accuracies": audit.by_accuracy},
        _audit_example,
    ),
    Kind(
        "interventions",
        "Interventions",
        interventions,
        f"{_AUDIT} --interventions {{name}}",
        lambda change: {"for": change.kind},
    ),
    Kind("mixtures", "Mixtures", mixtures, f"{_AUDIT} --mixtures {{name}}", lambda mix: {"for": ", ".join(mix.forms)}),
)


def write(pages: Path) -> dict[str, list[str]]:
    """Write the pages of every kind into its folder; return their names, the list of all first, by title."""
    written = {}
    for kind in KINDS:
        folder = pages / kind.folder
        folder.mkdir()
        (folder / "index.md").write_text(_list_of(kind))
        for name in kind.registry:
            (folder / f"{name}.md").write_text(page(kind, name))
        written[kind.title] = [f"{kind.folder}/{name}.md" for name in ("index", *kind.registry)]
    return written


def page(kind: Kind, name: str) -> str:
    """The page on one choice."""
    choice = kind.registry.make(name)
    first, rest, doctest = _docstring(type(choice))
    parts = [f"# {name}", _linked(first, kind, name)]
    if choice.formula:
        lines = html.escape(choice.formula).replace(",  ", "\n")
        parts.append(f'<div class="formula">{lines}</div>')
    parts += [_linked(part, kind, name) for part in rest]
    parts += [_table(("", ""), _rows(kind.facts(choice))), *_options(type(choice))]
    if choice.formula:
        parts.append(f"**Paper.** {choice.paper or 'None: it is of this project'}.")
    parts += ["## Example", f"    {kind.command.format(name=name)}"]
    if kind.example and not (doctest and kind.folder == "matchings"):
        parts.append(f"```python\n{kind.example(name)}```")
    if doctest:
        parts.append(f"```pycon\n{_imports(type(choice), doctest)}{doctest}\n```")
    parts.append(f"Source: `{_source(type(choice))}`.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _list_of(kind: Kind) -> str:
    """The page that lists all choices of a kind, each with its line."""
    first = inspect.getmodule(kind.registry.base).__doc__ or ""
    rows = [(f"[`{name}`]({name}.md)", kind.registry.describe(name)) for name in kind.registry]
    lead = first.strip().splitlines()[0]
    if kind.folder == "measures":
        lead += " [What the letters mean](../measures.md#letters)."
    lines = (
        f"# {kind.title}",
        lead,
        f"    seamripper list {kind.folder}",
        _table((kind.registry.what, "what it is"), rows),
    )
    return "\n\n".join(lines) + "\n"


def _docstring(cls: type[Any]) -> tuple[str, list[str], str]:
    """The first paragraph of a class's docstring, the others, and its examples."""
    paragraphs = inspect.cleandoc(cls.__doc__ or "").split("\n\n")
    prose = [part for part in paragraphs if not part.startswith(">>>")]
    doctest = "\n".join(part for part in paragraphs if part.startswith(">>>"))
    return prose[0], prose[1:], doctest


def _linked(text: str, kind: Kind, own: str) -> str:
    """A paragraph in which the names of other choices lead to their pages, and constants are their values."""

    cls = kind.registry[own]
    options, constants = known_options(cls), vars(inspect.getmodule(cls))
    # A word such as `mean` is an option's value more often than it is the mixture.
    others = [kind, *(other for other in KINDS if other.folder not in ("interventions", "mixtures"))]

    def link(found: re.Match[str]) -> str:
        name = found[1]
        if name.isupper() and isinstance(constants.get(name), int | float):
            return f"{constants[name]:g}"
        home = next((other for other in others if name in other.registry), None)
        if home is None or name in options or (home, name) == (kind, own):
            return found[0]
        return f"[`{name}`](../{home.folder}/{name}.md)"

    return re.sub(r"`(\w+)`", link, text)


def _imports(cls: type[Any], doctest: str) -> str:
    """What an example takes from its file, as the lines by which a reader can have it."""
    module = inspect.getmodule(cls)
    words = set(re.findall(r"\b[A-Za-z]\w*", doctest))
    taken = sorted(word for word in words if hasattr(module, word) and not inspect.ismodule(getattr(module, word)))
    lines = [">>> import torch"] if "torch" in words and "import torch" not in doctest else []
    by_home: dict[str, list[str]] = {}
    for word in taken:
        home = getattr(getattr(module, word), "__module__", module.__name__)
        if f"import {word}" not in doctest:
            by_home.setdefault(home, []).append(word)
    lines += [f">>> from {home} import {', '.join(names)}" for home, names in sorted(by_home.items())]
    return "".join(f"{line}\n" for line in lines)


def _options(cls: type[Any]) -> Iterator[str]:
    """The options of a class with what they may be, as a table with its heading."""
    bounds, defaults, rows = getattr(cls, "least", {}), default_options(cls), []
    for name, (hint, _) in known_options(cls).items():
        least = f", at least {bounds[name]:g}" if name in bounds else ""
        rows.append((f"`{name}`", f"`{defaults.get(name)}`", type_words(hint) + least))
    if rows:
        yield "## Options"
        yield _table(("option", "default", "what it may be"), rows)


def _in_order(names: Any) -> str:
    return ", ".join(name for name in TRANSFORMATIONS if name in names) or "nothing"


def _rows(facts: Facts) -> list[tuple[str, str]]:
    words = {True: "yes", False: "no"}
    return [(name, words.get(fact, str(fact)) if isinstance(fact, bool) else str(fact)) for name, fact in facts.items()]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown; nothing if it has no rows."""
    if not rows:
        return ""
    lines = [" | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) for row in (head, *rows)]
    lines.insert(1, " | ".join("---" for _ in head))
    return "\n".join(f"| {line} |" for line in lines)


def _source(cls: type[Any]) -> str:
    return "src/" + cls.__module__.replace(".", "/") + ".py"
