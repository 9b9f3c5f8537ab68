"""The hash of the code that makes a job's results: the modules that it covers."""

import importlib

import pytest

from probe.by_layer import code
from probe.by_layer.code import code_hash, modules_of
from scenarios.learners.catalog import LEARNERS

ENGINE = "probe.by_layer.engine"
# A package like ours: the catalog names its learners and imports none of them.
FILES = {
    "probe.loop": "import math",
    "probe.plots": "",
    ENGINE: "from probe import loop\nimport scenarios.learners.catalog\n"
    "def network():\n    from scenarios.networks import mlp",
    "scenarios.networks.mlp": "class Mlp: ...",
    "scenarios.learners.catalog": 'MODULES = {"er": "replay.er:Er", "si": "penalties.si:Si"}',
    "scenarios.learners.base": "class Learner: ...",
    "scenarios.learners.er": "from scenarios.learners.base import Learner",
    "scenarios.learners.si": "from scenarios.learners.base import Learner",
    "scenarios.commands.main": "from probe.by_layer.engine import network",
}
# With another line in the registry there is another learner: results of these stay as
# they are.
NEVER = {"probe.plots", "scenarios.commands.main", "scenarios.learners.catalog"}


@pytest.fixture
def package(monkeypatch):
    """Return a function that writes a module of the package, and hashes the code of `er`, `si`."""
    monkeypatch.setattr(
        code, "SOURCES", sources := {n: t.encode() for n, t in FILES.items()}
    )

    def forget():
        for cached in (code_hash, modules_of, code._syntax):
            cached.cache_clear()

    def write(module, text):
        sources[module] = text.encode()
        forget()
        return [
            code_hash((f"scenarios.learners.{kind}", "their.learner"))
            for kind in ("er", "si")
        ]

    yield write
    forget()


@pytest.mark.parametrize("module", FILES)
def test_a_module_counts_for_those_jobs_alone_that_import_it(package, module):
    before, after = (
        package(module, FILES[module] + more) for more in ("", "\nCHANGED = True\n")
    )
    own = module.rpartition(".")[2]
    expected = [own == kind for kind in ("er", "si")]
    changed = [one != other for one, other in zip(before, after, strict=True)]
    assert changed == (expected if own in ("er", "si") else [module not in NEVER] * 2)


def _covered(kind):
    modules = (ENGINE, "scenarios.study.training", LEARNERS[kind].__module__)
    return frozenset.union(*map(modules_of, modules))


def test_a_learner_counts_for_its_own_jobs_and_commands_and_figures_for_none():
    elsewhere = ("scenarios.commands", "scenarios.execution", "figures")
    for kind in LEARNERS:
        assert not [name for name in _covered(kind) if name.startswith(elsewhere)]
    for kind in ("pathnet", "ewc"):
        assert LEARNERS[kind].__module__ in _covered(kind) - _covered("finetune")


def test_every_module_that_a_covered_one_uses_is_covered():
    """By its globals when it is loaded, where the hash goes by the text."""
    covered = frozenset.union(*map(_covered, LEARNERS))
    assert len(covered) > 40
    for name in covered:
        values = vars(importlib.import_module(name)).values()
        used = {str(getattr(value, "__module__", "")) for value in values}
        assert {
            module for module in used if module.startswith(("probe.", "scenarios."))
        } <= covered
