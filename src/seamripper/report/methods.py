"""How a study was done, in a paragraph for a paper, and what to cite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from seamripper._words import word_list
from seamripper.experiment.reading import Reading
from seamripper.experiment.result import Result
from seamripper.figures import Section

_PAPERS = {
    "stitch": (
        "bansal2021",
        "Bansal, Yamini and Nakkiran, Preetum and Barak, Boaz",
        "Revisiting Model Stitching to Compare Neural Representations",
        "Advances in Neural Information Processing Systems 34",
        2021,
    ),
    "audit": (
        "smith2025",
        "Smith, Damian and Mannering, Harvey and Marcu, Antonia",
        "Functional Alignment Can Mislead: Examining Model Stitching",
        "International Conference on Machine Learning",
        2025,
    ),
}
"""Whose method the jobs of a kind are: key, authors, title, where and when."""


def methods(run: Reading) -> Section:
    """The paragraph and the BibTeX of a study."""
    text = " ".join(sentence for sentence in _sentences(run) if sentence)
    title, code = "Methods, and what to cite", "\n".join(_bibtex(run))
    return Section("methods", title, f"{text}\nIn BibTeX:", (), code=code)


def _names(values: Iterable[Any]) -> str:
    return word_list([str(value) for value in dict.fromkeys(values)], quote="")


def _sentences(run: Reading) -> Iterator[str]:
    joined = [result for kind in ("stitch", "audit", "control", "functional") for result in run.of(kind)]
    yield _training_sentence(run)
    if joined:
        yield (
            "The front of one network (the sender), up to a cut, was joined to the back of another (the receiver) by a "
            f"stitch ({_names(r.labels.get('stitch', 'auto') for r in joined)}), which was found by the matching "
            f"{_names(r.labels['matching'] for r in joined if 'matching' in r.labels)}; both networks were frozen."
        )
        yield _samples(run, joined)
    audits = run.of("audit")
    if audits:
        controls = _names(control["name"] for audit in audits for control in audit.record["record"]["controls"])
        asked = _names(name for audit in audits for name in audit.record["verdicts"])
        yield f"The answers of the audits {asked}, with the controls {controls}, were judged by one rule."
    compared = run.of("compare")
    if compared:
        measures = _names(name for result in compared for name in result.record["matrices"])
        rules = _names(result.record["record"]["rule"]["sampling"] for result in compared)
        n = _names(f"{result.record['record']['n']:,}" for result in compared)
        yield f"Layers were compared by {measures} on {n} samples (sampling: {rules})."
    yield (
        "Intervals of 95 % are over samples (Wilson's for shares) or, where there are several, over seeds (Student's); "
        f"each says which. All was computed with seamripper {_version(run)}."
    )


def _training_sentence(run: Reading) -> str:
    """Which networks were trained on what, from which seeds."""
    networks: dict[tuple[str, str], list[Any]] = {}
    for result in run.of("train"):
        networks.setdefault((str(result.labels["model"]), str(result.labels["data"])), []).append(result.labels["seed"])
    words = (f"{model} on {data} (seeds {_names(seeds)})" for (model, data), seeds in networks.items())
    return f"Networks were trained: {'; '.join(words)}." if networks else ""


def _samples(run: Reading, results: Iterable[Result]) -> str:
    sizes = dict.fromkeys(
        f"fitted on {content['n']:,} samples of {result.labels['data']} and scored on {content['n_test']:,} others"
        for result in results
        if "n_test" in (content := run.contents.get(result.key, {})) and "data" in result.labels
    )
    return f"Stitches were {'; '.join(sizes)}." if sizes else ""


def _version(run: Reading) -> str:
    runs = [record for record in run.standing["runs"] if record["experiment"] == run.name]
    return _names(record["packages"].get("seamripper", "?") for record in runs) or "?"


def _bibtex(run: Reading) -> Iterator[str]:
    yield (
        "@software{seamripper,\n  author = {{seamripper maintainers}},\n  title = {seamripper: do two neural networks "
        f"represent the same thing at this layer, and can you trust the number?}},\n  version = {{{_version(run)}}}\n}}"
    )
    for kind, (key, authors, title, where, year) in _PAPERS.items():
        if run.of(kind):
            yield (
                f"@inproceedings{{{key},\n  author = {{{authors}}},\n  title = {{{title}}},\n"
                f"  booktitle = {{{where}}},\n  year = {{{year}}}\n}}"
            )
