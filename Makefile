# Every command of the project; `make` alone lists them. Nothing outside this folder and the user's cache is changed.
# PYTHON=… chooses the interpreter, ARGS=… goes to pytest (make test ARGS="-k fence"), PROJECT=… to the demo.

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTHON ?= $(shell sh scripts/python.sh)

# The environment is made anew when the folder was moved (its scripts hold absolute paths) or its interpreter is gone.
STALE := $(shell test ! -e $(STAMP) || { $(BIN)/python -c 'import pip' 2>/dev/null && test "`cat $(STAMP)`" = "$(CURDIR)"; } || echo stale)

TOOLS := $(CURDIR)/.tools
TOOLS_PATH := $(TOOLS)/python/bin:$(TOOLS)/npm/bin:$(TOOLS)/go/bin:$(TOOLS)/rust/bin
# The bundled project is shown with the pinned servers. A project of your own is shown with your own, where you have them.
DEMO_PATH = $(if $(PROJECT),$$PATH:$(TOOLS_PATH),$(TOOLS_PATH):$$PATH)

.PHONY: help install tools demo test test-fast check bench accuracy soak clean FORCE

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

install: $(STAMP) ## Ombud and its development tools, in .venv

$(STAMP): pyproject.toml constraints.txt $(if $(STALE),FORCE)
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer with venv was found. Install it (Debian, Ubuntu: apt-get install python3-venv) or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "installing Ombud into $(VENV)"
	@{ test -z "$(STALE)" && $(BIN)/python -c 'import pip' 2>/dev/null; } || "$(PYTHON)" -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --retries 5 -c constraints.txt pip
	@$(BIN)/python -m pip install --quiet --retries 5 -c constraints.txt --build-constraint constraints.txt -e '.[dev]'
	@printf '%s\n' "$(CURDIR)" > $(STAMP)

tools: install ## the pinned language servers of the tests, in the user's cache, linked as .tools
	@$(BIN)/python scripts/tools.py $(if $(filter true,$(CI)),--system)

demo: install ## see Ombud at work; PROJECT=dir shows it on a project of yours, and changes nothing there
	@$(BIN)/python scripts/tools.py --only python
	@PATH="$(DEMO_PATH)" $(BIN)/ombud demo $(if $(PROJECT),"$(PROJECT)")

test: install tools ## every test, with the real language servers
	$(BIN)/python -m pytest -n 2 $(ARGS)

FAST := tests/unit $(addprefix tests/peers/,test_link.py test_serve_order.py test_serve_documents.py test_serve_start.py)

test-fast: install ## for the loop, under two minutes: the pure tests, and the road with scripted servers
	$(BIN)/python -m pytest -n 2 $(FAST) $(ARGS)

check: install tools ## all that CI runs: format, lint, types, imports, documentation, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --strict scripts/tools.py
	$(BIN)/python -m pytest -q tests/unit/test_imports.py
	$(BIN)/python scripts/docs.py --check
	$(BIN)/python -m pytest -n 2 $(ARGS)

bench: install ## the benchmarks, each beside what a user would pick instead
	@$(BIN)/python scripts/tools.py --only python
	@$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev,bench]'
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/write.py
	$(BIN)/python bench/proxy.py
	$(BIN)/python bench/graph.py
	$(BIN)/python bench/search.py
	$(BIN)/python bench/debug.py

accuracy: install ## precision and recall of the code graph's call edges, against type checkers, with the failures listed
	@$(BIN)/python scripts/tools.py --only scip,go,rust,java
	$(BIN)/python -m bench.accuracy

soak: install ## 100,000 requests of many clients, with crashes, cancellations and a client that comes and goes
	OMBUD_SOAK=100000 $(BIN)/python -m pytest -q -s tests/peers/test_soak.py

clean: ## delete .venv, .tools and what tests and checkers leave (the user's cache of tools stays)
	rm -rf $(VENV) .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find $(wildcard server tests scripts bench) -name __pycache__ -type d -prune -exec rm -rf {} +
