"""Mapping: can an index of old embeddings be kept when a new encoder asks the questions?"""

from seamripper.mapping.embeddings import Embeddings, encode
from seamripper.mapping.index import IndexVerdict, map_embeddings
from seamripper.mapping.linear import EmbeddingMap

__all__ = ["EmbeddingMap", "Embeddings", "IndexVerdict", "encode", "map_embeddings"]
