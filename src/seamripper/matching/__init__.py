"""Matching: the ways to find a stitch, one file each, and the match that comes of it."""

from seamripper.matching.base import Matching, map_labels, matchings
from seamripper.matching.class_mapping import ClassMapping
from seamripper.matching.direct import Direct
from seamripper.matching.downstream import Downstream
from seamripper.matching.embedding_mapping import EmbeddingMapping
from seamripper.matching.evaluate import Functional, answers_of, answers_of_many, evaluate, right_of, stitched_answers
from seamripper.matching.many import match_many
from seamripper.matching.match import Match, match
from seamripper.matching.regression import Regression
from seamripper.matching.task import Task, right_classes
from seamripper.models.training import Training

__all__ = [
    "ClassMapping",
    "Direct",
    "Downstream",
    "EmbeddingMapping",
    "Functional",
    "Match",
    "Matching",
    "Regression",
    "Task",
    "Training",
    "answers_of",
    "answers_of_many",
    "evaluate",
    "map_labels",
    "match",
    "match_many",
    "matchings",
    "right_classes",
    "right_of",
    "stitched_answers",
]
