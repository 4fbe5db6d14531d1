"""How long an audit takes, how much memory, and how often the data goes through the networks' fronts.

    python benchmarks/audit_wait.py                   # EfficientNet-Lite1 into Lite0, 300 images of 224 × 224
    python benchmarks/audit_wait.py --check           # exit code 1 beyond 6 minutes or 2.5 GB
    python benchmarks/audit_wait.py --small           # two small networks on 4000 + 2000 images of 3 × 16 × 16

All choices are the audit's defaults, three seeds among them. The images are CIFAR-10's, resized to 224 × 224, of which
200 are to fit on and 100 to test on; their labels are what the receiver says of them, as there are no images with
ImageNet's labels to be had here, and with labels that it was not made for half of the audits would not run. Fronts are
counted at the first layer that they all have: whatever runs it is counted, an audit's own checks included.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import seamripper as sr
from seamripper._progress import Progress
from seamripper.data import Samples
from seamripper.models import Model
from seamripper.models.running import use_seed

MINUTES, GIGABYTES, TIMES = 6.0, 2.5, 6.0
SIDE = 224


class Counter:
    """Counts the samples that go through the first layers of networks, and through those of their copies."""

    def __init__(self) -> None:
        self.shown = 0

    def watch(self, module: nn.Module) -> nn.Module:
        """The module, with its first layer counted.

        The layer becomes one of a class of its own: a hook would not be called where a network runs folded and traced.
        """
        first = next(part for part in module.modules() if isinstance(part, nn.Conv2d))
        kind, counter = type(first), self

        class Counted(kind):  # type: ignore[misc, valid-type]
            def forward(self, x: Tensor) -> Tensor:
                counter.shown += len(x)
                return super().forward(x)

        first.__class__ = Counted
        return module


class Small(nn.Module):
    """Two blocks of convolutions, cut between them."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(8, 12, 3, 2, 1), nn.BatchNorm2d(12), nn.ReLU())
        self.out = nn.Sequential(nn.AdaptiveAvgPool2d((4, 1)), nn.Flatten(), nn.Linear(48, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Scores of three classes."""
        answer: Tensor = self.out(self.b(self.a(x)))
        return answer


def stripes(n: int, *, first_id: int = 0) -> Samples:
    """Images of noise with a bright stripe, whose height names the class."""
    labels, ids = torch.arange(n) % 3, torch.arange(first_id, first_id + n)
    pixels = 0.3 * torch.rand(n, 3, 16, 16, generator=torch.Generator().manual_seed(first_id))
    for row, label in enumerate(labels.tolist()):
        pixels[row, :, 5 * label : 5 * label + 4] += 0.6
    return Samples("stripes", pixels.clamp(0, 1), labels, ids, 3, mean=0.5, std=0.5, range=(0.0, 1.0))


def small_network(seed: int) -> nn.Module:
    """A network trained on stripes that no audit here has."""
    data = stripes(300, first_id=90_000)
    with use_seed(seed):
        net = Small()
        optimiser = torch.optim.Adam(net.parameters(), 0.01)
        for _ in range(40):
            optimiser.zero_grad()
            F.cross_entropy(net(data.batch(slice(None))), data.labels).backward()
            optimiser.step()
    return net.eval()


def small_case(counter: Counter, fit: int, test: int) -> dict[str, Any]:
    """The arguments of an audit of two small networks."""
    samples = stripes(fit), stripes(test, first_id=50_000)
    example = samples[0].batch(slice(0, 2))
    halves = [sr.split(counter.watch(small_network(seed)), "a", example) for seed in (0, 1)]
    return dict(zip(("sender", "receiver", "fit", "test"), (*halves, *samples), strict=True))


def large_case(counter: Counter, cut: str, fit: int, test: int) -> dict[str, Any]:
    """The arguments of an audit of EfficientNet-Lite1 into Lite0."""
    models = [sr.load(f"imagenet:efficientnet_lite{k}?input=3x{SIDE}x{SIDE}") for k in (1, 0)]
    halves = []
    for model in models:
        counter.watch(model.module)
        halves.append(sr.split(model, cut))
    samples = [_images(models[1], split, n) for split, n in (("train", fit), ("test", test))]
    return dict(zip(("sender", "receiver", "fit", "test"), (*halves, *samples), strict=True))


def _images(receiver: Model, split: str, n: int) -> Samples:
    """CIFAR-10's images at 224 × 224, with the receiver's own answers as labels."""
    images = sr.load_data("cifar10", split, n=n)
    assert isinstance(images.inputs, Tensor)
    large = F.interpolate(images.inputs.float(), (SIDE, SIDE), mode="bicubic", antialias=True).clamp(0, 255)
    samples = replace(images, inputs=large.round().to(torch.uint8), classes=1000)
    with torch.no_grad():
        answers = [receiver.module(inputs) for inputs, _ in receiver.present(samples).batches(20)]
    return replace(samples, labels=torch.cat(answers).argmax(1))


def main() -> None:
    """Audit, print what it took, and check if asked to."""
    options = _options()
    counter = Counter()
    if options.small:
        case = small_case(counter, options.fit or 4000, options.test or 2000)
    else:
        case = large_case(counter, options.cut, options.fit or 200, options.test or 100)
    before, counter.shown = _gigabytes(), 0
    begun, cpu = time.perf_counter(), time.process_time()
    audited = sr.audit(**case, watch=_Lines(options.every))
    minutes, seconds = (time.perf_counter() - begun) / 60, time.process_time() - cpu
    data = len(case["fit"]) + len(case["test"])
    times = counter.shown / (2 * data)
    print(f"{audited.conclusion}: { ({name: v.answer for name, v in audited.verdicts.items()}) }")
    print(f"not done: {', '.join(audited.skipped) or 'nothing'}")
    print(
        f"{minutes:.1f} minutes, {seconds:.0f} s of CPU on {torch.get_num_threads()} threads, {_gigabytes():.2f} GB at "
        f"most ({before:.2f} before); {counter.shown} images through fronts, {times:.1f} times {data} through two"
    )
    if options.check and (minutes > MINUTES or _gigabytes() > GIGABYTES or (options.small and times > TIMES)):
        sys.exit(1)


class _Lines:
    """Prints a line of progress now and then."""

    def __init__(self, every: float) -> None:
        self.every, self.begun, self.last = every, time.perf_counter(), -every

    def __call__(self, now: Progress) -> None:
        seconds = time.perf_counter() - self.begun
        if self.every and (seconds - self.last >= self.every or (now.left is not None and now.done == 0)):
            self.last = seconds
            left = "" if now.left is None else f", {now.left:.0f} s left"
            print(f"{seconds:6.0f} s  {_gigabytes():.2f} GB  {now.task} {now.done}/{now.total}{left}", flush=True)


def _gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--cut", default="blocks.3")
    parser.add_argument("--fit", type=int)
    parser.add_argument("--test", type=int)
    parser.add_argument("--every", type=float, default=0.0, help="seconds between two lines of progress; 0 for none")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
