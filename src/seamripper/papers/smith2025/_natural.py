"""What the items with photographs and recordings have in common."""

from __future__ import annotations

from typing import Any

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Data, Network, Way
from seamripper.papers.base import Profile
from seamripper.papers.cells import Cells
from seamripper.papers.smith2025._setting import CUTS, PLACES, setting, share

_QUICK_N, _QUICK_EPOCHS = 10_000, 6


def network(profile: Profile, data: str, *, classes: int = 10, epochs: int | None = None) -> Network:
    """A residual network of these data: ResNet-50 in the paper, a narrow ResNet-18 in the quick profile."""
    own = setting(profile)
    quick = profile == "quick"
    name = f"zoo:resnet18?classes={classes}&width={own.width:g}" if quick else f"zoo:resnet50?classes={classes}"
    return Network(
        train=name,
        data=data,
        n=_QUICK_N if quick and not data.startswith(("speech", "recordings")) else None,
        epochs=epochs or (_QUICK_EPOCHS if quick else 20),
        lr=0.05 if quick else 0.01,
        schedule="cosine" if quick else None,
        seeds=own.seeds,
    )


def samples(profile: Profile, name: str) -> Data:
    """Samples of the stitch."""
    own = setting(profile)
    if profile == "paper":
        return Data(name=name)
    speech = name.startswith("speech")
    return Data(name=name, n=None if speech else own.fit, n_test=700 if speech else own.test)


def way(profile: Profile) -> Way:
    """The authors' stitch between networks of photographs: weight decay 1e-4, 20 epochs."""
    own = setting(profile)
    return own.way(weight_decay=1e-4) if profile == "quick" else own.way(weight_decay=1e-4, epochs=20)


def smaller(profile: Profile, *, recordings: bool = False) -> str:
    """Where the networks and stitches depart from the paper's; with `recordings`, of which all are used."""
    claims = "Claims are about top-1; top-5 is in the table."
    if profile == "paper":
        return f"ResNet-50 trained here for 20 epochs, where the paper's are pretrained. Five seeds for one. {claims}"
    own = setting(profile)
    used = own.stitching
    trained, scored = (" (all recordings, for 20)", " (all recordings, 700)") if recordings else ("", "")
    return (
        f"ResNet-18 of a quarter of the width, trained here on {_QUICK_N:,} images for {_QUICK_EPOCHS} "
        f"epochs{trained}, for pretrained ResNet-50; three seeds, where the paper has one. Stitches on "
        f"{own.fit:,} images for {used['epochs']} epochs with learning rate {used['lr']:g} (for 20 epochs with 1e-4), "
        f"scored on {own.test:,}{scored}. {claims}"
    )


def baselines(cells: Cells, cut: str, **labels: Any) -> tuple[Estimate, Estimate, Estimate]:
    """Accuracy at a cut, the receiver on the sender's task, and the receiver on its own."""
    where = {"kind": "stitch", "receiver_cut": cut, **labels}
    return cells.of("top1", **where), cells.alone(**where), cells.own(**where)


def rows(cells: Cells, title: str, paper: tuple[tuple[float, ...], tuple[float, ...]], **labels: Any) -> list[Any]:
    """The rows of Table F.1: the paper's and ours, top-1 and top-5, with both baselines."""
    found: list[Any] = []
    for top, theirs in zip(("top1", "top5"), paper, strict=True):
        said = top.replace("p", "p-")
        found.append((f"{title}, {said}", "paper", *(f"{value / 100:.3f}" for value in theirs)))
        ours = [share(cells.some(top, kind="stitch", receiver_cut=cut, **labels)) for cut in CUTS]
        bases = ["–", "–"]
        if top == "top1":
            bases = [share(one) for one in baselines(cells, CUTS[0], **labels)[1:]]
        found.append((f"{title}, {said}", "ours", *ours, *bases))
    return found


COLUMNS = ("pair", "whose", *PLACES, "sender baseline", "receiver baseline")
