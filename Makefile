# Every target sets up what it needs, from Python and pip alone.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench fuzz format schema clean

demo: .venv/run.stamp
	$(BIN)/python examples/demo.py

test: .venv/dev.stamp
	$(BIN)/python -m pytest -n auto

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: .venv/dev.stamp
	$(BIN)/python -m benchmarks.bench

fuzz: .venv/dev.stamp
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) $(BIN)/python -m pytest -m fuzz -s tests

format: .venv/dev.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: .venv/dev.stamp
	$(BIN)/guardrails schema > configs/schema.json.new
	mv configs/schema.json.new configs/schema.json

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/run.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

.venv/dev.stamp: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ .venv/run.stamp
