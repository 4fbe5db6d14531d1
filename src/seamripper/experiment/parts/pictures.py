"""[[pictures]]: what a stitched network makes of images, as images to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from seamripper._files import plain
from seamripper._words import shape_text
from seamripper.errors import ExperimentError
from seamripper.estimate import Estimate, over_seeds
from seamripper.experiment.expansion import (
    DataSetRef,
    Expansion,
    Net,
    merge_needs,
    merge_where,
    pair_content,
    pair_labels,
)
from seamripper.experiment.images import FIGURES, KNOWN, as_bytes, detail, is_image, judge_images, lightness
from seamripper.experiment.job import Job
from seamripper.experiment.parts.base import Output, Part, Row, figure_row, match_for, training_cost
from seamripper.experiment.result import Result, StudyResults
from seamripper.experiment.tables import Data, Pairs, Seed, Some, Study, Word
from seamripper.figures import Picture, Pictures, Section, png

if TYPE_CHECKING:
    from torch import Tensor

    from seamripper.data import Paired, Samples
    from seamripper.experiment.worker import Worker
    from seamripper.matching import Match

Shows = Literal["answer", "arrival"]
"""What of a stitched network is an image: its answer, or what arrives at the receiver's cut."""
MAPPINGS = ("class_mapping", "embedding_mapping")
"""The matchings that do not need both networks to be shown the same samples."""
_BATCH = 512
_OF_RECEIVER = ("stitched", "receiver itself")
"""The rows that are normalised as the receiver's samples are."""
_JOBS = 24
"""How many jobs are shown in a report."""
_JUDGED = (
    ("Named as the paired class by the judge", ("judged_as_paired",)),
    ("Confidence of the judge", ("judge_confidence", "judge_confidence_own")),
    ("Distance to the nearest of the receiver's train images", ("nearest", "nearest_own", "nearest_input")),
    ("Contrast", ("contrast", "contrast_own")),
    ("How much they differ from each other, beside real ones", ("variety",)),
    ("Share of their variance that the receiver itself reconstructs", ("reconstructs",)),
)
_WHOSE = {"own": "of the receiver's own test images ", "input": "of what is shown "}


class PicturesPart(Pairs, Part):
    """Images for every pair, cut and matching: `n` test samples, and what the stitched network makes of them.

    Of a receiver that answers with images, an autoencoder, they are the stitched network's answers (Smith et al. 2025,
    figure 4). Of another one they are what arrives at its cut, where that is an image: `layer2 -> before:conv1`
    (Hernandez et al. 2022, figure 6). With `receiver_data` the sender is shown `data`, and the receiver's samples are
    others; the matching is then class_mapping or embedding_mapping. `judge` names a classifier of the receiver's
    samples, of the receiver's seed or its first; its word on the images of all test samples is among the figures.

    The tensor `pictures` holds a row of bytes (n, c, h, w) under each of its names: `input`, `sender itself` and
    `receiver itself` where they answer with images, `stitched`. `error` is the mean squared error between stitched
    image and input over these images, black being 0 and white 1, before anything is clipped or rounded; null where
    the two are not of one shape. `detail` is that of the stitched images and of the inputs: how much neighbouring
    pixels differ.
    """

    name: ClassVar[str] = "pictures"
    rate: ClassVar[float] = 3e-4

    cuts: Some
    receiver_data: Word | Data | None = None
    matchings: Some = ("direct",)
    stitch: Word = "auto"
    seed: Seed = 0
    n: Annotated[int, Field(ge=1, le=1000)] = 8
    judge: Word | None = None

    def size(self, study: Study) -> int:
        """One job for each pair, cut and matching."""
        return self.pairs(study) * len(self.cuts) * len(self.matchings)

    def jobs(self, expansion: Expansion) -> Iterator[Job]:
        """One job for each pair, cut and matching."""
        study, apart = expansion.experiment, self.receiver_data is not None
        data = study.samples(self.data, "a [[pictures]]")
        own = study.samples(self.receiver_data, "a [[pictures]]") if apart else data
        (fit, test), (own_fit, own_test) = expansion.splits(data), expansion.splits(own)
        for name, samples in ((data.name, test), (own.name, own_test)):
            require_images(samples.shape, name)
        matchings = {word: expansion.matching(word) for word in self.matchings}
        for matching, _ in matchings.values():
            if apart:
                require_mapping(matching["name"])
            if matching["name"] == "class_mapping":
                require_classes_of(matching["label_map"], sender=test.classes, receiver=own_test.classes)
        stitch, files = expansion.stitch(self.stitch)
        theirs = {"receiver_fit": own_fit.fingerprint, "receiver_test": own_test.fingerprint} if apart else {}
        for pair in expansion.pairs(self):
            judge = None if self.judge is None else _judge(expansion, self.judge, pair[1], own.name, own_test)
            nets = (*pair, *([judge] if judge else []))
            where = merge_where(fit, test, own_fit, own_test, *nets)
            for a, b in expansion.cuts(self.cuts, pair, fit.shape, own_fit.shape):
                answer, arrives = _shapes(expansion, pair[1], b, own_fit.shape)
                for word, (matching, place) in matchings.items():
                    shows = what_shows(answer, arrives, b, matching=matching["name"])
                    if judge:
                        require_judged(answer if shows == "answer" else arrives, own_test.shape)
                    content = {
                        **pair_content(*pair, a, b, fit, test),
                        **theirs,
                        "n": min(fit.n, own_fit.n),
                        "images": min(self.n, test.n, own_test.n),
                        "stitch": stitch,
                        "matching": matching,
                        "seed": self.seed,
                        **({"judge": judge.ref} if judge else {}),
                        "threads": study.threads,
                    }
                    words = {"matching": word, "stitch": self.stitch, "freeze": "all", "seed": self.seed}
                    labels = {**pair_labels(*pair, a, b), **words, "data": data.name}
                    labels |= {"receiver_data": own.name} if apart else {}
                    labels |= {"judge": judge.name} if judge else {}
                    yield Job("pictures", content, labels, merge_needs(nets), {**where, **files, **place})

    @classmethod
    def run(cls, content: Mapping[str, Any], worker: Worker) -> Output:
        """Match, and show."""
        from seamripper._files import save_tensors

        test = worker.samples(content["test"])
        own = worker.samples(content["receiver_test"]) if "receiver_test" in content else test
        for samples in (test, own):
            require_images(samples.shape, samples.name)
        fit = _fit(content, worker)
        sender = worker.half(content["sender"], content["sender_cut"], fit.sender)
        receiver = worker.half(content["receiver"], content["receiver_cut"], fit.receiver)
        answer = receiver.answer(receiver.example).shape[1:]
        shows = what_shows(answer, receiver.cut.shape, receiver.cut.name, matching=content["matching"]["name"])
        stitched = match_for(worker, content, sender, receiver, fit)
        apart = own is not test
        test, own = sender.model.present(test), receiver.model.present(own)
        if not apart and own.fingerprint == test.fingerprint:
            own = test
        first, theirs = test.first(content["images"]), own.first(content["images"])
        rows = image_rows(stitched, first, theirs, shows, apart=apart)
        tensors = {name: as_bytes(values, theirs if name in _OF_RECEIVER else first) for name, values in rows.items()}
        record = {"rows": list(rows), "n": len(first), "shows": shows, "status": stitched.status}
        name = worker.keep(lambda path: save_tensors(path, tensors, {"key": worker.key, **record}, kind="pictures"))
        more = {"judged": _judge_figures(content, worker, stitched, test, own, shows)} if "judge" in content else {}
        figures = plain(dict(stitched.figures))
        seen = {"error": image_error(rows, first, theirs), "detail": _details(rows)}
        return Output({**record, "figures": figures, **seen, **more}, {"pictures": name})

    @classmethod
    def cost(cls, content: Mapping[str, Any]) -> float:
        """As a stitch, of which some samples are shown; all of them to a judge."""
        return training_cost(content, content["n"], content["n_test"] if "judge" in content else content["images"])

    @classmethod
    def rows(cls, record: Mapping[str, Any]) -> Iterator[Row]:
        """The error and the detail, over the images that are shown; what a judge says, over all."""
        yield from figure_row("reconstruction_error", record["error"], status=record["status"])
        for name, row in (("detail", "stitched"), ("detail_input", "input")):
            yield from figure_row(name, record.get("detail", {}).get(row), status=record["status"])
        for name in FIGURES:
            yield from figure_row(name, record.get("judged", {}).get(name), status=record["status"])

    @classmethod
    def sections(cls, results: StudyResults) -> Iterator[Section]:
        """Reconstructions (Smith's Fig. 4), and what arrives at a layer (Hernandez' Fig. 6)."""
        jobs = results.of(cls.name)[:_JOBS]
        figures = tuple(rows for job in jobs if (rows := _picture_rows(results, job)) is not None)
        text = (
            "Each column is one sample: what is shown, what the networks themselves make of it, and what the stitched "
            "network makes, or what arrives at the receiver's first layer."
        )
        if any("receiver_data" in job.labels for job in jobs):
            text += " Where the receiver has data of its own, the receiver itself is shown the first samples of that."
        if figures:
            yield Section("pictures", "Images that the stitched networks make", text, figures, place=90)


def what_shows(answer: Sequence[int], arrives: Sequence[int], cut: str, *, matching: str) -> Shows:
    """What there is to look at, by the shapes of one answer of the receiver and of what arrives at its cut.

    >>> what_shows((1, 28, 28), (128,), "encoder", matching="direct")
    'answer'
    >>> what_shows((10,), (3, 28, 28), "before:conv1", matching="task")
    'arrival'
    """
    if is_image(answer):
        if matching == "task":
            raise ExperimentError(
                "The matching 'task' is for receivers that answer with scores of classes, and this one answers with "
                "images: take 'direct', 'regression', 'class_mapping' or 'embedding_mapping' for its [[pictures]]."
            )
        return "answer"
    if matching == "class_mapping":
        raise ExperimentError(
            "The matching 'class_mapping' is for receivers that answer with images, and this one answers with "
            f"{shape_text(answer)}: take 'embedding_mapping', which needs no answer, for its [[pictures]]."
        )
    if is_image(arrives):
        return "arrival"
    raise ExperimentError(
        f"Expected [[pictures]] to have a receiver that answers with images of 1 or 3 channels, or a receiver's cut at "
        f"which such an image arrives (`before:` its first layer), but it answers with {shape_text(answer)}, and at "
        f"{cut!r} arrives {shape_text(arrives)}."
    )


def require_images(shape: Sequence[int], name: str) -> None:
    """Refuse samples that are no images."""
    if not is_image(shape):
        raise ExperimentError(
            f"Expected the data of [[pictures]] to be images of 1 or 3 channels, but {name} has inputs of "
            f"{shape_text(shape)}."
        )


def require_mapping(matching: str) -> None:
    """Refuse a matching that goes by what both networks make of one sample, where each has samples of its own."""
    if matching not in MAPPINGS:
        raise ExperimentError(
            f"The matching {matching!r} depends on what both networks make of the same samples, and with "
            "`receiver_data` each has its own samples: take 'class_mapping' or 'embedding_mapping' for these "
            "[[pictures]]."
        )


def require_classes_of(label_map: Sequence[int] | None, *, sender: int, receiver: int) -> None:
    """Refuse to pair classes of the sender's samples, so many, with any that the receiver's do not have.

    >>> require_classes_of((3, 0), sender=2, receiver=4)
    """
    paired = range(sender) if label_map is None else label_map
    if len(paired) < sender or max(paired) >= receiver:
        pairing = "their own numbers" if label_map is None else f"label_map = {list(label_map)}"
        raise ExperimentError(
            f"Expected 'class_mapping' to pair each of the {sender} classes of the sender's data with one of the "
            f"{receiver} of the receiver's (0 … {receiver - 1}), but got {pairing}."
        )


def require_judged(shape: Sequence[int], own: Sequence[int]) -> None:
    """Refuse a judge for images of another shape than that of the receiver's samples, which it knows."""
    if tuple(shape) != tuple(own):
        raise ExperimentError(
            f"Expected the images for the judge of a [[pictures]] to be {shape_text(own)}, as the receiver's samples "
            f"are, but they are {shape_text(shape)}: take another cut, or leave `judge` out."
        )


def _fit(content: Mapping[str, Any], worker: Worker) -> Paired:
    """The samples to fit on: the same for both, or as many of the receiver's own where it has others."""
    from seamripper.data import Paired

    fit, n, seed = worker.samples(content["fit"]), content["n"], content["seed"]
    if "receiver_fit" not in content:
        return Paired.of(fit)
    return Paired(fit.draw(n, seed=seed), worker.samples(content["receiver_fit"]).draw(n, seed=seed))


def image_rows(stitched: Match, test: Samples, own: Samples, shows: Shows, *, apart: bool) -> dict[str, Tensor]:
    """The rows of images by name, as a network gives and takes them, in main memory; the receiver itself, shown `own`,
    is last if these are other samples than the sender's."""
    import torch

    from seamripper._devices import to_memory
    from seamripper.activations import require_finite

    inputs = _inputs(test)
    with torch.no_grad():
        rows = {"input": inputs, "sender itself": stitched.sender.answer(inputs)}
        itself = {"receiver itself": stitched.receiver.answer(_inputs(own))}
        stitched_row = {"stitched": _image_of(stitched, inputs, shows)}
        rows |= stitched_row | itself if apart else itself | stitched_row
    rows = {name: to_memory(values) for name, values in rows.items() if is_image(values.shape[1:])}
    for name, values in rows.items():
        require_finite(values, name, own.ids if name == "receiver itself" else test.ids)
    return rows


def _inputs(samples: Samples) -> Tensor:
    import torch

    inputs = samples.batch(slice(None))
    assert isinstance(inputs, torch.Tensor)
    return inputs


def _image_of(stitched: Match, inputs: Tensor, shows: Shows) -> Tensor:
    return stitched(inputs) if shows == "answer" else stitched.layer(stitched.sender.head(inputs))


def _judge_figures(
    content: Mapping[str, Any], worker: Worker, stitched: Match, test: Samples, own: Samples, shows: Shows
) -> dict[str, Any]:
    """The judge's figures over all test samples."""
    import torch

    from seamripper._devices import to_memory
    from seamripper.activations import require_finite
    from seamripper.cut import frozen_copy
    from seamripper.matching import map_labels

    def images_of() -> Iterator[Tensor]:
        for start in range(0, len(test), _BATCH):
            part = test.take(slice(start, start + _BATCH))
            with torch.no_grad():
                images = _image_of(stitched, _inputs(part), shows)
            require_finite(images, "stitched", part.ids)
            yield to_memory(images)

    def reconstructions() -> Iterator[Tensor]:
        for start in range(0, len(own), _BATCH):
            with torch.no_grad():
                yield to_memory(stitched.receiver.answer(_inputs(own.take(slice(start, start + _BATCH)))))

    label_map = content["matching"].get("label_map")
    fit = worker.samples(content.get("receiver_fit", content["fit"]))
    return judge_images(
        images_of(),
        frozen_copy(worker.model(content["judge"]).module),
        paired=map_labels(test, label_map and tuple(label_map)),
        own=own,
        known=fit.draw(KNOWN, seed=content["seed"]),
        test=test,
        itself=reconstructions() if shows == "answer" else None,
    )


def image_error(rows: Mapping[str, Tensor], test: Samples, own: Samples | None = None) -> dict[str, Any] | None:
    """The mean squared error over images with Student's interval; None where shapes differ."""
    if rows["stitched"].shape != rows["input"].shape:
        return None
    apart = lightness(rows["stitched"], own or test) - lightness(rows["input"], test)
    return over_seeds(apart.square().flatten(1).mean(1).tolist(), unit="images").as_record()


def _details(rows: Mapping[str, Tensor]) -> dict[str, Any]:
    """The mean detail of stitched images and of inputs with Student's interval."""
    return {name: over_seeds(detail(rows[name]).tolist(), "images").as_record() for name in ("stitched", "input")}


def _judge(expansion: Expansion, word: str, receiver: Net, data: str, test: DataSetRef) -> Net:
    """The classifier that looks at a receiver's images: that of the receiver's seed, or its first."""
    _, seeds = expansion.experiment.network(word)
    name = word.partition("/")[0]
    seed = receiver.seed if receiver.seed in seeds else seeds[0]
    (judge,) = expansion.nets(name if seed is None else f"{name}/{seed}")
    known = expansion.identities.classes(judge.cuts_decided_by, judge.spec, test.shape)
    if known < test.classes:
        raise ExperimentError(
            f"Expected the judge {word!r} of a [[pictures]] to tell the {test.classes} classes of {data} apart, "
            f"but it knows {known}."
        )
    return judge


def _shapes(expansion: Expansion, net: Net, cut: str, shape: list[int]) -> tuple[list[int], list[int]]:
    """The shapes of one answer of a network, and of what passes at a cut of it."""

    def look() -> list[list[int]]:
        from seamripper.cut import split
        from seamripper.models import load

        network = load(expansion.identities.absolute_name(net.spec))
        half = split(network, cut, network.example(2, input=network.shown_shape(shape)))
        return [list(half.answer(half.example).shape[1:]), list(half.cut.shape)]

    answer, passes = expansion.identities.remember(["shapes", net.cuts_decided_by, cut, shape], look)
    return answer, passes


# ---- sections


def _picture_rows(results: StudyResults, job: Result) -> Pictures | None:
    images_by_row = results.tensor(job, "pictures", "pictures")
    if images_by_row is None:
        return None
    rows = []
    for name in job.record["rows"]:
        images = tuple(
            Picture(png(image.numpy()), alt=f"{name}, sample {k + 1}, {job.pair} at {job.cut}")
            for k, image in enumerate(images_by_row[name])
        )
        rows.append((name, images))
    title = f"{job.pair} at {job.cut}, {job.labels.get('matching', '')}"
    return Pictures(title, tuple(rows), _caption(job.record))


def _caption(record: Mapping[str, Any]) -> str:
    """The error, and what a judge says of the stitched images, with the same of real ones beside it."""

    def words(figure: Mapping[str, Any]) -> str:
        return Estimate.from_record(figure, unit="images").describe()

    sentences, judged = [], record.get("judged", {})
    if record.get("error") is not None:
        sentences.append(f"Mean squared error between stitched and shown images: {words(record['error'])}.")
    for what, names in _JUDGED:
        figures = [_WHOSE.get(name.rpartition("_")[2], "") + words(judged[name]) for name in names if name in judged]
        if figures:
            sentences.append(f"{what}: {'; '.join(figures)}.")
    return " ".join(sentences) or "Stitched and shown images do not have the same shape."
