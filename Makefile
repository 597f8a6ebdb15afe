# `make demo` and `make test` do everything on a fresh machine with Python 3.11 and make.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test check browser format bench docs clean help

help:
	@echo "make demo    set up, compare the policies, show table and figure"
	@echo "make test    set up, lint, types, import directions, the whole suite"
	@echo "make check   lint, types and import directions only"
	@echo "make bench   measure, side by side"
	@echo "make docs    run the snippets of the documents and check their links"

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Plain pip, with the pinned versions of constraints.txt; the stamps keep later calls instant.
$(VENV)/.core: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once, about a minute)" >&2
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	@echo "adding what the tests need (once, a few minutes)" >&2
	$(PIP) -e '.[dev,exact,flower,gym,ray,serve,tensorboard,torch]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) -e '.[bench]'
	@touch $@

demo: $(VENV)/.core
	$(BIN)/fedroam demo

check: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs
	$(BIN)/mypy
	$(BIN)/lint-imports

# The browser in which the tests look at the pages: Debian's, where there is none.
browser:
	@for name in "$$CHROMIUM" chromium chromium-browser google-chrome-stable google-chrome; do \
	  command -v "$$name" >/dev/null && exit 0; done; \
	echo "installing chromium (once; apt-get)" >&2; \
	sudo=$$([ "$$(id -u)" = 0 ] || echo sudo); $$sudo apt-get update -qq && $$sudo env \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null

test: check browser
	$(BIN)/pytest -n 2 --dist worksteal

format: $(VENV)/.dev
	$(BIN)/ruff check --fix src tests benchmarks examples docs
	$(BIN)/ruff format src tests benchmarks examples docs

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run_all.py

docs: $(VENV)/.dev
	$(BIN)/pytest -q tests/test_docs.py

clean:
	rm -rf $(VENV) demo runs
