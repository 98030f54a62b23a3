# `make up` and `make test`, from a fresh clone: both install what they need first.
PYTHON ?= python3
UV_VERSION := 0.13.8
UV := $(shell command -v uv || echo .uv/bin/uv)
ARGS ?=

# Two workers; those tests that share sessions, servers or the machine stay together (tests/tiers.py). Bytecode is kept,
# also where the shell says not to: rewriting the assertions of all tests takes each worker a quarter of a minute.
PYTEST = @PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

.PHONY: up test test-all check lint environment clean

up: environment
	@exec .venv/bin/workshop up $(ARGS)

# Every cheap test, a real one of every mechanism, and those that a changed file can affect.
test: environment
	$(PYTEST) --changed -m "not exhaustive or changed" $(ARGS)

# The rest: what `make test` leaves out.
test-all: environment
	$(PYTEST) -m exhaustive $(ARGS)

# Before each commit: within a minute, without starting any process.
check: lint
	$(PYTEST) -q -m "not real" $(ARGS)

lint: environment
	@.venv/bin/ruff check . && .venv/bin/ruff format --check .

environment: .venv/.up-to-date

# uv says on the terminal what it downloads and builds; Horovod's compilation takes about two minutes of silence. Compiled
# Python (a quarter of a minute once) takes some seconds off every import of TensorFlow where nobody may write beside it.
.venv/.up-to-date: pyproject.toml | $(UV)
	@echo "Installing the environment (the first time takes 2 to 4 minutes, Horovod is compiled) ..."
	@$(UV) sync --compile-bytecode --python $(PYTHON)
	@touch $@

# Debian's python3 lacks venv unless python3-venv is installed; pip alone will do.
.uv/bin/uv:
	@echo "Installing uv $(UV_VERSION) ..."
	@$(PYTHON) -m venv .uv 2>/dev/null && .uv/bin/python -m pip install --quiet uv==$(UV_VERSION) || { rm -rf .uv; \
	  $(PYTHON) -m pip install --quiet --target .uv uv==$(UV_VERSION) 2>/dev/null; } || { rm -rf .uv; \
	  echo "Neither uv nor Python's venv is here: install one of them (apt-get install python3-venv)." >&2; exit 2; }

clean:
	rm -rf .venv .uv uv.lock
