# Two commands do everything on a machine that has Python >= 3.11.4 and make:
#   make study   set up .venv, run the study of config.yaml, say where the report is
#   make test    set up .venv with the packages of development too, run the tests (check: the long ones)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/installed-run
DEV := $(VENV)/installed-dev
# Python compiles what it imports when it does; of all that is installed that would be 0.3 GB and half a minute.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check
CORES ?= all
OLDEST := .venv-oldest
TESTS = PATH="$$PWD/$(BIN):$$PATH" OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: study test check rehearsal test-oldest lint docs axe environment citation clean

study: $(RUN)
	PATH="$$PWD/$(BIN):$$PATH" OMP_NUM_THREADS=1 $(BIN)/python -m replicse run --cores $(CORES) $(ARGS)

test: $(DEV)
	$(TESTS) $(ARGS)

# The long run: commands of the documentation, committed studies, pages in a browser, the wheel, papers run at micro, the
# paper scale against a hub on this machine, every planted mistake, kills, full disks, a Slurm of one node (root and Debian).
check: $(DEV)
	$(TESTS) tests/e2e tests/faults tests/cluster -rs $(ARGS)

# Rehearse the scale paper on this machine: device, workflow, rates and memory. Ten minutes on a GPU; smaller on a CPU.
rehearsal: $(DEV)
	PATH="$$PWD/$(BIN):$$PATH" OMP_NUM_THREADS=1 $(BIN)/python benchmarks/rehearsal.py $(ARGS)

# The unit tests on the oldest torch and transformers that pyproject.toml admits, in an environment of their own.
test-oldest:
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	mkdir -p build
	grep -hvE '^(#|-r|torch|transformers)[ =]?' requirements/*.txt > build/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --requirement build/oldest.txt torch==2.8.0 transformers==5.18.0
	$(OLDEST)/bin/python -m pip install --quiet --no-deps --editable .
	PATH="$$PWD/$(OLDEST)/bin:$$PATH" OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder tests/unit $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check src tests benchmarks workflow docs
	$(BIN)/ruff format --check src tests benchmarks workflow docs
	$(BIN)/python docs/check_words.py
	PYTHONPATH=src $(BIN)/python docs/check_rooms.py
	$(BIN)/hadolint Dockerfile
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/mypy
	PATH="$$PWD/$(BIN):$$PATH" $(BIN)/python -m snakemake --lint
	PYTHONPATH=src $(BIN)/mkdocs build --strict --quiet

# The documentation site: build/site/index.html.
docs: $(DEV)
	PYTHONPATH=src $(BIN)/mkdocs build --strict

# What the tests of the report's accessibility run in Chromium; without it they are skipped.
axe:
	npm install --no-save --silent --prefix build axe-core@4.14.1

# environment.yml holds the pins of requirements/run.txt and mteb.txt for conda.
environment:
	$(PYTHON) workflow/environment.py

# codemeta.json and .zenodo.json say what CITATION.cff says.
citation: $(RUN)
	$(BIN)/python workflow/citation.py

# CPU wheels of torch come from the index that pip is set up for; install a GPU build yourself (docs/cluster.md).
$(RUN): requirements/run.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 4) and "Python 3.11.4 or newer is needed")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --requirement requirements/run.txt
	$(PIP) --no-deps --editable .
	touch $@

$(DEV): $(RUN) requirements/mteb.txt requirements/bench.txt requirements/dev.txt
	$(PIP) --requirement requirements/dev.txt
	touch $@

clean:
	rm -rf .snakemake results logs .pytest_cache .hypothesis .ruff_cache .mypy_cache
