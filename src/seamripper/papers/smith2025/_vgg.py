"""What the items with VGG19 have in common: networks, cuts and sizes."""

from __future__ import annotations

from seamripper.experiment.spec import Data, Network, Way
from seamripper.papers.base import Profile
from seamripper.papers.smith2025._setting import SETS, setting

CUTS = ("features.1", "features.8", "features.22", "features.29", "features.35")
PLACES = ("features.2", "features.10", "features.23", "features.30", "classifier.0")
"""What the paper calls them: by the layer before which it cuts. A pooling between goes with the receiver."""
PLACE = dict(zip(CUTS, PLACES, strict=True))
WIDTH, N, EPOCHS, FIT, STITCH_EPOCHS = 0.125, 5_000, 6, 1_000, 5
"""Of the quick profile."""


def networks(profile: Profile, *names: str) -> dict[str, Network]:
    """VGG19 on images of 32 × 32. In the paper: SGD 1e-2, 50 epochs; in few, colours are learnt with Adam alone."""
    if profile == "paper":
        recipe = {"optimiser": "sgd", "lr": 1e-2, "batch": 64, "epochs": 50, "weight_decay": 1e-4}
        return {name: _network(name, 1.0, None, (0, 1, 2, 3), recipe) for name in names}
    recipe = {"optimiser": "adam", "lr": 5e-4, "batch": 64, "epochs": EPOCHS}
    return {name: _network(name, WIDTH, N, (0, 1, 2), recipe) for name in names}


def _network(name: str, width: float, n: int | None, seeds: tuple[int, ...], recipe: dict[str, object]) -> Network:
    train, data = f"zoo:vgg19?width={width:g}", f"{SETS[name]}?size=32"
    return Network(train=train, data=data, n=n, seeds=seeds, **recipe)  # type: ignore[arg-type]


def data(profile: Profile, name: str) -> Data:
    """Samples of a set, of 32 × 32."""
    own = setting(profile)
    fit, test = (FIT, 1_000) if profile == "quick" else (own.fit, own.test)
    return Data(name=f"{SETS[name]}?size=32", n=fit, n_test=test, ready=True)


def way(profile: Profile, *, noise: bool = False) -> Way:
    """The authors' stitch for VGG19: SGD 1e-3, 50 epochs; with fewer steps, a higher learning rate.

    Batches of 64 and weight decay 1e-4 are what the paper gives for its networks and for noise (D.1).
    """
    own = setting(profile)
    if profile == "paper":
        return own.way(lr=1e-2 if noise else 1e-3, epochs=50, batch=64, weight_decay=1e-4)
    return own.way(lr=1e-2, batch=32, epochs=STITCH_EPOCHS, weight_decay=1e-4)


def departs(profile: Profile, *, seeds: str = "three seeds, where the paper has three or four") -> tuple[str, ...]:
    """Where a profile departs from the paper; `seeds` tells of the quick profile's networks."""
    frozen = (
        "VGG19 has no BN, so that no statistics adapt: strictly frozen. The authors leave the whole network in "
        "training mode, so that dropout, if theirs has it, stays on while the stitch is trained; here it is off."
    )
    if profile == "paper":
        return (frozen,)
    return (
        f"VGG19 of an eighth of the width, trained on {N:,} images for {EPOCHS} epochs with Adam 5e-4 (for 50 with SGD "
        f"0.01); stitches on {FIT:,} images for {STITCH_EPOCHS} epochs with SGD 0.01 in batches of 32 (for 50 with "
        f"0.001, from noise with 0.01, batches of 64), scored on 1,000; {seeds}.",
        frozen,
    )
