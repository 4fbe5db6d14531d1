"""The pictures of docs/audits.md: of every audit a verdict that is good news and one that is bad news, from real runs.

    python docs/site/pictures.py

trains four small networks on scikit-learn's digits (they are kept in runs/tutorial), audits pairs of them, writes the
pictures to docs/pictures/ and prints the sentence of each verdict.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import seamripper as sr
from seamripper.audits import Verdict
from seamripper.audits.base import DEFAULT_CONTROLS
from seamripper.figures import document

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = {"digit-0": ("digit", 0, 8), "digit-1": ("digit", 1, 8), "digit-2": ("digit", 2, 8)} | {
    "colour-0": ("colour", 0, 8),
    "early-0": ("digit", 0, 4),
}
"""What each network was trained on, from which seed, and for how many epochs."""


@dataclass(frozen=True)
class Setting:
    """One audited comparison: into which cut of digit-0, from which network, on which data, and how."""

    sender: str
    cut: str = "layer2"
    data: str = "correlated"
    matching: str = "task"
    controls: tuple[str, ...] = DEFAULT_CONTROLS
    others: tuple[str, ...] = ()


SAME = Setting("digit-1", others=("digit-2",))
OTHER = Setting("colour-0")
PICTURES = {
    "margin": (Setting("digit-1", data="digit", matching="direct"), OTHER),
    "conflict": (SAME, OTHER),
    "mixing": (SAME, OTHER),
    "distribution": (
        Setting("digit-1", "layer4", matching="direct", others=("digit-2",)),
        Setting("colour-0", "layer1", matching="direct"),
    ),
    "rank": (Setting("digit-1", "layer3", others=("digit-2",)), Setting("colour-0", "layer1")),
    "symmetry": (SAME, Setting("colour-0", "layer1")),
    "stability": (SAME, Setting("digit-1", matching="task?init=random&epochs=2", controls=("self",))),
    "identification": (Setting("early-0", data="digit", controls=("self",)), SAME),
}
"""For each audit, a comparison that comes out well and one that does not."""


@cache
def network(name: str, folder: Path) -> sr.Model:
    """One of the small networks, trained if it is not there yet."""
    data, seed, epochs = NETWORKS[name]
    samples, out = sr.load_data(f"digits/{data}", "train"), folder / f"{name}.safetensors"
    sr.train("zoo:R_1111?width=0.25", samples, training=f"?epochs={epochs}", seed=seed, out=out)
    return sr.load(str(out))


def verdict(audit: str, setting: Setting, folder: Path) -> Verdict:
    """What an audit says of one setting."""
    names = (setting.sender, "digit-0", *setting.others)
    sender, receiver, *others = (sr.split(network(name, folder), setting.cut) for name in names)
    audited = sr.audit(
        sender,
        receiver,
        sr.load_data(f"digits/{setting.data}", "train", n=800),
        sr.load_data(f"digits/{setting.data}", "test"),
        conflict=sr.load_data("digits/digit", "test"),
        others=others,
        matching=setting.matching,
        controls=setting.controls,
        audits=audit,
    )
    return audited.verdicts[audit]


def write(out: Path, folder: Path, audits: Iterable[str]) -> None:
    """Draw both pictures of each audit, and print their sentences."""
    out.mkdir(exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for audit in audits:
        for kind, setting in zip(("pass", "fail"), PICTURES[audit], strict=True):
            found = verdict(audit, setting, folder)
            (out / f"{audit}-{kind}.svg").write_text(document(found.strip))
            sys.stdout.write(f"{audit}, {kind} ({found.answer}): {found.sentence}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw the pictures of docs/audits.md.")
    parser.add_argument("audits", nargs="*", help="only these audits")
    write(ROOT / "docs" / "pictures", ROOT / "runs" / "tutorial", parser.parse_args().audits or PICTURES)
