"""Loggers: figures, their methods card and files, handed to the tool in which a team keeps its runs.

A logger is one file here, or an entry point in `seamripper.loggers`. By default none of them uses the network: each
writes to a folder, and the tool's own commands read or upload it.
"""

from seamripper.loggers.base import Entry, Logger, loggers

__all__ = ["Entry", "Logger", "loggers"]
