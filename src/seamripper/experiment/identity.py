"""Identities: what the words of a study stand for, exactly; looked up once and remembered by the store.

A study says "mnist/digit" and "theirs.safetensors"; a job's content has the fingerprints of those samples and of those
weights. To compute them takes torch and the data; to remember them does not, so that a finished study is seen to be
finished in a moment. What is remembered of a file holds while its size and its time of change do.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import os
import warnings
from collections.abc import Callable, Iterable, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seamripper._files import plain
from seamripper._words import did_you_mean, shape_text
from seamripper.errors import ExperimentError
from seamripper.experiment.job import canonical, decides, digest
from seamripper.experiment.tables import Network

if TYPE_CHECKING:
    from seamripper.models import Model
    from seamripper.registry import Registry

T = TypeVar("T")
MODELS = "seamripper.models:sources"
MATCHINGS, STITCHES = "seamripper.matching:matchings", "seamripper.stitches:stitches"
CONTROLS, AUDITS = "seamripper.controls:controls", "seamripper.audits:audits"
INTERVENTIONS = "seamripper.audits.interventions:interventions"
MIXTURES = "seamripper.audits.mixtures:mixtures"
"""Where registries are: they are imported only when a word of theirs is looked up for the first time."""
_MOST = 2_000_000
"""Files of a data folder whose changes are looked for: ImageNet has 1,331,167."""


class Identities:
    """Looks words up; `memo` is where answers are remembered, by a digest of the question."""

    def __init__(self, memo: MutableMapping[str, Any], *, folder: str = ".") -> None:
        self.memo, self.folder = memo, Path(folder)

    def data(self, name: str, split: str, n: int | None, seed: int) -> dict[str, Any]:
        """Fingerprint, shape, classes and size of these samples."""

        def look() -> dict[str, Any]:
            samples = self.samples(name, split, n, seed)
            shape, size = list(samples.shape), len(samples)
            return {"fingerprint": samples.fingerprint, "shape": shape, "classes": samples.classes, "n": size}

        return self._once(["data", name, split, n, seed, self._signature(name)], look)

    def samples(self, name: str, split: str, n: int | None, seed: int) -> Any:
        """The samples themselves."""
        from seamripper.data import load_data

        return load_data(self.absolute_name(name), split, n=n, seed=seed)

    def absolute_name(self, name: str) -> str:
        """A name with a path in it ("folder:photos", "mine.py:make"), with the path as it is from anywhere."""
        head, mark, options = name.partition("?")
        words = [f"weights={self._path(w[8:])}" if w.startswith("weights=") else w for w in options.split("&")]
        tail = f"{mark}{'&'.join(words)}"
        file, _, function = head.rpartition(":")
        scheme, colon, path = head.partition(":")
        if file.endswith(".py"):
            return f"{self._path(file)}:{function}{tail}"
        if colon and self._is_path(scheme, path):
            return f"{scheme}:{self._path(path)}{tail}"
        return f"{self._path(head)}{tail}" if head.endswith(".safetensors") else f"{head}{tail}"

    def _is_path(self, scheme: str, path: str) -> bool:
        """Whether a path stands after the colon, as a source of models declares; after other words, always."""
        takes = self._once(["takes a path", scheme], lambda: _takes_path(scheme))
        return takes == "always" or (takes == "perhaps" and self._path(path).exists())

    def network(self, network: Network) -> dict[str, Any]:
        """The architecture, written the one way, and the whole training of a network that is trained here."""

        def look() -> dict[str, Any]:
            from seamripper.models import Architecture, require_for_networks, training_for

            architecture = Architecture.parse(str(network.train))
            training = training_for(architecture, network.training or None)
            require_for_networks(training)
            return {"architecture": architecture.spec, "training": plain(training.as_record())}

        return self._once(["network", network.train, network.training], look)

    def choice(self, place: str, word: str, also: Sequence[str] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
        """The record of the choice that a word means, with every option, and where a user's own file for it is.

        A choice of a user's file is recorded with the sha256 of the file: a changed file makes other jobs. `also` are
        words that mean something elsewhere, for a wrong word's nearest right one.
        """
        said, located, where = self.own_file(word)
        record = self._once([place, said], lambda: dict(plain(_make(place, located, also).as_record())))
        return (record if said == word else {**record, "own": said.partition("?")[0]}), where

    def word(self, place: str, word: str, also: Sequence[str] = ()) -> tuple[str, dict[str, Any]]:
        """A word that means a choice, as a content has it, and where a user's own file for it is.

        The file is named by its sha256, and options that are as they are by default are left out.
        """
        said, located, where = self.own_file(word)

        def look() -> str:
            _, mark, options = str(_make(place, located, also).label).partition("?")
            return said.partition("?")[0] + mark + options

        return self._once([place, "word", said], look), where

    def fact(self, place: str, word: str, name: str) -> Any:
        """What a choice declares of itself: whether a control has to do with the sender, say."""
        said, located, _ = self.own_file(word)
        return self._once([place, name, said], lambda: getattr(_make(place, located), name))

    def own_file(self, word: str) -> tuple[str, str, dict[str, Any]]:
        """A word with its file named by the sha256, the same with the file's path, and where the file is."""
        head, mark, options = word.partition("?")
        file, _, cls = head.rpartition(":")
        if not file.endswith(".py"):
            return word, word, {}
        path, sha = self.file(file)
        return f"{sha}:{cls}{mark}{options}", f"{path}:{cls}{mark}{options}", {f"file:{sha}": path}

    def loaded_model(self, spec: str) -> dict[str, Any]:
        """The fingerprint of a model that is loaded, weights and modules."""
        question = ["model and code", self.absolute_name(spec), self._signature(spec)]
        return self._once(question, lambda: {"fingerprint": identity_of(self._load(spec))})

    def made_for(self, spec: str) -> dict[str, Any]:
        """The shape of one input that a model is made for; empty if it takes any."""
        question = ["made for", self.absolute_name(spec), self._signature(spec)]
        return self._once(question, lambda: {"input": list(self._load(spec).input or ())})

    def classes(self, model: dict[str, Any], spec: str, shape: list[int]) -> int:
        """How many classes a model tells apart, by what it answers to an input of this shape."""

        def look() -> int:
            import torch

            from seamripper.models import answer_of

            network = self._load(spec)
            example = network.example(2, input=network.shown_shape(shape))
            try:
                with torch.no_grad():
                    answer = answer_of(network.module.eval(), example)
            except (RuntimeError, TypeError, ValueError, IndexError, AssertionError) as e:
                why = (str(e).splitlines() or [type(e).__name__])[0].rstrip(".")
                raise ExperimentError(f"{spec} does not run on inputs of shape {shape_text(shape)}: {why}.") from e
            if answer.dim() != 2:
                raise ExperimentError(f"{spec} answers with shape {list(answer.shape[1:])}, and not with classes.")
            return int(answer.shape[1])

        return self._once(["classes", model, shape], look)

    def require_cuts(self, model: dict[str, Any], spec: str, cuts: Iterable[str], shape: list[int]) -> None:
        """Refuse a cut that the model does not have, in the words of `split`."""
        wanted = sorted(set(cuts))

        def look() -> list[str]:
            from seamripper.cut import require_cuts

            network = self._load(spec)
            require_cuts(network, wanted, network.example(2, input=network.shown_shape(shape)))
            return wanted

        self._once(["cuts", model, wanted, shape], look)

    def cut_names(self, model: dict[str, Any], spec: str, cuts: list[str] | None, shape: list[int]) -> list[str]:
        """The cuts of a matrix that these words mean: they may hold `*`, and None is behind every block."""

        def look() -> list[str]:
            from seamripper.cut import heads

            network = self._load(spec)
            example = network.example(2, input=network.shown_shape(shape))
            return [cut.name for cut in heads(network, cuts, example).cuts]

        return self._once(["names of cuts", model, cuts, shape], look)

    def remember(self, question: Any, look: Callable[[], Any]) -> Any:
        """The answer to a question, looked up once."""
        return self._once(["answer", question], look)

    def file(self, path: str) -> tuple[str, str]:
        """A user's own file: where it is, and the sha256 of its bytes."""
        place = self._path(path)
        if not place.is_file():
            from seamripper._files import files_beside

            raise ExperimentError(f"There is no file {place}.{files_beside(place)}")
        return str(place), hashlib.sha256(place.read_bytes()).hexdigest()

    def require_function(self, path: str, sha: str, function: str) -> None:
        """Refuse a function that a user's file nowhere defines; the file is read for that, not run."""

        def look() -> bool:
            try:
                # What Python warns of (an escape that is none, say) it tells when the file is run.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tree = ast.parse(Path(path).read_bytes())
            except (SyntaxError, ValueError) as e:
                raise ExperimentError(f"{path} is not Python: {e}.") from e
            names = _names(tree)
            if function not in names and "*" not in names:
                raise ExperimentError(f"{path} has no function {function!r}: {did_you_mean(function, names)}")
            return True

        self._once(["function", sha, function], look)

    def _load(self, spec: str) -> Model:
        from seamripper.models import load

        return load(self.absolute_name(spec))

    def _path(self, path: str) -> Path:
        return (self.folder / Path(path).expanduser()).resolve()

    def _signature(self, name: str) -> list[Any]:
        """Sizes and times of change of the files that a name speaks of; nothing for a name without any."""
        located = self.absolute_name(name)
        head, _, options = located.partition("?")
        paths = [w.partition("=")[2] for w in options.split("&") if w.startswith("weights=")]
        paths += [part for part in (head, head.rpartition(":")[0], head.partition(":")[2]) if part.startswith(os.sep)]
        return [entry for path in paths for entry in _stats(Path(path))]

    def _once(self, question: list[Any], look: Callable[[], T]) -> T:
        key = digest([question, decides()])
        if key not in self.memo:
            self.memo[key] = look()
        answer: T = self.memo[key]
        return answer


def _takes_path(scheme: str) -> str:
    """Whether a path follows this word and a colon: always, never, or perhaps."""
    registry = _registry(MODELS)
    if scheme in registry:
        return str(registry[scheme].takes_path)
    return "perhaps" if scheme in registry.broken else "always"


def _registry(place: str) -> Registry[Any]:
    module, _, name = place.partition(":")
    registry: Registry[Any] = getattr(importlib.import_module(module), name)
    return registry


def _make(place: str, word: str, also: Sequence[str] = ()) -> Any:
    """The choice that a word means to the registry at a place."""
    registry = _registry(place)
    head = word.partition("?")[0]
    if ".py:" not in head and head not in registry and head not in registry.broken:
        near = did_you_mean(head, [*also, *registry.words()])
        raise ExperimentError(f"There is no {registry.what} {head!r}: {near}")
    try:
        return registry.make(word)
    except registry.error as e:
        raise ExperimentError(str(e)) from e


def identity_of(model: Model) -> str:
    """A fingerprint of weights, modules and code: activation functions, say, which no weight tells of.

    A file of the user's own counts whole, as what its `forward` does is seen by nothing else.
    """
    import re

    from seamripper._files import sha256_of
    from seamripper._fingerprint import join_fingerprints

    file = model.source.partition("?")[0].rpartition(":")[0]
    code = [sha256_of(Path(file))] if file.endswith(".py") else []
    return join_fingerprints([model.fingerprint, re.sub(r" at 0x[0-9a-f]+", "", repr(model.module)), *code])


def _names(tree: ast.AST) -> list[str]:
    """Every name that a file defines, assigns or imports, wherever it does."""
    names = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            names.append(node.asname or node.name)
    return list(dict.fromkeys(names))


def _stats(path: Path) -> list[Any]:
    if path.is_file():
        stat = path.stat()
        return [[str(path), stat.st_size, stat.st_mtime_ns]]
    # Not as one list: that of ImageNet would take half a gigabyte.
    seen, number = hashlib.sha256(), 0
    for folder, folders, files in os.walk(path):
        folders.sort()
        for file in sorted(files):
            place = Path(folder) / file
            stat = place.stat()
            seen.update(canonical([str(place), stat.st_size, stat.st_mtime_ns]).encode())
            number += 1
            if number > _MOST:
                raise ExperimentError(f"{path} has more than {_MOST:,} files: too many to see whether any has changed.")
    return [seen.hexdigest()] if number else []
