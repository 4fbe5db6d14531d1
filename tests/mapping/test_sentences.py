"""Two published sentence encoders on real sentences: the files of benchmarks/map_sentences.py, at a small size."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from seamripper.mapping import map_embeddings

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "map_sentences.py"


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.filterwarnings("ignore:The compiled part of torchvision")
def test_minilm_l6_finds_its_way_into_l3() -> None:
    pytest.importorskip("transformers")
    script = runpy.run_path(str(SCRIPT))
    texts = script["sentences"]()
    assert len(texts) == len(set(texts)) == 2982
    # With 600, there are fewer pairs to fit on than columns, and a map gains little.
    old, new = (script["embed"](script[name](), texts[:1200]) for name in ("minilm_l3", "minilm_l6"))
    # Both are sentence encoders: the same sentence is nearer than others, even without a map.
    assert np.allclose(np.linalg.norm(old, axis=1), 1, atol=1e-5)
    verdict = map_embeddings(old, new)
    bare, mapped, control = (verdict.tests[name].own.recall[10] for name in ("no map", "map", "shuffled pairs"))
    assert mapped.low > bare.value
    assert control.high < bare.low
    assert mapped.value > 0.8
