# On a fresh clone, with Python 3.11 or later: `make demo` shows what this is for, `make test` proves that it works.

PYTHON ?= python3
# One more than two cores: many tests wait for processes of their own, a browser or a kill.
WORKERS ?= 3
BIN := .venv/bin
TORCH := $(shell sed -n 's/^torch==//p' constraints-cpu.txt)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints-cpu.txt

# Keep compiled modules even where the environment forbids it: tests start many processes, and each would compile again.
export PYTHONDONTWRITEBYTECODE :=
# A file's tests share what they have prepared, so a file goes to one worker; the longest files come first.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest --dist loadfile --no-loadscope-reorder

.PHONY: help demo check test lint slowest bench docs clean all-tests quick-tests

help:
	@echo 'make demo    set up .venv, train small networks whose truth is known, stitch and judge them, write a report'
	@echo 'make check   lint, check types, and run the quick tests: what to run while you work'
	@echo 'make test    set up .venv, lint, check types, run all tests: what CI runs'
	@echo 'make lint    lint and check types only'
	@echo 'make slowest run the quick tests, and list those that take longer than 1.5 s'
	@echo 'make docs    build the documentation site; a link that leads nowhere fails it'
	@echo 'make bench   time what is claimed to be fast'
	@echo 'make clean   remove .venv, caches and build products; runs/ stays'

demo: .venv/.core
	@echo '== demo: senders of known truth on MNIST, stitched into one network and judged'
	@$(BIN)/seamripper demo

# Types are checked beside the tests: mypy keeps one core busy, and many tests wait for a process.
check: .venv/.dev
	@$(MAKE) --no-print-directory -j2 lint quick-tests

test: .venv/.dev .venv/.browser
	@$(MAKE) --no-print-directory -j2 lint all-tests

quick-tests: .venv/.dev
	@echo '== tests that are not marked slow, browser, ray or network, 2 at a time'
	@$(PYTEST) -n 2 -q -m 'not slow and not browser and not ray and not network'

all-tests: .venv/.dev
	@echo '== all tests, $(WORKERS) at a time, one thread each; warnings are errors'
	@$(PYTEST) -n $(WORKERS)

slowest: .venv/.dev
	@$(PYTEST) -n 2 -q --durations=0 --durations-min=1.5 -m 'not slow and not browser and not ray and not network'

lint: .venv/.dev
	@echo '== ruff: mistakes and style'
	@$(BIN)/ruff check .
	@echo '== ruff: layout'
	@$(BIN)/ruff format --check .
	@echo '== mypy: types of src, strictly'
	@$(BIN)/mypy

# The report is tested in a real browser. Where it is not there and cannot be installed, those tests say so and fail.
.venv/.browser: | $(BIN)/python
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || { \
	echo '== installing chromium and its driver, to test the report in a real browser'; \
	apt-get update -qq && apt-get install -y -qq chromium chromium-driver >/dev/null; } || \
	echo 'chromium and chromedriver could not be installed: install them yourself to test the report'
	@touch $@

bench: .venv/.dev
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

docs: .venv/.dev
	@$(BIN)/python docs/site/build_site.py

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist src/*.egg-info
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps say what is installed. An installation that was stopped leaves none, and is done again.
.venv/.core: pyproject.toml constraints-cpu.txt | $(BIN)/python
	@echo '== installing seamripper as constraints-cpu.txt has it (about 1 GB, a minute or so)'
	@$(PIP) -e .
	@$(CHECK_TORCH)
	@touch $@

.venv/.dev: pyproject.toml constraints-cpu.txt | $(BIN)/python
	@echo '== installing seamripper, its extras and the tools as constraints-cpu.txt has them (about 2 GB, some minutes)'
	@$(PIP) -e '.[dev]'
	@$(CHECK_TORCH)
	@touch .venv/.core $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or later is needed, and \
	this is " + sys.version.split()[0] + ". Name another: make PYTHON=python3.12 …")'
	@echo '== creating .venv'
	@$(PYTHON) -m venv .venv

CHECK_TORCH = $(BIN)/python -c 'import sys, torch; found = torch.__version__; \
	sys.exit(None if found.split("+")[0] == "$(TORCH)" else f"torch $(TORCH) was asked for, but {found} was installed.")'
