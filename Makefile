# `make up` and `make test`, from a fresh clone: both install what they need first.
PYTHON ?= python3
UV_VERSION := 0.13.8
UV := $(shell command -v uv || echo .uv/bin/uv)
INSTALL = $(UV) sync --all-extras
ARGS ?=
# What pip and uv say where they reach nobody, and what to say then.
UNREACHED := error sending request|dns error|client error .Connect|network connectivity is disabled|NewConnectionError|NameResolutionError|Failed to establish a new connection|name resolution|Network is unreachable|Connection refused|ConnectTimeout|ProxyError|from versions: none
OFFLINE := the network is missing; connect this machine, then try again.

# Two workers; those tests that share sessions, servers or the machine stay together (tests/tiers.py). Bytecode is kept,
# also where the shell says not to: rewriting the assertions of all tests takes each worker a quarter of a minute.
PYTEST = @PYTHONDONTWRITEBYTECODE= .venv/bin/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

.PHONY: up test test-all check lint release environment test-environment clean

up: environment
	@exec .venv/bin/workshop up $(ARGS)

# Every cheap test, a real one of every mechanism, and those that a changed file can affect.
test: test-environment
	$(PYTEST) --changed -m "not exhaustive or changed" $(ARGS)

# The rest: what `make test` leaves out.
test-all: test-environment
	$(PYTEST) -m exhaustive $(ARGS)

# Before each commit, within a minute: of the tests that start no process, those that a changed file can affect. pytest
# ends with 5 where that is none.
check: lint
	$(PYTEST) -q --changed -m "changed and not real" $(ARGS) || [ $$? = 5 ]

lint: test-environment
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/lint-imports --no-cache --no-logo && .venv/bin/mypy

# A version: its section of the changelog, wheel, source and their checksums in dist/, a commit and a tag.
release: test-environment
	@.ci/release $(UV)

environment: .venv/.up-to-date

test-environment: .venv/.ready-for-tests

# What the dashboard, sessions and all workloads need. Horovod is not among it: `workshop up` compiles it in the
# background. What is there besides, stays (--inexact).
.venv/.up-to-date: pyproject.toml | $(UV)
	@echo "Step 1 of 2: downloading and unpacking what the dashboard and the workloads need (about 500 MB) ..."
	@$(INSTALL) --inexact --python $(PYTHON)
	@echo "Step 2 of 2: compiling what the first visit needs ..."
	@.venv/bin/python -m workshop.cli.installation.compilation
	@touch $@

# What only tests need, and Horovod in the foreground: two to four minutes.
.venv/.ready-for-tests: .venv/.up-to-date
	@echo "Installing what tests need; compiling Horovod takes 2 to 4 minutes, unless that is done already ..."
	@$(INSTALL) --inexact --group dev --compile-bytecode --python $(PYTHON)
	@.venv/bin/workshop horovod install
	@touch $@

# pip is there at once, a venv makes one of its own first; Debian's python3 has neither or either.
.uv/bin/uv:
	@echo "Installing uv $(UV_VERSION) ..."
	@said=$$($(PYTHON) -m pip install --quiet --target .uv uv==$(UV_VERSION) 2>&1) || { rm -rf .uv; \
	  $(PYTHON) -m venv .uv >/dev/null 2>&1 && said=$$(.uv/bin/python -m pip install --quiet uv==$(UV_VERSION) 2>&1); } || { \
	  [ -x .uv/bin/python ] || $(PYTHON) -m pip --version >/dev/null 2>&1; lacking=$$?; rm -rf .uv; \
	  if [ $$lacking != 0 ]; then \
	    echo "Neither uv nor Python's venv is here: install one of them (apt-get install python3-venv)."; \
	  elif echo "$$said" | grep -qE '$(UNREACHED)'; then echo "uv can't be downloaded: $(OFFLINE)"; \
	  else echo "uv can't be installed, pip says:"; echo "$$said"; fi >&2; exit 2; }

clean:
	rm -rf .venv .uv uv.lock dist
