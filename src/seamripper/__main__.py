"""python -m seamripper: the command line."""

from __future__ import annotations

from seamripper.cli import main

if __name__ == "__main__":
    main()
