# passlab: what a person does in this checkout, by name. `make` alone lists it.
#
# Everything is installed into .venv and nowhere else; the versions are those of requirements.lock. A stamp file in .venv
# records each installation, so that a second run installs nothing. Written for GNU make 3.81, which macOS ships.
#
#   UV=       use pip even where uv is installed       PYTHON=...   the Python to build .venv with (3.10 or newer)
#   ARGS=...  more arguments for JupyterLab or pytest  NIGHTLY=1    `make test` leaves nothing out
#   JOBS=2    how many tests run at once (every processor)
#   REACH=1   `make nightly` also renews the notes of `make mutants` about which tests reach which function
#   N=200 SEED=1 PACKAGE=vm    the mutants of `make mutants`: how many, which, and of which package (all)

VENV := .venv
BIN  := $(VENV)/bin
FULL := .venv-nightly
OVERRIDES := share/jupyter/lab/settings/overrides.json
UV   ?= $(shell command -v uv 2>/dev/null)
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.10 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1 && echo $$p && break; done)

TOUR      := notebooks/01-tour.ipynb
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
NBVAL     := -p tests.nbval_without_grammars --nbval --nbval-current-env --nbval-cell-timeout=120 --nbval-sanitize-with=tests/nbval_sanitize.cfg
JOBS      := auto
MUTANT_JOBS = $(if $(filter-out auto,$(JOBS)),--jobs $(JOBS))
# A worker runs whole files, whose tests may share what is costly; the files whose tests wait come first (tests/conftest.py).
PARALLEL  := -q -p no:randomly -n $(JOBS) --dist loadfile --no-loadscope-reorder
TESTS     := tests $(NOTEBOOKS)
# What tests need beside the packages of .venv: others' compilers, runtimes and notebooks. torch is pinned, for a newer one
# is a download of gigabytes where the registry has no wheel for processors alone.
# Triton is left out: 290 MB to download, 1 GB installed. Its tests run where somebody has installed it.
OTHERS    := torch==2.13.0 onnxruntime apache-tvm xdsl distributed marimo altair vl-convert-python matplotlib

# The kernels and extensions of .venv come before those the user has installed elsewhere.
export JUPYTER_PREFER_ENV_PATH := 1
# The many short programs of the tests start three times as fast from compiled files.
unexport PYTHONDONTWRITEBYTECODE

ifneq ($(UV),)
  INSTALL := $(UV) pip install --quiet --python $(BIN)/python --constraint requirements.lock
else
  INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock
endif

# Node comes with the development environment; what it runs is pinned by package-lock.json.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm

.DEFAULT_GOAL := help
.PHONY: help lab test nightly quick mutants check bench docs bless scripts lock clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-17s %s\n", $$1, $$2 }'

lab: $(VENV)/.lab $(VENV)/$(OVERRIDES) ## install passlab and open JupyterLab on the tour (ARGS="--no-browser" for a server only)
	$(BIN)/jupyter lab --ServerApp.root_dir="$(CURDIR)" $(if $(filter 0,$(shell id -u)),--allow-root) $(wildcard $(TOUR)) $(ARGS)

test: $(VENV)/.dev ## run the tests: layers, architecture, unit, laws, notebooks, browser (NIGHTLY=1 leaves none out)
	$(BIN)/python -m pytest $(PARALLEL) $(NBVAL) $(if $(NIGHTLY),,-m "not nightly") $(TESTS) $(ARGS)

nightly: $(VENV)/.dev $(FULL)/.made ## run what `make test` leaves out: long tests, all laws, other compilers (.venv-nightly)
	$$(test -x $(FULL)/bin/pytest && echo $(FULL) || echo $(VENV))/bin/python -m pytest $(PARALLEL) $(NBVAL) -m nightly $(TESTS) $(ARGS)
	$(if $(REACH),$(BIN)/python -m tests.mutants.measure --reach only $(MUTANT_JOBS))

quick: $(VENV)/.dev ## run the tests one runs while working: no notebooks, no browser
	$(BIN)/python -m pytest $(PARALLEL) -m "not nightly and not browser" tests $(ARGS)

mutants: $(VENV)/.dev ## measure the tests: the share of N random changes of passlab that they catch (N=200 SEED=1 PACKAGE=)
	$(BIN)/python -m tests.mutants.measure --number $(or $(N),200) --seed $(or $(SEED),1) --package "$(PACKAGE)" $(MUTANT_JOBS) $(ARGS)

check: $(VENV)/.dev node_modules/.made ## lint, type-check, check the layers and the prose; the same for the scripts
	$(BIN)/ruff check --output-format concise .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python docs/style.py
	$(NPM) run --silent check

bench: $(VENV)/.bench ## run the benchmarks (tables on screen, JSON records in benchmarks/out)
	@test -d benchmarks || { echo "no benchmarks/ in this checkout"; exit 1; }
	$(BIN)/python -m benchmarks $(ARGS)

docs: $(VENV)/.dev ## build the manual into site/
	$(BIN)/sphinx-build -q -W --keep-going -b html docs site
	@echo "site/index.html"

bless: $(VENV)/.dev ## rewrite the expected outputs of tests and notebooks from what passlab does now; read the diff
	$(BIN)/python -m pytest tests --bless $(ARGS)
	$(if $(NOTEBOOKS),$(BIN)/jupyter nbconvert --to notebook --execute --inplace \
	  --ExecutePreprocessor.store_widget_state=False --ExecutePreprocessor.record_timing=False \
	  --CoalesceStreamsPreprocessor.enabled=True $(NOTEBOOKS),@echo "no notebooks in notebooks/: none to run")

scripts: node_modules/.made ## format the scripts, and rebuild the bundles of views and JupyterLab's extension from them; commit these
	$(NPM) run --silent format
	$(NPM) run --silent bundle
	$(NPM) run --silent build --workspace extension

lock: ## renew requirements.lock (needs uv)
	@test -n "$(UV)" || { echo "make lock needs uv: https://docs.astral.sh/uv"; exit 1; }
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.10 --extra dev --extra bench --no-emit-package passlab \
	  --no-annotate --custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

clean: ## remove .venv and everything else make has made
	rm -rf $(VENV) $(FULL) site build dist node_modules benchmarks/out .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@test -n "$(UV)$(PYTHON)" || { echo "passlab needs Python 3.10 or newer: make PYTHON=/path/to/python ..."; exit 1; }
	$(if $(UV),$(UV) venv --quiet --allow-existing --python "$(or $(PYTHON),>=3.10)" $(VENV),$(PYTHON) -m venv $(VENV))
	@echo '{}' > $(VENV)/package.json  # else the one of this checkout makes modules of JupyterLab's scripts, which they are not
	@touch $@

# Of this environment's JupyterLab alone: Tab shows what an operator, an attribute or a pass is, beside its name, and no
# question about news covers the first lesson.
$(VENV)/$(OVERRIDES): | $(VENV)/.made
	@mkdir -p $(@D)
	@echo '{"@jupyterlab/completer-extension:manager": {"showDocumentationPanel": true},' > $@
	@echo ' "@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}' >> $@

# Apart from .venv, whose tests show what passlab does without these packages. What the registry does not give is left
# out: its tests are skipped, and say so. With pip, for uv looks for torch in the registry alone.
$(FULL)/.made: pyproject.toml requirements.lock | $(VENV)/.made
	@$(BIN)/python -m venv $(FULL)
	@pip="$(FULL)/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock"; \
	if $$pip --editable ".[dev,bench]"; then \
	  rm -f $(FULL)/left-out.txt; \
	  for package in $(OTHERS); do \
	    $$pip "$$package" || { \
	      echo "left out: $$package (the message is above); its tests are skipped"; echo "$$package" >> $(FULL)/left-out.txt; }; \
	  done; \
	else \
	  echo "left out: .venv-nightly (the message is above); nightly tests run in .venv, and those of other packages are skipped"; \
	fi
	@touch $@

$(VENV)/.lab: pyproject.toml requirements.lock extension/dist/built-from.txt | $(VENV)/.made
	$(INSTALL) --editable ".[lab]"
	@touch $@

$(VENV)/.dev: pyproject.toml requirements.lock extension/dist/built-from.txt | $(VENV)/.made
	$(INSTALL) --editable ".[dev]"
	@touch $@ $(VENV)/.lab

node_modules/.made: package.json package-lock.json extension/package.json | $(VENV)/.dev
	$(NPM) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(INSTALL) --editable ".[dev,bench]"
	@touch $@
