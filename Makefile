# `make demo` and `make test` set up .venv once, with uv where there is one, and then run.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(if $(shell command -v uv),uv pip install --python $(BIN)/python,$(BIN)/python -m pip install)

.PHONY: demo test soak zoo bench lint types clean

demo: $(VENV)/installed
	$(BIN)/probe run digits

# Half of the tests wait for processes that they have started: two run side by side.
test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile

# A hundred kills at random moments, and every table as if nothing had happened; eleven minutes.
soak: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.soak

# Every network at every feature, with the count of cuts; a quarter of an hour.
zoo: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.laws.zoo

# DATA=DIR, a folder with MNIST, adds the comparison of scores.
bench: $(VENV)/installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.bench $(if $(DATA),--data $(DATA))

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build dist *.egg-info

# Made anew unless it was made whole.
$(VENV)/created:
	rm -rf $(VENV)
	$(if $(shell command -v uv),uv venv --python $(PYTHON),$(PYTHON) -m venv) $(VENV)
	touch $@

# The development tools come on top of what running needs: what is there is not installed again.
$(VENV)/installed: pyproject.toml | $(VENV)/created
	$(INSTALL) --editable .
	touch $@

$(VENV)/installed-dev: pyproject.toml | $(VENV)/created
	$(INSTALL) --editable '.[dev]'
	touch $(VENV)/installed $@
