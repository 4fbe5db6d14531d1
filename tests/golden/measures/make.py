"""Makes the golden files beside it: values of similarity measures by implementations that this project did not write.

    python tests/golden/measures/make.py [--clones FOLDER]

Run it where the libraries of README.md are installed. What is computed with the code of a repository needs a clone of
it in FOLDER; without one, the values on file are kept.
"""

from __future__ import annotations

import argparse
import importlib
import json
import runpy
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def main() -> None:
    """Write what the inputs are known by, and every family of measures to a file of its own."""
    parser = argparse.ArgumentParser(description="Make the golden files of the measures.")
    parser.add_argument("--clones", type=Path, help="a folder of clones of the repositories")
    base: Any = importlib.import_module("oracles.base")
    base.CLONES = parser.parse_args().clones
    importlib.import_module("torch").set_default_dtype(importlib.import_module("torch").float64)
    warnings.simplefilter("ignore")

    pairs = runpy.run_path(str(HERE / "inputs.py"))["inputs"]()
    _write("inputs", {name: [_known_by(rows) for rows in pair] for name, pair in pairs.items()})
    for path in sorted((HERE / "oracles").glob("*.py")):
        importlib.import_module(f"oracles.{path.stem}")
    for family, oracles in base.FAMILIES.items():
        _write(family, _made(oracles, pairs, _read(family)))


def _known_by(rows: Any) -> dict[str, Any]:
    return {"shape": list(rows.shape), "sum": float(rows.sum()), "squares": float((rows**2).sum())}


def _made(oracles: list[Any], pairs: Any, before: dict[str, Any]) -> dict[str, Any]:
    """By measure: who agrees with it, and who differs."""
    found: dict[str, Any] = {}
    for oracle in oracles:
        kind = "differs" if oracle.differs else "agrees"
        if oracle.at_hand:
            record = oracle.record(pairs)
        else:
            key = (oracle.source, oracle.call, sorted(oracle.inputs))
            known = before.get(oracle.measure, {}).get(kind, [])
            record = next((r for r in known if (r["by"], r["call"], sorted(r["values"])) == key), None)
        if record is None:
            raise SystemExit(f"{oracle.measure}: no clone of {oracle.by} in --clones, and no value on file.")
        found.setdefault(oracle.measure, {}).setdefault(kind, []).append(record)
    return found


def _read(name: str) -> dict[str, Any]:
    path = HERE / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _write(name: str, contents: dict[str, Any]) -> None:
    text = json.dumps(contents, indent=1, ensure_ascii=False, sort_keys=True)
    (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
