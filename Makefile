# Two commands do everything on a machine that has Python >= 3.11 and make:
#   make study   set up .venv, run the study of config.yaml, say where the report is
#   make test    set up .venv, run the tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
CORES ?= all

.PHONY: study test lint clean

study: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" OMP_NUM_THREADS=1 $(BIN)/snakemake --cores $(CORES) --scheduler greedy --keep-going --show-failed-logs --quiet host $(ARGS)

test: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/snakefmt --check Snakefile workflow
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake --lint

# CPU wheels of torch come from the index that pip is set up for; a GPU build is installed by hand before (README).
$(STAMP): requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $(STAMP)

clean:
	rm -rf .snakemake results logs .pytest_cache .hypothesis .ruff_cache
