# Every target makes its own .venv when there is none; it needs Python 3.11+ (with pip and venv) and make.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test lint bench corpora conformance references clean

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Sutler needs Python 3.11 or newer; this is %s. Set PYTHON=..." % sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: $(READY)
	@$(BIN)/python examples/quickstart/demo.py

test: $(READY)
	$(BIN)/python -m pytest -n 2

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m bench

corpora: $(READY)
	$(BIN)/python -m bench.corpora
	$(BIN)/python -m bench.agentdojo

conformance: $(READY)
	$(BIN)/python -m bench.conformance

references: $(READY)
	$(BIN)/python -m bench.references

clean:
	rm -rf $(VENV)
