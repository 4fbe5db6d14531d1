"""The job `pictures`: what a stitched network makes of images, as images to be looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from seamripper._words import shown_shape
from seamripper.errors import ExperimentError
from seamripper.experiment.kinds._images import as_bytes, is_image, lightness
from seamripper.experiment.kinds.base import Found, Kind, Row, figure, plain

if TYPE_CHECKING:
    from torch import Tensor

    from seamripper.data import Samples
    from seamripper.experiment.desk import Desk
    from seamripper.matching import Match

Shows = Literal["answer", "arrival"]
"""What of a stitched network is an image: its answer, or what arrives at the receiver's cut."""


@dataclass(frozen=True)
class Pictures(Kind):
    """Match on the fit samples, and keep rows of images for the first of the test samples.

    Of a receiver that answers with images, an autoencoder, they are the stitched network's answers (Smith et al. 2025,
    figure 4). Of another one they are what arrives at its cut, where that is an image: `before:` its first layer
    (Hernandez et al. 2022, figure 6).

    Content: `sender`, `sender_cut`, `receiver`, `receiver_cut`, `fit`, `test` (fingerprints), `n`, `n_test`, `images`
    (how many), `stitch`, `matching`, `seed`, `threads`. The tensor `pictures` holds a row of bytes (n, c, h, w) under
    each of its names: `input`, `sender itself` and `receiver itself` where they answer with images, `stitched`.
    `error` is the mean squared error between stitched image and input over these images, black being 0 and white 1,
    before anything is clipped or rounded; null where the two are not of one shape.
    """

    name: ClassVar[str] = "pictures"
    rate: ClassVar[float] = 3e-4

    def run(self, content: Mapping[str, Any], desk: Desk) -> Found:
        """Match, and show."""
        from seamripper._files import save_tensors
        from seamripper.matching import match
        from seamripper.matching.choosing import matching_from_record

        fit, test = desk.samples(content["fit"]), desk.samples(content["test"]).first(content["images"])
        require_images(test.shape, test.name)
        sender = desk.half(content["sender"], content["sender_cut"], fit)
        receiver = desk.half(content["receiver"], content["receiver_cut"], fit)
        answer = receiver.answer(receiver.example).shape[1:]
        shows = showing(answer, receiver.cut.shape, receiver.cut.name, matching=content["matching"]["name"])
        found = match(
            sender,
            receiver,
            fit,
            stitch=content["stitch"],
            matching=matching_from_record(content["matching"]),
            seed=content["seed"],
        )
        rows = _rows(found, test, shows)
        tensors = {name: as_bytes(values, test) for name, values in rows.items()}
        record = {"rows": list(rows), "n": len(test), "shows": shows, "status": found.status}
        name = desk.keep(lambda path: save_tensors(path, tensors, {"key": desk.key, **record}, kind="pictures"))
        figures = plain(dict(found.figures))
        return Found({**record, "figures": figures, "error": _error(rows, test)}, {"pictures": name})

    def cost(self, content: Mapping[str, Any]) -> float:
        """As a stitch, of which some samples are shown."""
        epochs = content["matching"].get("training", {}).get("epochs", 1)
        return float(content["n"] * (1 + epochs) + content["images"])

    def rows(self, record: Mapping[str, Any]) -> Iterator[Row]:
        """The error, over the images that are shown."""
        yield from figure("reconstruction_error", record["error"], status=record["status"])


def showing(answer: Sequence[int], arrives: Sequence[int], cut: str, *, matching: str) -> Shows:
    """What there is to look at, by the shapes of one answer of the receiver and of what arrives at its cut.

    >>> showing((1, 28, 28), (128,), "encoder", matching="direct")
    'answer'
    >>> showing((10,), (3, 28, 28), "before:conv1", matching="task")
    'arrival'
    """
    if is_image(answer):
        if matching == "task":
            raise ExperimentError(
                "The matching 'task' is for receivers that answer with scores of classes, and this one answers with "
                "images: take 'direct' or 'regression' for its [[pictures]]."
            )
        return "answer"
    if is_image(arrives):
        return "arrival"
    raise ExperimentError(
        f"Expected [[pictures]] to have a receiver that answers with images of 1 or 3 channels, or a receiver's cut at "
        f"which such an image arrives (`before:` its first layer), but it answers with {shown_shape(answer)}, and at "
        f"{cut!r} arrives {shown_shape(arrives)}."
    )


def require_images(shape: Sequence[int], name: str) -> None:
    """Refuse samples that are no images."""
    if not is_image(shape):
        raise ExperimentError(
            f"Expected the data of [[pictures]] to be images of 1 or 3 channels, but {name} has inputs of "
            f"{shown_shape(shape)}."
        )


def _rows(found: Match, test: Samples, shows: Shows) -> dict[str, Tensor]:
    """The rows of images by name, as a network gives and takes them."""
    import torch

    from seamripper.activations.collect import require_finite

    inputs = test.batch(slice(None))
    assert isinstance(inputs, torch.Tensor)
    with torch.no_grad():
        own = {"sender itself": found.sender.answer(inputs), "receiver itself": found.receiver.answer(inputs)}
        stitched = found(inputs) if shows == "answer" else found.layer(found.sender.head(inputs))
    rows = {"input": inputs, **{name: one for name, one in own.items() if is_image(one.shape[1:])}}
    for name, values in (rows | {"stitched": stitched}).items():
        require_finite(values, name, test.ids)
    return rows | {"stitched": stitched}


def _error(rows: Mapping[str, Tensor], test: Samples) -> dict[str, Any] | None:
    """The mean squared error over images with Student's interval; None where shapes differ."""
    from seamripper._stats import over_seeds

    if rows["stitched"].shape != rows["input"].shape:
        return None
    apart = lightness(rows["stitched"], test) - lightness(rows["input"], test)
    return over_seeds(apart.square().flatten(1).mean(1).tolist()).as_record()
