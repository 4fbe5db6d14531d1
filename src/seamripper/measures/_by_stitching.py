"""The names of the matrices that are filled by stitching the models, and not from their activations."""

from __future__ import annotations

DIRECT, TASK = "direct_functional", "task_functional"

FUNCTIONAL: dict[str, str] = {
    DIRECT: "Relative accuracy of the two networks joined by least squares, on samples that were not fitted on.",
    TASK: "Relative accuracy of the two networks joined by a stitch trained on the task, from the direct one on.",
}
"""The matrices that are filled by stitching, with a line on each."""
