"""Two small GPT-2s on bytes, trained from two seeds, stitched both ways and audited: docs/yours.md, "Language models".

    python benchmarks/language_models.py FOLDER          # trains them once, in about two minutes each on one core
    seamripper stitch "hf:FOLDER/gpt2-0?head=causal-lm@transformer.h.1" \
        "hf:FOLDER/gpt2-1?head=causal-lm@transformer.h.1" --data fortunes --n 2000 --matching direct

The text is that of the Debian package `fortunes`; one token is one byte.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from torch.nn import functional as F

import seamripper as sr
from seamripper.matching import Direct, Downstream, Matching, Task, Training
from seamripper.models.libraries import import_torchvision
from seamripper.models.targets import UNASKED, next_tokens

# transformers imports torchvision, which may need a repair first.
import_torchvision()
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

CUT = "transformer.h.1"
TRAINING = Training(lr=1e-2, batch=64, epochs=2)
MATCHINGS: dict[str, Matching] = {
    "direct": Direct(),
    "task": Task(TRAINING, init="direct"),
    "downstream": Downstream(TRAINING, init="direct"),
}


def main() -> None:
    """Train the two networks that are not there yet, and print what their stitches do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--n", type=int, default=2000, help="texts to fit a stitch on")
    options = parser.parse_args()
    for seed in (0, 1):
        folder = options.folder / f"gpt2-{seed}"
        if not folder.exists():
            start = time.process_time()
            train_gpt2(sr.load_data("fortunes"), seed=seed, steps=options.steps).save_pretrained(folder)
            print(f"{folder}: trained in {time.process_time() - start:.0f} s of CPU")
    fit, test = sr.load_data("fortunes", n=options.n), sr.load_data("fortunes", "test")
    halves = [gpt2(options.folder / f"gpt2-{seed}", fit) for seed in (0, 1)]
    print(f"{'stitch':24} {'perplexity':22} {'receiver':22} {'top-1':22} {'agreement':22} KL, nats")
    for a, b in ((0, 1), (1, 0)):
        for name, matching in MATCHINGS.items():
            result = sr.evaluate(sr.match(halves[a], halves[b], fit, matching=matching), test)
            figures = (result.perplexity, result.receiver_perplexity, result.top1, result.agreement, result.kl)
            print(f"{f'{a} to {b}, {name}':24} " + " ".join(f"{figure!s:22}" for figure in figures))


def gpt2(folder: Path, samples: sr.Samples) -> sr.Split:
    """A network that was trained here, cut in the middle of its residual stream."""
    return sr.split(sr.load(f"hf:{folder}?head=causal-lm"), CUT, samples.batch(slice(0, 2)))


def train_gpt2(samples: sr.Samples, *, seed: int, steps: int, layers: int = 4, width: int = 64) -> GPT2LMHeadModel:
    """A GPT-2 of these sizes, trained on the next bytes of the texts by AdamW with a cosine schedule."""
    targets = next_tokens(samples)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = GPT2Config(
            vocab_size=256,
            n_positions=samples.shape[0],
            n_embd=width,
            n_layer=layers,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
            **dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), 0.0),
        )
        model = GPT2LMHeadModel(config)
        optimiser = torch.optim.AdamW(model.parameters(), 3e-3, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps, pct_start=0.1)
        for _ in range(steps):
            index = torch.randint(len(samples), (32,))
            inputs = samples.batch(index)
            assert isinstance(inputs, dict)
            loss = F.cross_entropy(model(**inputs).logits.flatten(0, 1), targets[index].flatten(), ignore_index=UNASKED)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return model.eval()


if __name__ == "__main__":
    main()
