"""`zoo:NAME`: untrained networks of the zoo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seamripper.models.model import Model
from seamripper.models.source import OpenSource
from seamripper.models.zoo import Architecture, architectures


@dataclass(frozen=True)
class Zoo(OpenSource):
    """A network of the zoo; its options are the network's."""

    name, about, buildable = "zoo", "a network of our own, untrained", True
    takes_path = "never"

    def build(self) -> Model:
        """The network, untrained."""
        self.require_untrained()
        architecture = Architecture.parse(str(self.architecture))
        return Model(architecture.build(self.seed), self.label, input=architecture.input, classes=architecture.classes)

    @classmethod
    def models(cls) -> dict[str, tuple[str, dict[str, Any]]]:
        """Every network of the zoo."""
        return {f"zoo:{name}": (architectures.describe(name), architectures.options(name)) for name in architectures}
