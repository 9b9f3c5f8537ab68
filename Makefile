# `make demo` and `make test` set up .venv once, with uv where there is one, and then run.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
UV := $(shell command -v uv)

# A new environment, and what is installed into one: $(call install,FOLDER) WHAT. Compiling all of
# torch and its like takes longer than what they need of it at first use.
create = rm -rf $(1) && $(if $(UV),uv venv --python $(PYTHON),$(PYTHON) -m venv) $(1)
install = $(if $(UV),uv pip install --python $(1)/bin/python,$(1)/bin/python -m pip install --no-compile)

.PHONY: demo test test-all mutants lowest soak zoo bench docs found lint types clean

demo: $(VENV)/installed
	$(BIN)/probe demo

# Tests start hundreds of processes, none of which compiles again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

# Two tests run side by side, each of them on one thread.
test test-all mutants lowest soak zoo bench docs: export OMP_NUM_THREADS := 1
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Every law, oracle, golden number and hostile model; its ten slowest are named.
test: $(VENV)/installed-dev
	$(PYTEST) -m "not slow and not soak" --durations=10

# And what is marked slow: kills, full disks, Ray, large zoos. Ten networks each of timm and
# transformers are among them where `make zoo` has installed these; elsewhere they are skipped.
test-all: $(VENV)/installed-dev
	$(PYTEST)

# Wrong lines planted one by one, and those that no test finds. First all tests run, and it is
# recorded which functions each calls; after a change of the code, remove build/contexts.
N ?= 80
SEED ?= 1
mutants: build/contexts | $(VENV)/installed-dev
	$(BIN)/python -m tests.mutants $(N) $(SEED)

build/contexts: | $(VENV)/installed-dev
	$(PYTEST) -p tests.mutants.contexts

# A few tests of each dependency, a minute of them, with the lowest versions that pyproject.toml
# allows: 6 GB, most of it CUDA for torch. Five bounds are where they are because of these tests:
# below numpy 2.2 saved results do not read back, pydantic 2.7 refuses our arguments, matplotlib 3.9
# draws the same figure in other bytes, rich 14.2 prints empty lines into files, and typer 0.28
# words its errors otherwise.
LOWEST_TESTS := \
	tests/probe/cut/test_cuts.py \
	tests/probe/training/test_recipes.py \
	tests/probe/redundancy \
	tests/figures/kinds/test_values.py \
	tests/scenarios/commands/test_cli.py \
	tests/scenarios/commands/test_parsing.py \
	tests/scenarios/data/test_image_features.py \
	tests/probe/by_layer/test_store.py \
	tests/probe/by_layer/test_held.py \
	tests/probe/tables/test_folder.py \
	tests/scenarios/study/test_spec.py \
	tests/test_bad_input.py::test_the_same_without_the_mistake_is_accepted

lowest: $(LOWEST)/installed
	$(LOWEST)/bin/python -m pytest $(LOWEST_TESTS)

# Kills at random moments, and every table as if nothing had happened; and many more cases of laws
# of which `make test-all` has a few.
soak: $(VENV)/installed-dev
	$(PYTEST) -m soak

# Small networks at every feature, those of torchvision, timm and transformers (extra `zoo`) at four
# each, with the count of cuts.
zoo: $(VENV)/installed-zoo
	$(BIN)/python -m tests.laws.zoo

# Some numbers of docs/speed.md: analyses, growth, Avalanche, readouts.
bench: $(VENV)/installed-dev
	$(BIN)/python -m tests.bench

# The site, in build/docs: its scripts and notebooks run, a warning is an error, and no page loads
# anything from elsewhere.
docs: $(VENV)/installed-docs
	rm -rf build/docs
	$(BIN)/python -m sphinx -W --keep-going -d build/doctrees docs build/docs
	! grep -rEn '<(script|link|img|iframe)[^>]+(src|href)="(https?:)?//' build/docs --include='*.html'

# The pages on our studies and their pictures, from the CSV files in docs/found.
found: $(VENV)/installed
	$(BIN)/python docs/found/write.py --pictures

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/python -m tests.unused_names
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(VENV)/installed-dev
	$(BIN)/mypy
	$(BIN)/mypy tests/user_program.py

clean:
	rm -rf $(VENV) $(LOWEST) build dist *.egg-info docs/auto_gallery

# Made anew unless it was made whole.
$(VENV)/created:
	$(call create,$(VENV))
	touch $@

# The development tools come on top of what running needs: what is there is not installed again.
$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/created
	$(call install,$(VENV)) --constraint constraints.txt --editable .
	touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/created
	$(call install,$(VENV)) --constraint constraints.txt --editable '.[dev]'
	touch $(VENV)/installed $@

$(VENV)/installed-docs: pyproject.toml constraints.txt | $(VENV)/created
	$(call install,$(VENV)) --constraint constraints.txt --editable '.[docs]'
	touch $(VENV)/installed $@

$(VENV)/installed-zoo: pyproject.toml constraints.txt | $(VENV)/created
	$(call install,$(VENV)) --constraint constraints.txt --editable '.[dev,zoo]'
	touch $(VENV)/installed $(VENV)/installed-dev $@

# Of the dependencies the lower bounds, of pytest and hypothesis what is usual.
$(LOWEST)/installed: pyproject.toml constraints.txt
	$(call create,$(LOWEST))
	$(call install,$(LOWEST)) $$(grep -E '^(pytest|hypothesis)==' constraints.txt) \
	  $$(sed -n '/^dependencies = /,/^]/s/.*"\(.*\)>=\(.*\)".*/\1==\2/p' pyproject.toml)
	touch $@
