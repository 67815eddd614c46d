# make report   set up, measure the demo on the real engine, write reports/index.html
# make lab      set up, open the tuning lab in JupyterLab on the recorded data
# make test     set up, run every test
SHELL := /bin/bash
DEVICE ?= $(shell command -v nvidia-smi >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1 && echo gpu || echo cpu)
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BLOCKS ?= 0
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready-$(DEVICE)
TEST_STAMP := $(VENV)/.ready-test
PIP := $(BIN)/pip --disable-pip-version-check
export PIP_NO_WARN_SCRIPT_LOCATION := 1

.PHONY: report lab test fast lint clean setup models

report: models
	@echo "labkit: measuring the demo on this machine (about 8 minutes on 2 cores)"
	@$(BIN)/labkit report notebooks/02_sweep_report.ipynb -p run=new -p blocks=$(BLOCKS) --out reports
	@echo "labkit: open reports/index.html"

lab: $(STAMP)
	JUPYTER_CONFIG_PATH=$(CURDIR)/notebooks/jupyter $(BIN)/jupyter lab notebooks/01_tuning_lab.ipynb

test: $(TEST_STAMP) models
	$(BIN)/python -m pytest

fast: $(TEST_STAMP)
	$(BIN)/python -m pytest -m "not engine and not browser"

lint: $(TEST_STAMP)
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/nbstripout --keep-id --verify notebooks/*.ipynb

setup: $(STAMP)

models: $(STAMP)
	@$(BIN)/labkit models demo

$(STAMP): requirements/$(DEVICE).txt pyproject.toml
	@echo "labkit: setting up $(VENV) for $(DEVICE) with $(PYTHON) (2 to 5 minutes, 4 GB, once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and f"labkit needs Python 3.11, this is {sys.version.split()[0]}; say make PYTHON=/path/to/python3.11")'
	@for other in $(VENV)/.ready-*pu; do case $$other in *-$(DEVICE)|*'*'*) ;; *) rm -rf $(VENV);; esac; done
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	@start=$$SECONDS; requirements/install.sh $(DEVICE) $(BIN)/python && echo "labkit: set up in $$((SECONDS - start)) s"
	@touch $@

$(TEST_STAMP): requirements/test.txt $(STAMP)
	@$(PIP) install -q --no-deps -r requirements/test.txt
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache test-artifacts
