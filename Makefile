# On a fresh clone, with Python 3.11 or later: `make demo` shows what this is for, `make test` proves that it works.

PYTHON ?= python3
# One more than two cores: many tests wait for processes of their own, a browser or a kill.
WORKERS ?= 3
BIN := .venv/bin
TORCH := $(shell sed -n 's/^torch==//p' constraints-cpu.txt)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints-cpu.txt

.PHONY: help demo test lint bench clean

help:
	@echo 'make demo    set up .venv, train small networks whose truth is known, stitch and judge them, write a report'
	@echo 'make test    set up .venv, lint, check types, run the tests'
	@echo 'make lint    lint and check types only'
	@echo 'make bench   time what is claimed to be fast'
	@echo 'make clean   remove .venv, caches and build products; runs/ stays'

demo: .venv/.core
	@echo '== demo: senders of known truth on MNIST, stitched into one network and judged'
	@$(BIN)/seamripper demo

test: lint .venv/.browser
	@echo '== tests, $(WORKERS) at a time, one thread each; warnings are errors'
	@OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile

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
