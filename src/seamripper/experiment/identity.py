"""Identities: what the words of an experiment stand for, exactly; found once and remembered by the store.

An experiment says "mnist/digit" and "theirs.safetensors"; a job's content has the fingerprints of those samples and of
those weights. To find them takes torch and the data; to remember them does not, so that a study that is finished is
seen to be finished in a moment. What is remembered of a file holds while its size and time of change do.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamripper.errors import ExperimentError
from seamripper.experiment.job import decides, digest
from seamripper.experiment.spec import Network

if TYPE_CHECKING:
    from seamripper.models import Model

_MOST = 200_000
"""Files of a data folder whose changes are looked for."""


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

        found: dict[str, Any] = self._once(["data", name, split, n, seed, self._signature(name)], look)
        return found

    def samples(self, name: str, split: str, n: int | None, seed: int) -> Any:
        """The samples themselves."""
        from seamripper.data import load_data

        return load_data(self.located(name), split, n=n, seed=seed)

    def located(self, name: str) -> str:
        """A name with a path in it ("folder:photos", "mine.py:make"), with the path as it is from anywhere."""
        scheme, colon, path = name.partition(":")
        if colon and scheme not in ("zoo", "torchvision", "timm", "hf") and not scheme.endswith(".py"):
            return f"{scheme}:{self._absolute(path)}"
        head, mark, options = name.partition("?")
        file, colon, function = head.rpartition(":")
        if file.endswith(".py"):
            return f"{self._absolute(file)}:{function}{mark}{options}"
        if head.endswith(".safetensors"):
            return f"{self._absolute(head)}{mark}{options}"
        words = [f"weights={self._absolute(w[8:])}" if w.startswith("weights=") else w for w in options.split("&")]
        return f"{head}{mark}{'&'.join(words)}"

    def network(self, network: Network) -> dict[str, Any]:
        """The architecture, written the one way, and the whole recipe of a network that is trained here."""

        def look() -> dict[str, Any]:
            import dataclasses

            from seamripper.models import Architecture, Recipe

            architecture = Architecture.parse(str(network.train))
            base = Recipe.autoencoder() if architecture.reconstructs else Recipe.smith()
            recipe = dataclasses.asdict(dataclasses.replace(base, **network.recipe))
            return {"architecture": architecture.spec, "recipe": recipe}

        found: dict[str, Any] = self._once(["network", network.train, network.recipe], look)
        return found

    def loaded(self, spec: str) -> dict[str, Any]:
        """The fingerprint of a model that is loaded, weights and modules."""

        def look() -> dict[str, Any]:
            return {"fingerprint": identity_of(self._load(spec))}

        found: dict[str, Any] = self._once(["loaded", self.located(spec), self._signature(spec)], look)
        return found

    def require_cuts(self, model: dict[str, Any], spec: str, cuts: Iterable[str], shape: list[int]) -> None:
        """Refuse a cut that the model does not have, in the words of `split`."""
        wanted = sorted(set(cuts))

        def look() -> list[str]:
            from seamripper.cut.frozen import frozen_copy
            from seamripper.cut.split import watched

            network = self._load(spec)
            flow, *_ = watched(frozen_copy(network.module), network.example(2, input=tuple(shape)))
            for cut in wanted:
                flow.require(cut)
            return wanted

        self._once(["cuts", model, wanted, shape], look)

    def choice(self, what: str, words: Any, look: Callable[[], Any]) -> Any:
        """What a choice by words comes to, with all its options: a matching, a control, measures."""
        return self._once([what, words], look)

    def file(self, path: str) -> tuple[str, str]:
        """A user's own file: where it is, and the sha256 of its bytes."""
        place = self._absolute(path)
        if not place.is_file():
            from seamripper._files import files_beside

            raise ExperimentError(f"There is no file {place}.{files_beside(place)}")
        return str(place), hashlib.sha256(place.read_bytes()).hexdigest()

    def _load(self, spec: str) -> Model:
        from seamripper.models import load

        return load(self.located(spec))

    def _absolute(self, path: str) -> Path:
        return (self.folder / Path(path).expanduser()).resolve()

    def _signature(self, name: str) -> list[Any]:
        """Sizes and times of change of the files that a name speaks of; nothing for a name without any."""
        located = self.located(name)
        head, _, options = located.partition("?")
        paths = [w.partition("=")[2] for w in options.split("&") if w.startswith("weights=")]
        paths += [part for part in (head, head.rpartition(":")[0], head.partition(":")[2]) if part.startswith(os.sep)]
        return [entry for path in paths for entry in _stats(Path(path))]

    def _once(self, question: list[Any], look: Callable[[], Any]) -> Any:
        key = digest([question, decides()])
        if key not in self.memo:
            self.memo[key] = look()
        return self.memo[key]


def identity_of(model: Model) -> str:
    """A fingerprint of weights and modules: activation functions, say, which no weight tells of."""
    import re

    from seamripper._fingerprint import joined

    return joined([model.fingerprint, re.sub(r" at 0x[0-9a-f]+", "", repr(model.module))])


def _stats(path: Path) -> list[Any]:
    if path.is_file():
        stat = path.stat()
        return [[str(path), stat.st_size, stat.st_mtime_ns]]
    found = []
    for folder, folders, files in os.walk(path):
        folders.sort()
        for file in sorted(files):
            stat = (Path(folder) / file).stat()
            found.append([str(Path(folder) / file), stat.st_size, stat.st_mtime_ns])
            if len(found) > _MOST:
                raise ExperimentError(f"{path} has more than {_MOST:,} files: too many to see whether any has changed.")
    return [digest(found)] if found else []
