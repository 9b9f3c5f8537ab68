"""The hash of the code that makes a job's results: what changes it, and which modules it covers."""

from __future__ import annotations

import importlib
import textwrap

import pytest

from scenarios.learners.catalog import LEARNERS
from scenarios.study import code
from probe.by_layer.code import code_hash, modules_of

JOB = "scenarios.study.job"
LOOP = '''
    """A loop."""
    import math
    EPOCHS = 5
    """How often."""
    class Loop:
        """Trains."""
        rate = 0.1
        def step(self, x):
            """Go one step."""
            return x - self.rate * x
'''
# A package as ours, by module: the catalog names its learners and imports none of them.
FILES = {
    "probe.loop": textwrap.dedent(LOOP),
    "probe.plots": "",
    JOB: """
from probe import loop
import scenarios.learners.catalog
def network():
    from scenarios.networks import mlp
""",
    "scenarios.networks.mlp": "class Mlp: ...",
    "scenarios.learners.catalog": 'MODULES = {"er": "replay.er:Er", "si": "penalties.si:Si"}',
    "scenarios.learners.base": "class Learner: ...",
    "scenarios.learners.er": "from scenarios.learners.base import Learner",
    "scenarios.learners.si": "from scenarios.learners.base import Learner",
    "scenarios.commands.main": "from scenarios.study.job import network",
}
# With another line in the registry there is another learner: the results of these stay as they are.
NEVER = {"probe.plots", "scenarios.commands.main", "scenarios.learners.catalog"}


@pytest.fixture
def package(monkeypatch):
    """Return what writes a module of the package above and gives the hashes of `er` and `si`."""
    learners = {
        kind: type(kind, (), {"__module__": f"scenarios.learners.{kind}"}) for kind in ("er", "si")
    }
    monkeypatch.setattr(code, "SOURCES", sources := {})
    monkeypatch.setattr(code, "LEARNERS", learners)

    def write(module: str, text: str) -> tuple[str, str]:
        sources[module] = text.encode()
        forget()
        return code_hash("er"), code_hash("si")

    def forget() -> None:
        for cached in (code_hash, modules_of, code._syntax):
            cached.cache_clear()

    for module, text in FILES.items():
        write(module, text)
    yield write
    forget()


@pytest.mark.parametrize(
    ("old", "new", "is_code"),
    [
        ('"""A loop."""', '"""Another one."""', False),
        ('"""A loop."""\n', "", False),
        ('"""How often."""', '"""Times."""', False),
        ('    """Trains."""\n', "", False),
        ('"""Go one step."""', '"""Go one step, downhill."""', False),
        ("EPOCHS = 5", "EPOCHS = 5  # as in the paper", False),
        ("EPOCHS = 5", "\n\nEPOCHS   =   (5)", False),
        ("self.rate * x", "(\n            self.rate\n            * x\n        )", False),
        ("EPOCHS = 5", "EPOCHS = 6", True),
        ("0.1", "0.10000000000000002", True),
        ("x - self.rate * x", "x + self.rate * x", True),
        ("def step", "def stepped", True),
        ("return x", "print(x); return x", True),
        ("import math", "import cmath", True),
        ('"""Go one step."""', 'log = """Go one step."""', True),
    ],
)
def test_statements_are_code_and_docstrings_comments_and_layout_are_not(package, old, new, is_code):
    before = package("probe.loop", FILES["probe.loop"])
    assert old in FILES["probe.loop"]
    after = package("probe.loop", FILES["probe.loop"].replace(old, new))
    changed = [one != other for one, other in zip(before, after, strict=True)]
    assert changed == [is_code, is_code]


@pytest.mark.parametrize("module", FILES)
def test_a_module_counts_for_those_jobs_alone_that_import_it(package, module):
    before = package(module, FILES[module])
    after = package(module, FILES[module] + "\nCHANGED = True\n")
    changed = [one != other for one, other in zip(before, after, strict=True)]
    own = module.rpartition(".")[2]
    expected = [own == kind for kind in ("er", "si")]
    assert changed == (expected if own in ("er", "si") else [module not in NEVER] * 2)


def test_the_hash_is_the_same_in_every_version_of_python(package):
    assert package("probe.loop", FILES["probe.loop"])[0][:16] == "fcc2c18c539e7fa8"


def test_a_learner_of_somebody_elses_needs_no_file_of_ours(package, monkeypatch):
    theirs = type("Theirs", (), {"__module__": "their.learner"})
    monkeypatch.setattr(code, "LEARNERS", {"er": theirs, "si": theirs})
    assert len(set(package("probe.loop", ""))) == 1


# Our own modules


def test_the_command_line_counts_for_no_job():
    """Nor do executors and figures: how a job is started and shown changes no result."""
    for kind in LEARNERS:
        modules = modules_of(JOB) | modules_of(LEARNERS[kind].__module__)
        assert LEARNERS[kind].__module__ in modules
        elsewhere = ("scenarios.commands", "scenarios.execution", "figures")
        assert not [name for name in modules if name.startswith(elsewhere)]


@pytest.mark.parametrize("kind", ["pathnet", "ewc", "icarl", "gem"])
def test_a_learner_counts_for_its_own_jobs(kind):
    others = modules_of(JOB) | modules_of(LEARNERS["finetune"].__module__)
    assert LEARNERS[kind].__module__ not in others


def test_whatever_a_covered_module_uses_is_covered():
    """By its globals when it is loaded, where the hash looks at what is written."""
    covered = set(modules_of(JOB)).union(*(modules_of(k.__module__) for k in LEARNERS.values()))
    assert len(covered) > 40
    for name in covered:
        globals_of = vars(importlib.import_module(name)).values()
        used = {str(getattr(value, "__module__", "")) for value in globals_of}
        assert {module for module in used if module.startswith(("probe.", "scenarios."))} <= covered
