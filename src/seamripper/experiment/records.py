"""Records: results as JSON has them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from seamripper.errors import ExperimentError


def require_json(record: Mapping[str, Any]) -> None:
    """Refuse a record that could not be written as JSON, or not be read or shown afterwards.

    >>> require_json({"word": "\\ud800"})
    Traceback (most recent call last):
    seamripper.errors.ExperimentError: a text in it holds '\\ud800', which is half a character
    """
    try:
        json.dumps(record, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ExperimentError("it is nested too deeply") from None
    except UnicodeEncodeError as e:
        raise ExperimentError(f"a text in it holds {e.object[e.start]!r}, which is half a character") from None
    except (TypeError, ValueError) as e:
        raise ExperimentError(str(e)) from e


def plain(value: Any) -> Any:
    """Figures as JSON has them: tuples are lists, and what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
