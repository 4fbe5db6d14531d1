"""The versions that a record keeps."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import torch


def versions() -> dict[str, str]:
    """Of seamripper and of torch."""
    try:
        own = version("seamripper")
    except PackageNotFoundError:
        own = "unknown"  # Run from its source, not installed.
    return {"seamripper": own, "torch": torch.__version__}
