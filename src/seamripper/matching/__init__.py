"""Matching: the ways to find a stitch, one file each, and the match that comes of it."""

from seamripper.matching.base import Matching, matchings
from seamripper.matching.class_mapping import ClassMapping
from seamripper.matching.direct import Direct
from seamripper.matching.embedding_mapping import EmbeddingMapping
from seamripper.matching.evaluate import Functional, evaluate
from seamripper.matching.match import Match, match
from seamripper.matching.regression import Regression
from seamripper.matching.task import Task
from seamripper.models.training import Training

__all__ = [
    "ClassMapping",
    "Direct",
    "EmbeddingMapping",
    "Functional",
    "Match",
    "Matching",
    "Regression",
    "Task",
    "Training",
    "evaluate",
    "match",
    "matchings",
]
