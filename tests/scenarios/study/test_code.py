"""The hash of the code that makes a job's results: what changes it, and which modules it covers."""

from __future__ import annotations

import importlib
import textwrap
from pathlib import Path

import pytest

from scenarios.learners.catalogue import LEARNERS
from scenarios.study import code
from scenarios.study.code import code_hash, modules_of

JOB = "scenarios.study.job"
# A package as ours: the catalogue names its learners and imports none of them.
FILES = {
    "probe/__init__.py": "",
    "probe/loop.py": '''
        """A loop."""
        import math
        from numpy import ndarray
        EPOCHS = 5
        """How often."""
        class Loop:
            """Trains."""
            rate = 0.1
            def step(self, x):
                """Go one step."""
                return x - self.rate * x
    ''',
    "probe/plots.py": "SIZE = 1",
    "scenarios/study/job.py": """
        from probe import loop
        import scenarios.learners.catalogue
        def network():
            from scenarios.networks import mlp
    """,
    "scenarios/networks/__init__.py": "from scenarios.networks.mlp import Mlp",
    "scenarios/networks/mlp.py": "class Mlp:\n    pass",
    "scenarios/learners/catalogue.py": 'LEARNERS = {"er": "replay.er:Er", "si": "penalties.si:Si"}',
    "scenarios/learners/base.py": "class Learner:\n    pass",
    "scenarios/learners/replay/er.py": "from scenarios.learners.base import Learner",
    "scenarios/learners/penalties/si.py": "from scenarios.learners.base import Learner",
    "scenarios/commands/main.py": "from scenarios.study.job import network",
}
OF_EVERY_JOB = {
    *("probe", "probe.loop", "scenarios.study.job", "scenarios.learners.catalogue"),
    *("scenarios.networks", "scenarios.networks.mlp"),
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return what changes a file of the package above and gives the hashes of `er` and `si`."""
    monkeypatch.setattr(code, "_ROOT", tmp_path)
    made = {
        "er": type("Er", (), {"__module__": "scenarios.learners.replay.er"}),
        "si": type("Si", (), {"__module__": "scenarios.learners.penalties.si"}),
    }
    monkeypatch.setattr(code, "LEARNERS", made)

    def write(name: str, old: str = "", new: str = "") -> tuple[str, str]:
        text = textwrap.dedent(FILES[name])
        assert old in text
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(old, new) if old else text + new)
        forget()
        return code_hash("er"), code_hash("si")

    def forget() -> None:
        for cached in (code_hash, modules_of, code._syntax):
            cached.cache_clear()

    for name in FILES:
        write(name)
    yield write
    forget()


LOOP = "probe/loop.py"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A loop."""', '"""Another one."""'),
        ('"""A loop."""\n', ""),
        ('"""How often."""', '"""Times."""'),
        ('    """Trains."""\n', ""),
        ('"""Go one step."""', '"""Go one step, downhill."""'),
        ("EPOCHS = 5", "EPOCHS = 5  # as in the paper"),
        ("EPOCHS = 5", "\n\nEPOCHS   =   (5)"),
        ("self.rate * x", "(\n            self.rate\n            * x\n        )"),
    ],
)
def test_docstrings_comments_and_layout_are_no_code(package, old, new):
    assert package(LOOP, old, new) == package(LOOP)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("EPOCHS = 5", "EPOCHS = 6"),
        ("0.1", "0.10000000000000002"),
        ("x - self.rate * x", "x + self.rate * x"),
        ("def step", "def stepped"),
        ("return x", "print(x); return x"),
        ("import math", "import cmath"),
        ('"""Go one step."""', 'log = """Go one step."""'),
    ],
)
def test_a_changed_statement_changes_the_hash_of_every_learner(package, old, new):
    before, after = package(LOOP), package(LOOP, old, new)
    assert before[0] != after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize("name", FILES)
def test_a_module_counts_for_those_jobs_alone_that_import_it(package, name):
    before, after = package(name), package(name, new="\nCHANGED = True\n")
    changed = [one != other for one, other in zip(before, after, strict=True)]
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    if module in OF_EVERY_JOB | {"scenarios.learners.base"}:
        assert changed == [True, True]
    else:
        assert changed == [module.endswith(".er"), module.endswith(".si")]


def test_a_learner_has_a_hash_of_its_own(package):
    er, si = package(LOOP)
    assert er != si
    assert modules_of(JOB) == OF_EVERY_JOB
    assert modules_of("scenarios.learners.penalties.si") == {
        *("scenarios.learners.penalties.si", "scenarios.learners.base")
    }


def test_a_learner_of_somebody_elses_needs_no_file_of_ours(package, monkeypatch):
    theirs = {"er": type("Er", (), {"__module__": "their.learner"})}
    monkeypatch.setattr(code, "LEARNERS", {**theirs, "si": theirs["er"]})
    assert len(set(package(LOOP))) == 1


# Our own modules


def test_the_command_line_counts_for_no_job():
    """Nor do executors and figures: how a job is started and shown changes no result."""
    for kind in LEARNERS:
        modules = modules_of(JOB) | modules_of(LEARNERS[kind].__module__)
        assert LEARNERS[kind].__module__ in modules
        assert not [
            name
            for name in modules
            if name.startswith(("scenarios.commands", "scenarios.execution", "figures"))
        ]


@pytest.mark.parametrize("kind", ["pathnet", "ewc", "icarl", "gem"])
def test_a_learner_counts_for_its_own_jobs(kind):
    own = LEARNERS[kind].__module__
    assert own not in modules_of(JOB)
    assert own not in modules_of(LEARNERS["finetune"].__module__)


def test_whatever_a_covered_module_uses_is_covered():
    """By its globals when it is loaded, where the hash looks at what is written."""
    covered = set(modules_of(JOB)).union(*(modules_of(k.__module__) for k in LEARNERS.values()))
    assert len(covered) > 40
    for name in covered:
        used = {getattr(value, "__module__", "") for value in vars(_module(name)).values()}
        ours = {module for module in used if str(module).startswith(("probe.", "scenarios."))}
        assert ours <= covered, name


def _module(name: str):
    assert Path(str(code._path(name))).is_file()
    return importlib.import_module(name)
