"""Registry: whatever is chosen by a word is chosen by `name?option=value`, in Python, on the command line and in TOML.

A choice is a frozen dataclass whose fields are its options. A registry finds the choices of one kind: those that the
files of its package define, and those of third parties, which register an entry point under the package's name.
"""

from __future__ import annotations

import abc
import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from seamripper._doors import require
from seamripper._options import (
    changed_options,
    default_options,
    known_options,
    read_options,
    require_known,
    require_options,
    split_options,
    with_options,
)
from seamripper._own_code import import_file, running
from seamripper._words import did_you_mean, word_list
from seamripper.errors import SeamripperError

T = TypeVar("T")
_BETWEEN = re.compile(r",(?!\s*[\d-])")
"""The comma between two choices. One before a digit stands in an option: `task?label_map=1,0`."""


@dataclass(frozen=True)
class Choice(abc.ABC):
    """What a word can name: a frozen dataclass with a `name`, whose fields are its options."""

    what: ClassVar[str]
    """What kind of choice it is, as messages call it: "stitch"."""
    error: ClassVar[type[SeamripperError]]
    name: ClassVar[str]
    least: ClassVar[Mapping[str, float]] = {}
    """The least value that an option may have."""
    between: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Two numbers that an option must lie between; neither of the two is allowed."""
    takes: ClassVar[str] = ""
    """The option that stands after a colon: `path` in `folder:PATH`."""
    keywords: ClassVar[str] = ""
    """The option that takes, as text, whatever other options a word has."""
    formula: ClassVar[str] = ""
    """What is computed, in a line; the documentation's page on it starts with that."""
    paper: ClassVar[str] = ""
    """Whose it is: authors and year. Empty where it is from no paper."""

    def __post_init__(self) -> None:
        # A leaf with checks of its own calls this first.
        what = f"the {self.what} {self.name!r}"
        require_options(self, what, error=self.error, **self.least)
        for option, (low, high) in self.between.items():
            value = getattr(self, option)
            if not low < value < high:
                upper = "" if high == math.inf else f" and below {high:g}"
                raise self.error(f"Expected {option} of {what} to be a number above {low:g}{upper}, but got {value!r}.")

    @property
    def label(self) -> str:
        """The word that names this choice: its name, and the options that differ from their defaults."""
        changed = changed_options(self)
        variant, argument = changed.pop("variant", ""), changed.pop(self.takes, "")
        word = self.name + (variant and f"/{variant}") + (argument and f":{argument}")
        options = "&".join(f"{name}={value}" for name, value in changed.items())
        return f"{word}?{options}" if options else word

    def as_record(self) -> dict[str, Any]:
        """The choice as JSON has it: its name and every option."""
        return {"name": self.name, **asdict(self)}


class Registry(Mapping[str, Any], Generic[T]):
    """The choices of one kind by name. They are imported when the registry is first read.

    With `values`, the entries are values of the class `base`, and have no options; otherwise they are classes.
    An entry point that cannot be imported, or is something else, breaks nothing: `broken` says what is wrong with it.
    """

    def __init__(
        self,
        base: type[Any],
        package: str,
        *,
        what: str,
        error: type[SeamripperError],
        values: bool = False,
        elsewhere: Mapping[str, str] | None = None,
        files: bool = True,
    ) -> None:
        self.base, self.package, self.what, self.error, self.values_only = base, package, what, error, values
        self.elsewhere = dict(elsewhere or {})
        """Words that name something else, each with the sentence that says so."""
        self.files = files
        """Whether `FILE.py:CLASS` names a choice too."""
        self._entries: dict[str, Any] | None = None
        self._broken: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<the registry of every {self.what}: {len(self)} of them>"

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    @property
    def broken(self) -> Mapping[str, str]:
        """Entry points that cannot be used, by name, each with the reason."""
        self._all()
        return self._broken

    def make(self, choice: T | str, /, **options: Any) -> T:
        """The choice that a word means, `name?option=value`, or `FILE.py:CLASS` for one in a user's own file.

        More options may be given beside the word. A choice that is one already is returned as it is.
        """
        return self._make(choice, options)

    def _make(self, choice: T | str, options: Mapping[str, Any], groups: Iterable[str] = ()) -> T:
        if isinstance(choice, self.base):
            return choice  # type: ignore[no-any-return]
        require(choice, (self.base, str), f"the {self.what}", error=self.error)
        head, written = self._parts(str(choice))
        entry, taken, guard = self._entry(head, groups)
        if self.values_only:
            if written or options:
                raise self.error(f"The {self.what} {head!r} has no options, but got {str(choice)!r}.")
            return entry  # type: ignore[no-any-return]
        what = f"{self.what} {entry.name!r}"
        # What stands before the question mark is no option.
        fixed = ("variant", getattr(entry, "takes", ""), getattr(entry, "keywords", ""))
        require_known(options, entry, f"The {what}", error=self.error, fixed=fixed)
        for option in options:
            if option in written:
                raise self.error(f"Option {option!r} is given twice, in {choice!r} and beside it: keep one of them.")
        if getattr(entry, "keywords", ""):
            known = known_options(entry)
            taken[entry.keywords] = {name: text for name, text in written.items() if name not in known}
            written = {name: text for name, text in written.items() if name in known}
        with guard:
            made = entry(**taken, **options)
            return with_options(made, read_options(written, entry, what, error=self.error, fixed=fixed))  # type: ignore[no-any-return]

    def many(
        self, choices: Iterable[T | str] | T | str, groups: Mapping[str, Callable[[], Iterable[T]]] | None = None
    ) -> list[T]:
        """The choices that these words mean, each once. Commas separate words; a group's word is all its members.

        The members of a group are made only if its word is among the choices.
        """
        chosen: dict[Any, T] = {}
        for choice in self.several(choices):
            group = groups.get(choice) if groups and isinstance(choice, str) else None
            for member in [self._make(choice, {}, groups or ())] if group is None else group():
                self._require_same(chosen.setdefault(getattr(member, "label", member), member), member)
        return list(chosen.values())

    def several(self, choices: Iterable[T | str] | T | str) -> list[T | str]:
        """Choices and words in a list: one alone may be given as it is, and commas separate words."""
        if isinstance(choices, str):
            return [word.strip() for word in _BETWEEN.split(choices)]
        if isinstance(choices, self.base):
            return [choices]
        require(choices, Iterable, f"{self.what}s", error=self.error)
        given = list(choices)  # type: ignore[arg-type]
        for choice in given:
            require(choice, (self.base, str), f"each {self.what}", error=self.error)
        return [part for choice in given for part in (self.several(choice) if isinstance(choice, str) else [choice])]

    def _require_same(self, first: object, second: object) -> None:
        """Refuse two different classes of one name: nobody could tell their results apart."""
        homes = {(type(choice).__module__, type(choice).__qualname__) for choice in (first, second)}
        if len(homes) > 1:
            raise self.error(
                f"Two different classes are called {self.what} {second.label!r}, and their results could not be told "  # type: ignore[attr-defined]
                "apart: give one of them another `name`."
            )

    def from_record(self, record: Mapping[str, Any], word: str | None = None) -> T:
        """The choice that `as_record` wrote down; options that the record does not have keep their defaults.

        A record may come from a file that its user was handed: no code that it names is run. Whoever trusts the file
        that defines a class gives its `word`, `FILE.py:CLASS`.
        """
        if word is None:
            self._require_name(record)
        options = {name: value for name, value in record.items() if name != "name"}
        choice = self.make(record["name"] if word is None else word)
        require_known(options, type(choice), f"The {self.what} {choice.name!r}", error=self.error)  # type: ignore[attr-defined]
        return with_options(choice, options)  # type: ignore[no-any-return]

    def _require_name(self, record: Mapping[str, Any]) -> None:
        """Refuse a record without the name of a choice; one that names a file is not looked up, as that runs it."""
        name = record.get("name")
        if isinstance(name, str) and name not in self and ":" not in name:
            raise self.error(f"There is no {self.what} {name!r}: {did_you_mean(name, list(self))}")
        if name not in self:
            raise self.error(
                f"Expected the record of a {self.what} to have a 'name', but got {dict(record)!r}; there are "
                f"{word_list(self)}."
            )

    def vary(self, choice: T, word: str) -> T:
        """The choice with the options that a word of the same name has."""
        _, written = self._parts(word)
        what = f"{self.what} {choice.name!r}"  # type: ignore[attr-defined]
        return with_options(choice, read_options(written, type(choice), what, error=self.error))  # type: ignore[no-any-return]

    def _parts(self, word: str) -> tuple[str, dict[str, str]]:
        """What stands before the options, and the options as text. A path may hold a question mark of its own."""
        head, _, rest = word.partition("?")
        if ":" in head and "=" not in rest:
            return word, {}
        return split_options(word, error=self.error)

    def _entry(self, head: str, groups: Iterable[str]) -> tuple[Any, dict[str, Any], AbstractContextManager[None]]:
        """The entry that `NAME`, `NAME/VARIANT`, `NAME:ARGUMENT` or `FILE.py:CLASS` means, and what the word sets."""
        file, _, cls = head.rpartition(":")
        if self.files and file.endswith(".py"):
            path = Path(file)
            return self._class_in(path, cls), {}, running(path, f"{head} could not be made", error=self.error)
        if self.files and head.endswith(".py"):
            raise self.error(f"Say which class of the file is the {self.what}: '{head}:MyClass'.")
        named, colon, argument = head.partition(":")
        name, slash, variant = named.partition("/")
        entry = self._all().get(name)
        takes, variants = getattr(entry, "takes", ""), getattr(entry, "variants", {})
        variants = variants if isinstance(variants, Mapping) else {}
        if entry is None or (slash and variant not in variants) or (colon and not takes):
            if head in self.elsewhere:
                raise self.error(self.elsewhere[head])
            if name in self._broken:
                raise self.error(f"The {self.what} {name!r} cannot be used: {self._broken[name]}")
            raise self.error(
                f"There is no {self.what} {head!r}: {did_you_mean(named, [*self.words(), *groups, *self.elsewhere])}"
            )
        if takes and not argument:
            raise self.error(f"The {self.what} {name!r} needs a {takes}: '{name}:{takes.upper()}'.")
        taken: dict[str, Any] = {"variant": variant} if slash else {}
        return entry, taken | ({takes: argument} if takes else {}), nullcontext()

    def reload(self) -> None:
        """Look again for what third parties have registered: in a notebook that has just installed something."""
        self._entries, self._broken = None, {}

    def words(self) -> list[str]:
        """Every word that names a choice without options: `mnist`, `mnist/digit`, `folder:PATH`."""
        names = []
        for name, entry in self._all().items():
            takes, variants = getattr(entry, "takes", ""), getattr(entry, "variants", {})
            names.append(f"{name}:{takes.upper()}" if takes else name)
            names += [f"{name}/{variant}" for variant in variants] if isinstance(variants, Mapping) else []
        return names

    def describe(self, name: str) -> str:
        """One line on an entry: its `about`, its `question`, or the first line of its documentation."""
        entry = self[name]
        # An option may have the name too, and its default says nothing of the entry.
        said = [getattr(entry, word, "") for word in ("about", "question") if word not in self.options(name)]
        return next(filter(None, said), (entry.__doc__ or "").strip().split("\n")[0])

    def options(self, name: str) -> dict[str, Any]:
        """The options of an entry with their defaults; None stands for what must be given."""
        return {} if self.values_only else default_options(self[name])

    def _class_in(self, path: Path, word: str) -> type[Any]:
        """The choice that a user's own file defines under this name."""
        module = import_file(path, word, error=self.error)
        cls = getattr(module, word, None)
        if cls is None:
            own = [k for k, v in vars(module).items() if self._is_entry(v) and v.__module__ == module.__name__]
            near = did_you_mean(word, own) if own else f"it defines no {self.what}."
            raise self.error(f"{path} has no class {word!r}: {near}")
        wrong = self._misfit(cls)
        if wrong:
            raise self.error(f"{path}:{word} is not a complete {self.what}: {wrong}")
        return cls  # type: ignore[no-any-return]

    def _is_entry(self, value: object) -> bool:
        if self.values_only:
            return isinstance(value, self.base)
        whole = inspect.isclass(value) and issubclass(value, self.base) and not inspect.isabstract(value)
        return whole and hasattr(value, "name")

    def _misfit(self, value: object) -> str:
        """Why a value cannot be an entry, as the end of a sentence; empty if it can."""
        kind = "a value of" if self.values_only else "a class made from"
        base = f"seamripper's {self.base.__name__}"
        if self.values_only or not inspect.isclass(value):
            return "" if self._is_entry(value) else f"expected {kind} {base}, but got a {type(value).__name__}."
        if not issubclass(value, self.base):
            return f"expected {kind} {base}, but got {value.__name__}."
        declared = [(k, a) for cls in self.base.__mro__ for k, a in inspect.get_annotations(cls).items()]
        required = [k for k, a in declared if str(a).startswith("ClassVar") and not hasattr(value, k)]
        missing = sorted(getattr(value, "__abstractmethods__", ())) or sorted(required)
        return f"it does not define {' and '.join(missing)}." if missing else ""

    def _all(self) -> dict[str, Any]:
        if self._entries is None:
            entries = {entry.name: entry for entry in self._own()}
            for point in entry_points(group=self.package):
                self._take(point, entries)
            self._entries = dict(sorted(entries.items()))
        return self._entries

    def _own(self) -> Iterator[Any]:
        """The entries that the files of the package define."""
        folder = importlib.import_module(self.package)
        for info in pkgutil.iter_modules(folder.__path__):
            module = importlib.import_module(f"{self.package}.{info.name}")
            for value in vars(module).values():
                # What a file imports is another file's own.
                if self._is_entry(value) and (self.values_only or value.__module__ == module.__name__):
                    yield value

    def _take(self, point: EntryPoint, entries: dict[str, Any]) -> None:
        """Enter what a third party has registered, or say why it cannot be entered."""
        if point.name in entries:
            self._broken[point.name] = f"{point.value} registers it, but the name is taken."
            return
        try:
            value = point.load()
        # A third party's file may raise anything, and must not take the others along.
        except Exception as e:
            self._broken[point.name] = f"{point.value} could not be imported: {type(e).__name__}: {e}"
            return
        wrong = self._misfit(value)
        if not wrong and value.name != point.name:
            wrong = f"its name is {value.name!r}, but it is registered as {point.name!r}."
        if wrong:
            self._broken[point.name] = f"{point.value} is not a complete {self.what}: {wrong}"
        else:
            entries[point.name] = value
