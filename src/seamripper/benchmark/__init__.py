"""Benchmark: puts measures of similarity to tests on any set of networks, and ranks them.

::

    BenchSet → BenchTest.experiment → Store → BenchTest.rate → Rating → League

A test is a file here, an entry point in the group `seamripper.benchmark`, or `FILE.py:CLASS`.
"""

from __future__ import annotations

from seamripper.benchmark.base import BenchTest, Rating, bench_tests
from seamripper.benchmark.bench import Forecast, bench, forecast
from seamripper.benchmark.bench_set import BenchSet
from seamripper.benchmark.contestants import Contestant
from seamripper.benchmark.league import League

__all__ = ["BenchSet", "BenchTest", "Contestant", "Forecast", "League", "Rating", "bench", "bench_tests", "forecast"]
