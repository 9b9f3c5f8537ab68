"""`probe.metrics` has every metric by a name of its own, documented, and loads no torch."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import probe.metrics
from probe import metrics
from probe.metrics import chaudhry, deep_shallow, diaz_rodriguez, gem, kemker, murata, scorecard

PAPERS = (chaudhry, deep_shallow, diaz_rodriguez, gem, kemker, murata)
HELPERS = {"task_sizes", "weights_by_criterion"}
FUNCTIONS = {
    (paper, name): own
    for paper in PAPERS
    for name, own in vars(paper).items()
    if inspect.isfunction(own) and own.__module__ == paper.__name__
    if not name.startswith("_") and name not in HELPERS
}
PUBLIC = {name: getattr(metrics, name) for name in metrics.__all__}
TESTS = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))

each = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda f: f.__qualname__)


def test_every_metric_is_there_by_one_name() -> None:
    assert len(FUNCTIONS) == 31
    assert {metric.function for metric in scorecard.METRICS} <= set(FUNCTIONS.values())
    functions = [own for own in PUBLIC.values() if inspect.isfunction(own)]
    assert len(set(functions)) == len(functions)
    assert set(functions) == {*FUNCTIONS.values(), metrics.read_matrix}


def test_three_forward_transfers_are_told_apart() -> None:
    assert metrics.gem_fwt is gem.fwt
    assert metrics.diaz_fwt is diaz_rodriguez.fwt
    for name in ("fwt", "bwt", "accuracy"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(metrics, name)


@each
def test_each_says_formula_range_direction_and_source(function: object) -> None:
    said = inspect.getdoc(function) or ""
    module = inspect.getdoc(inspect.getmodule(function)) or ""
    assert re.search(r"=|:", said.splitlines()[0] + said), "a formula"
    assert re.search(r"\[-?\d|[Ff]rom 0|in \[", said), "a range"
    assert re.search(r"higher|lower|better", said), "a direction"
    assert re.search(r"Source|eq\.", said + module), "a source"


@each
def test_each_has_an_example_or_a_test(function: object) -> None:
    examples = doctest.DocTestFinder().find(function, globs={})
    name = function.__name__  # type: ignore[attr-defined]
    assert any(found.examples for found in examples) or re.search(rf"\b{name}\(", TESTS)


@each
def test_the_package_names_each_in_its_own_docstring(function: object) -> None:
    name = next(name for name, own in PUBLIC.items() if own is function)
    assert f"`{name}`" in (probe.metrics.__doc__ or "")


def test_names_are_there_without_torch() -> None:
    code = "import probe, sys; probe.metrics.forgetting; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
