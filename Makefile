# Each target sets up .venv when it must and installs nothing twice: a stamp in .venv says which
# extras are in, and is renewed when pyproject.toml or constraints.txt changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --constraint constraints.txt

# An environment whose interpreter is gone is made anew, so its stamps are void.
ifeq ($(wildcard $(BIN)/python),)
$(shell rm -f $(VENV)/.stamp-*)
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:

.PHONY: help
help: ## Show this list
	@echo "make TARGET [PYTHON=python3.12]   (PYTHON makes .venv; it needs 3.11 or later)"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: demo
demo: $(VENV)/.stamp-demo ## Train and explain a model on the bundled messages (about 4 minutes)
	$(BIN)/attending demo --out attending-demo

.PHONY: test
test: $(VENV)/.stamp-dev ## Run the tests, offline, on two cores (about 8 minutes)
	$(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: test-slow
test-slow: $(VENV)/.stamp-dev ## Run the tests that take longer, and those in a browser if there is one
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "(slow or browser) and not gpu and not hub"

.PHONY: lint
lint: $(VENV)/.stamp-dev ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: docs
docs: $(VENV)/.stamp-docs ## Build the documentation in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: clean
clean: ## Remove what was built, not .venv and not attending-demo
	rm -rf build dist site .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: clean-all
clean-all: clean ## Remove .venv and attending-demo as well
	rm -rf $(VENV) attending-demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Attending needs Python 3.11 or later; $(PYTHON) is" \
	    "$$($(PYTHON) -V 2>/dev/null || echo 'not on this machine')." >&2; \
	  echo "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)

# PyTorch comes first and by itself: it is by far the largest and decides on the accelerator.
$(VENV)/.stamp-torch: constraints.txt | $(BIN)/python
	@echo "Installing PyTorch into $(VENV); the first time this takes a few minutes."
	$(INSTALL) torch
	@touch $@

$(VENV)/.stamp-demo: pyproject.toml $(VENV)/.stamp-torch
	$(INSTALL) --editable ".[bundled]"
	@touch $@

$(VENV)/.stamp-dev: pyproject.toml $(VENV)/.stamp-torch
	$(INSTALL) --editable ".[bundled,parquet,dev]"
	@touch $(VENV)/.stamp-demo $@

$(VENV)/.stamp-docs: pyproject.toml $(VENV)/.stamp-torch
	$(INSTALL) --editable ".[docs]"
	@touch $@
