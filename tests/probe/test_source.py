"""The user's code that results belong to: every edit changes its hash, or cannot matter."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from probe.extensions import NetworkEntry
from probe.source import hash_of, source_hash, syntax_hash
from scenarios.user_code import SOURCE_HASHES, loaded

ROOT = Path(__file__).parents[2]

NETS = '''
import functools, importlib.util, json, runpy
from pathlib import Path

import probe

import helper, mylib, pack.a, space.part, installed, editable, named_otherwise
from elsewhere import Base

HERE = Path(__file__).parent
exec((HERE / "executed.txt").read_text())
ran = runpy.run_path(str(HERE / "ran.py"))["function"]
dynamic = importlib.import_module("".join(["dyn", "amic"]))
importlib.import_module("".join(["qui", "et"]))
spec = importlib.util.spec_from_file_location("by_file", HERE / "plugins" / "by_file.py")
by_file = importlib.util.module_from_spec(spec)
spec.loader.exec_module(by_file)
BOUND = staticmethod(functools.cache(functools.partial(by_file.function)))
del by_file
CONFIG = json.loads((HERE / "config.json").read_text())

@probe.network("tiny")
def build():
    """Make it."""
    import late
    return 8  # units

@probe.metric("worst")
def worst(R):
    return R.values.min()

@probe.metric("mean")
def mean(R):
    return R.values.mean()

start = mean
'''
FUNCTION = "def function():\n    return 1\n"
FILES = {
    "mine/nets.py": NETS,
    "mine/config.json": '{"width": 1}',
    "mine/installed_beside-1.dist-info/RECORD": "installed_beside.py,,\n",
    "mine/executed.txt": FUNCTION.replace("function", "executed"),
    "mine/pack/__init__.py": "VALUE = 1\n",
    "mine/pack/a.py": "from . import b\n",
    "mine/plugins/by_file.py": FUNCTION,
    "lib/elsewhere.py": "class Base:\n    size = 1\n",
    "site-packages/installed/__init__.py": FUNCTION,
    "site-packages/named_otherwise.py": FUNCTION,
    "site-packages/The_Dist-1.dist-info/RECORD": "x.py,,\nnamed_otherwise.py,,\n",
    "site-packages/installed-1.dist-info/METADATA": "Name: installed\nVersion: 1\n",
    "site-packages/editable-1.dist-info/METADATA": "Name: editable\nVersion: 1\n",
} | {
    f"{name}.py": FUNCTION
    for name in (
        "mine/helper",
        "mine/late",
        "mine/pack/b",
        "mine/space/part",
        "mine/ran",
        "lib/mylib",
        "lib/dynamic",
        "lib/quiet",
        "src/editable",
        "mine/unused",
    )
}
# A metric of another file with the name of the network's factory.
FILES["mine/helper.py"] += (
    "import probe\n@probe.metric('m')\ndef build(R):\n    return 0\n"
)
ONE_TWO = "return 1", "return 2"
EDITS = {
    "own file": ("mine/nets.py", "return 8", "return 9", True),
    "metric that is called": ("mine/nets.py", "values.mean()", "values.max()", True),
    "helper beside": ("mine/helper.py", *ONE_TWO, True),
    "imported in a function": ("mine/late.py", *ONE_TWO, True),
    "package": ("mine/pack/__init__.py", "1", "2", True),
    "relative import": ("mine/pack/b.py", *ONE_TWO, True),
    "namespace package": ("mine/space/part.py", *ONE_TWO, True),
    "library elsewhere": ("lib/mylib.py", *ONE_TWO, True),
    "base class elsewhere": ("lib/elsewhere.py", "size = 1", "size = 2", True),
    "importlib": ("lib/dynamic.py", *ONE_TWO, True),
    "importlib, not kept": ("lib/quiet.py", *ONE_TWO, True),
    "wrapped function of a module from a file": (
        "mine/plugins/by_file.py",
        *ONE_TWO,
        True,
    ),
    "runpy": ("mine/ran.py", *ONE_TWO, True),
    "data read at import": ("mine/config.json", "1", "2", False),
    "executed text": ("mine/executed.txt", *ONE_TWO, True),
    "editable installation": ("src/editable.py", *ONE_TWO, True),
    "version": (
        "site-packages/installed-1.dist-info/METADATA",
        "Version: 1",
        "Version: 2",
        True,
    ),
    "docstring": ("mine/nets.py", "Make it.", "Make a network.", False),
    "comment and layout": ("mine/nets.py", "8  # units", "(\n    8\n)", False),
    "metric": ("mine/nets.py", "values.min()", "values.sum()", False),
    "file that nothing imports": ("mine/unused.py", *ONE_TWO, False),
    "installed file": ("site-packages/installed/__init__.py", *ONE_TWO, False),
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for folder in ("site-packages", "src", "lib"):
        monkeypatch.syspath_prepend(tmp_path / folder)
    # Two edits in a second look the same to Python's cache.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    _forget(tmp_path)


def _forget(folder):
    """Import a project anew, as another process does."""
    for name, module in list(sys.modules.items()):
        if str(folder) in str(
            getattr(module, "__file__", "") or getattr(module, "__path__", "")
        ):
            del sys.modules[name]
    importlib.invalidate_caches()


def _hash(project):
    _forget(project)
    with loaded([str(project / "mine/nets.py")], {}):
        return SOURCE_HASHES["network tiny"]


@pytest.mark.parametrize(
    ("file", "old", "new", "counts"),
    EDITS.values(),
    ids=EDITS,
)
def test_an_edit(project, file, old, new, counts):
    before, text = _hash(project), (project / file).read_text()
    assert old in text
    (project / file).write_text(text.replace(old, new))
    assert (_hash(project) != before) is counts


def test_another_process_comes_to_the_same_hash_whatever_it_imported_before(
    project,
):
    before = _hash(project)
    program = (
        f"import sys; sys.path[:0] = {sys.path[:3]!r} + [{str(project / 'mine')!r}]\n"
        "import helper, pack.b, elsewhere, sklearn\n"
        "from scenarios.user_code import SOURCE_HASHES, loaded\n"
        f"with loaded([{str(project / 'mine/nets.py')!r}], {{}}):\n"
        "    print(SOURCE_HASHES['network tiny'])"
    )
    command = [sys.executable, "-B", "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == before


def test_a_distribution_of_another_name_counts_by_its_version(project):
    before = _hash(project)
    folder = project / "site-packages/The_Dist-1.dist-info"
    folder.rename(folder.with_name("The_Dist-2.dist-info"))
    assert _hash(project) != before


SCRIPT = """
WIDTH = 1
def helper():
    return 1
def other():
    return 1
class Maker:
    def build(self):
        return helper() + mylib.function()
build = functools.cache(Maker().build)
"""


@pytest.fixture
def script(project, monkeypatch):
    """Return what runs a script that has these lines, and hashes its factory."""

    def hashed(text):
        _forget(project)
        main = ModuleType("__main__")
        main.__file__ = str(project / "script.py")
        Path(main.__file__).write_text(text)
        monkeypatch.setitem(sys.modules, "__main__", main)
        importlib.import_module("linecache").checkcache()
        exec(
            compile("import functools, mylib\n" + text[1:], main.__file__, "exec"),
            vars(main),
        )
        return source_hash(vars(main)["build"])

    return hashed


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("return helper()", "return -helper()", True),
        ("def helper():\n    return 1", "def helper():\n    return 2", True),
        ("def other():\n    return 1", "def other():\n    return 2", False),
        ("WIDTH = 1", "print(1)", False),
    ],
)
def test_of_a_script_what_the_factory_needs_counts(script, old, new, counts):
    before = script(SCRIPT)
    assert (script(SCRIPT.replace(old, new)) != before) is counts


LOOP = """
'''A loop.'''
import math
EPOCHS = 5
'''The number of passes.'''
class Loop:
    rate = 0.1
    def step(self, x):
        '''Go one step.'''
        return x - self.rate * x
"""


def test_the_hash_is_the_same_in_every_version_of_python():
    assert syntax_hash(LOOP)[:16] == "3ef4f039060616ac"


def test_a_network_that_is_called_otherwise_is_another():
    calls = [None, _plain, _doubled]
    entries = [NetworkEntry(name="n", build=dict, call=call) for call in calls]  # type: ignore[arg-type]
    assert len(set(map(hash_of, entries))) == len(calls)


def _plain(model, x):
    return model(x)


def _doubled(model, x):
    return model(2 * x)
