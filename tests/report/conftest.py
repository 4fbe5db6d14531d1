"""Real studies to report on: one of every kind of job, one that is hostile, and one of 12 × 12 cuts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from in_process import InProcess
from seamripper.experiment import Experiment, run

STUDY = """
about = "colour into digit, on small digits"

[data]
name = "digits/correlated"
n = 300
n_test = 150

[models.digit]
train = "zoo:R_1111?width=0.25"
data = "digits/digit"
training = "?epochs=6"
seeds = [0, 1]

[models.colour]
train = "zoo:R_1111?width=0.25"
data = "digits/colour"
training = "?epochs=3"
seeds = [0, 1]

[matchings]
fast = "task?init=direct&epochs=2&lr=0.01"

[[stitch]]
senders = ["colour", "digit"]
receivers = ["digit"]
pairing = "others"
cuts = ["layer1", "layer2"]
matchings = ["direct", "fast"]
controls = ["random_sender"]

[[compare]]
senders = ["colour"]
receivers = ["digit"]
cuts = ["layer1", "layer2", "layer3"]
measures = ["linear_cka", "opd"]

[models.auto]
train = "zoo:autoencoder?channels=3"
data = "digits/greyscale"
n = 400
training = "?lr=0.002&batch=16&epochs=4"
seeds = [0, 1]

[[pictures]]
senders = ["auto/0"]
receivers = ["auto/1"]
pairing = "all"
cuts = ["encoder"]
data = "digits/greyscale"
n = 6

[[pictures]]
senders = ["digit/0"]
receivers = ["digit/1"]
pairing = "all"
cuts = ["layer1 -> before:conv1"]
data = "digits/digit"
n = 6

[[audit]]
senders = ["colour/0"]
receivers = ["digit/0"]
cuts = ["layer2"]
conflict = "digits/digit"
others = ["digit"]
seeds = [0]
controls = ["self", "other_seed", "random_sender", "clustered_noise"]
"""
EVIL = "<img src=x onerror=document.title='ran'>"
HOSTILE = f"""
[data]
name = "digits/digit"
n_test = 60

[models."{EVIL}"]
load = "mine.py:net"

[[compare]]
senders = ["{EVIL}"]
receivers = ["{EVIL}"]
measures = ["linear_cka"]

[[call]]
function = "mine.py:fails"
grid = {{ word = ["</script><script>document.title='ran'</script>"] }}
"""
MINE = f"""
from torch import nn

def net():
    made = nn.Sequential()
    made.add_module({EVIL!r}.replace(".", ""), nn.Conv2d(3, 4, 7, stride=7))
    made.add_module("\\"><svg onload=alert(1)>", nn.ReLU())
    made.add_module("flat", nn.Flatten())
    made.add_module("last", nn.Linear(64, 10))
    return made

def fails(word):
    raise ValueError("<b onmouseover=alert(1)>" + word)
"""
LARGE = """
[data]
name = "digits/digit"
n_test = 100

[models.a]
load = "mine.py:deep?seed=0"

[models.b]
load = "mine.py:deep?seed=1"

[[compare]]
senders = ["a"]
receivers = ["b"]
cuts = [CUTS]
measures = ["linear_cka", "opd", "cca_mean", "minibatch_cka", "mutual_knn", "procrustes"]
""".replace("CUTS", ", ".join(f'"block{k}"' for k in range(12)))
DEEP = """
from torch import nn

def deep():
    made = nn.Sequential(nn.Conv2d(3, 6, 7, stride=7))
    for k in range(12):
        made.add_module(f"block{k}", nn.Sequential(nn.Conv2d(6, 6, 3, padding=1), nn.Tanh()))
    made.append(nn.Flatten())
    made.append(nn.Linear(96, 10))
    return made
"""


Stores = Callable[..., Path]


@pytest.fixture(scope="session")
def store_of(made_once: Callable[..., Path]) -> Stores:
    """`store_of(name, text, code)`: the store of a study with these functions of its own, run once for all workers."""

    def store_of(name: str, text: str, code: str = "") -> Path:
        def make(folder: Path) -> None:
            (folder / "mine.py").write_text(code)
            (folder / "study.toml").write_text(text)
            run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess())

        return made_once(name, make) / "store"

    return store_of


@pytest.fixture(scope="session")
def study(store_of: Stores) -> Path:
    """A store with every kind of result that a report shows."""
    return store_of("study", STUDY)


@pytest.fixture(scope="session")
def hostile(store_of: Stores) -> Path:
    """A store whose names of models, layers and errors are HTML."""
    return store_of("hostile", HOSTILE, MINE)


@pytest.fixture(scope="session")
def large(store_of: Stores) -> Path:
    """A store of 12 × 12 cuts and 6 measures."""
    return store_of("large", LARGE, DEEP)
