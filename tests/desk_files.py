"""Files that the documentation's examples and commands name, at a small size: networks, embeddings, a study."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import seamripper as sr

STUDY = """
[data]
name = "digits/correlated"
n = 100
n_test = 60
[models.digit]
load = "digit-0.safetensors"
[models.colour]
load = "colour-0.safetensors"
[[stitch]]
senders = ["colour"]
receivers = ["digit"]
cuts = ["layer2"]
matchings = ["direct"]
"""
SMALL_RESNET = "zoo:R_1111?width=0.25"


def save_networks(folder: Path, networks: dict[str, tuple[str, str, int]]) -> None:
    """Train each network (what it is, on which data, from which seed) for an epoch, and save it under its name."""
    for name, (network, data, seed) in networks.items():
        samples = sr.load_data(data, "train", n=300)
        sr.train(network, samples, training="?epochs=1", seed=seed, out=folder / f"{name}.safetensors")


def save_embeddings(folder: Path) -> None:
    """old.npy, and new.npy, which is a linear map of it."""
    draws = np.random.default_rng(0)
    rows = draws.normal(size=(300, 8))
    np.save(folder / "old.npy", rows)
    np.save(folder / "new.npy", rows @ draws.normal(size=(8, 8)))


def save_study(folder: Path) -> None:
    """study.toml, of networks that are there, and its store, as it is after it has run."""
    (folder / "study.toml").write_text(STUDY)
    sr.run(sr.Experiment.read(folder / "study.toml"), folder / "runs" / "study", engine="local?workers=1")
