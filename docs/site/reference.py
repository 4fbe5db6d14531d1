"""The reference: every public name with its signature and what its docstring says, and every command with its help."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import seamripper
from seamripper.cli import cli


def write(pages: Path) -> list[str]:
    """Write the pages of the reference, and return their names."""
    (pages / "api.md").write_text("\n\n".join(_api()) + "\n")
    (pages / "options.md").write_text("\n\n".join(_commands()) + "\n")
    return ["api.md", "options.md"]


def _api() -> Iterator[str]:
    yield "# Python: every public name"
    yield (
        f"`import seamripper as sr` gives these {len(seamripper.__all__)} names. Everything else is reached through "
        "its package, such as `seamripper.matching.Task`: see [measures](measures/index.md), "
        "[stitches](stitches/index.md), [matchings](matchings/index.md), [controls](controls/index.md) and "
        "[audits](audits/index.md)."
    )
    for name in sorted(seamripper.__all__, key=lambda name: (name[0].isupper(), name)):
        yield from _entry(name, getattr(seamripper, name))


def _entry(name: str, value: Any) -> Iterator[str]:
    """A heading, the signature, the docstring, and the public members of a class."""
    yield f"## {name}"
    kind = "class " if inspect.isclass(value) else ""
    yield f"```python\n{kind}{name}{_signature(value)}\n```"
    yield _prose(value)
    if inspect.isclass(value):
        members = [_member(key, member) for key, member in vars(value).items() if not key.startswith("_")]
        lines = [line for line in members if line]
        if lines:
            yield "\n".join(lines)


def _member(name: str, member: Any) -> str:
    """A line on a method or a property; nothing on a field, which the signature has."""
    target = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    if not inspect.isfunction(target) or not target.__doc__:
        return ""
    call = "" if isinstance(member, property) else "()"
    return f"- `.{name}{call}`: {target.__doc__.strip().splitlines()[0]}"


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    arguments = list(_arguments(signature))
    line = f"({', '.join(arguments)})"
    return line if len(line) < 80 else "(\n    " + ",\n    ".join(arguments) + ",\n)"


def _arguments(signature: inspect.Signature) -> Iterator[str]:
    """The arguments with their defaults, the star before the first that is given by its name only.

    No annotations: what an argument may be is said by the docstring, in words.
    """
    starred = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            yield f"**{name}"
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield name if parameter.default is parameter.empty else f"{name}={_default(parameter.default)}"


def _default(value: Any) -> str:
    """A default as a reader would write it; one that is made or computed stays out."""
    text = repr(getattr(value, "label", value))
    return "…" if "<" in text or len(text) > 110 else text


def _prose(value: Any) -> str:
    """The docstring, with its examples as code."""
    parts = inspect.cleandoc(value.__doc__ or "").split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.startswith(">>>") else part for part in parts)


def _commands() -> Iterator[str]:
    yield "# Command line: every option"
    yield "Every command takes `--help`. What it says:"
    # With its settings: click keeps the help option of a command as it was first asked for, for everybody after.
    context = click.Context(cli, info_name="seamripper", **cli.context_settings)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        text = command.get_help(click.Context(command, info_name=name, parent=context, terminal_width=100))
        yield f"## {name}\n\n```text\n{text}\n```"
