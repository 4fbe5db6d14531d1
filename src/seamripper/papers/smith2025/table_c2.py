"""Table C.2: LeNet-like networks of colour patches and of Correlated into one of greyscale digits."""

from __future__ import annotations

from seamripper.estimate import Estimate
from seamripper.experiment.spec import Experiment, Network, Stitching
from seamripper.figures import Sheet
from seamripper.papers.base import Finding, Item, Profile
from seamripper.papers.cells import Cells
from seamripper.papers.checks import claim, every, no_worse, some
from seamripper.papers.smith2025._setting import SETS, STITCH, setting, share

CUTS = ("conv1", "pool1", "conv2", "pool2")
PLACES = ("Conv 1", "Avg Pool 1", "Conv 2", "Avg Pool 2")
_TABLE = {
    "colour-only": ("Colour to Digit", (76.94, 76.68, 97.94, 97.34)),
    "correlated": ("Correlated to Digit", (79.11, 78.66, 93.24, 92.90)),
}
"""Per cent; what the table calls Colour are colour patches, and Digit is greyscale MNIST. The reference is 88.19."""
_REFERENCE = 0.8819
_EPOCHS = 32
"""Of stitches in the quick profile: with networks of a seed that no item uses, most came to rest only then."""


def networks(profile: Profile, *names: str) -> dict[str, Network]:
    """LeNets trained on these sets."""
    own = setting(profile)
    return {
        name: Network(train="zoo:lenet", data=SETS[name], n=own.n, lr=0.02, seeds=own.seeds, **own.training)
        for name in names
    }


def _experiment(profile: Profile) -> Experiment:
    own = setting(profile)
    return Experiment(
        name="table-c2",
        about="LeNet-like networks (Smith et al. 2025, Table C.2)",
        data=own.stitched,
        models=networks(profile, "colour-only", "correlated", "greyscale"),
        matchings={"theirs": own.way(epochs=_epochs(profile))},
        stitch=(
            Stitching(
                senders=tuple(_TABLE),
                receivers=("greyscale",),
                cuts=CUTS,
                matchings=("theirs",),
                stitches=(STITCH,),
            ),
        ),
    )


def _epochs(profile: Profile) -> int:
    return _EPOCHS if profile == "quick" else int(setting(profile).stitching["epochs"])


def _read(cells: Cells, profile: Profile) -> Finding:
    def of(name: str, cut: str, figure: str = "top1") -> Estimate:
        return cells.of(figure, kind="stitch", sender=name, receiver_cut=cut)

    found = []
    for name, (title, _) in _TABLE.items():
        per_cut = [
            (f"{title} at {place}", no_worse(of(name, cut), of(name, cut, "receiver_here")))
            for cut, place in zip(CUTS, PLACES, strict=True)
        ]
        found.append((title, some(per_cut)))
    claims = (
        claim(
            "LeNets of colour patches and of Correlated stitch into one of greyscale digits at one layer or more",
            "At one cut or more, accuracy on Correlated is not below the receiver's own there (interval over seeds).",
            every(found),
        ),
    )
    rows = []
    for name, (title, theirs) in _TABLE.items():
        rows.append((title, "paper", *(f"{value / 100:.3f}" for value in theirs), f"{_REFERENCE:.3f}"))
        reference = share(of(name, "conv1", "receiver_here"))
        rows.append((title, "ours", *(share(of(name, cut)) for cut in CUTS), reference))
    columns = ("pair", "whose", *PLACES, "receiver alone on Correlated")
    sheet = Sheet("Table C.2: LeNet-like networks into greyscale", columns, tuple(rows))
    own = setting(profile)
    departs = (
        f"{len(own.seeds)} seeds, trained on {own.n or 60_000:,} images with learning rate 0.02 (the paper gives none "
        f"for LeNet); stitches of {own.fit or 60_000:,} images for {_epochs(profile)} epochs with learning rate "
        f"{own.stitching['lr']:g} (the authors': 10 epochs with 1e-4), scored on {own.test or 10_000:,}; strictly "
        "frozen: LeNet has no BN, so that only the stitch's own statistics adapt in either way.",
    )
    return Finding(claims, (sheet,), departs)


ITEM = Item(
    "table-c2",
    ("Table C.2",),
    "LeNet-like senders of colour patches and of Correlated into a receiver of greyscale digits, four cuts.",
    _experiment,
    _read,
    minutes=1.3,
    times=60.0,
)
