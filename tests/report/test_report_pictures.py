"""Rows of images in a report: what is shown, and what a judge says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from in_process import InProcess
from seamripper.experiment import Experiment, PicturesPart, run
from seamripper.experiment.reading import Reading
from seamripper.figures import Pictures
from seamripper.report import page

STUDY = """
[data]
name = "digits/digit"
n = 60
n_test = 20

[models.auto]
load = "zoo:autoencoder?channels=3"

[models.judge]
load = "zoo:lenet?channels=3"

[matchings]
quick = "embedding_mapping?epochs=1"

[[pictures]]
senders = ["auto"]
receivers = ["auto"]
cuts = ["encoder"]
matchings = ["quick"]
receiver_data = "digits/greyscale"
judge = "judge"
n = 3
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "study.toml").write_text(STUDY)
    run(Experiment.read(folder / "study.toml"), folder / "store", engine=InProcess())
    return folder / "store"


def test_rows_of_two_data_sets_and_the_word_of_a_judge(store: Path) -> None:
    (section,) = PicturesPart.sections(Reading.open(store))
    (figure,) = section.figures
    assert isinstance(figure, Pictures)
    rows = {name: len(images) for name, images in figure.rows}
    assert rows == {"input": 3, "sender itself": 3, "stitched": 3, "receiver itself": 3}
    assert "the receiver itself is shown the first samples of that" in section.text
    for words in ("Named as the paired class by the judge: ", "Confidence of the judge: ", "Contrast: "):
        assert words in figure.caption
    assert figure.caption.count("n = 20 images") == 10
    written = page(store)
    assert "of the receiver&#39;s own test images" in written or "of the receiver's own test images" in written


def test_a_caption_has_what_there_is(store: Path) -> None:
    reading = Reading.open(store)
    (result,) = reading.of("pictures")

    def caption(**figures: Any) -> str:
        record = {**result.record, "judged": {}, **figures}
        (section,) = PicturesPart.sections(replace(reading, results=(replace(result, record=record),)))
        return section.figures[0].caption

    half = {"value": 0.5, "interval": [0.4, 0.6], "n": 10}
    error = "Mean squared error between stitched and shown images: 0.5 [0.4, 0.6], n = 10 images."
    assert caption(error=half) == error
    assert caption(error=None, judged={"nearest": half, "nearest_input": half}) == (
        "Distance to the nearest of the receiver's train images: 0.5 [0.4, 0.6], n = 10 images; of what is shown "
        "0.5 [0.4, 0.6], n = 10 images."
    )
    assert caption(error=None) == "Stitched and shown images do not have the same shape."
