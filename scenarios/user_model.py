"""Import of the user's code by the name that the user typed.

A model's name is MODULE:FACTORY, as in other tools; a module may also be given as its file. Every
mistake of the user's code, from a missing module to a factory that wants arguments, becomes one
sentence with the original error in it. Weights are drawn from a fixed seed, and the global
generator is left as it was.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import nn

from probe.errors import InputError, described, unknown
from probe.modules import check_values
from probe.seeding import global_stream, stream
from probe.source import note_imports


def load_callable(target: str, what: str) -> Callable[..., Any]:
    """Return the function or class that MODULE:NAME or FILE.py:NAME names; what: the expected one.

    Raises InputError if it cannot be imported, does not exist, or cannot be called.
    """
    name, _, attribute = target.rpartition(":")
    if not name or not attribute:
        raise InputError(f"expected MODULE:FACTORY, got {target!r}: name {what}")
    # From the module's own names: a module's `__getattr__` would be one more way to fail.
    contents = vars(imported(name))
    if attribute not in contents:
        public = (each for each in contents.items() if not each[0].startswith("_"))
        raise unknown(f"name in {name},", attribute, [n for n, each in public if callable(each)])
    found: object = contents[attribute]
    if not callable(found):
        raise InputError(f"{target} is of type {type(found).__name__}, expected {what}")
    return found


@contextmanager
def importing(target: str) -> Iterator[None]:
    """Make the module of a target importable within the block, and the modules beside it.

    target: MODULE, in the current folder or installed, FILE.py, or either with `:NAME`. Its code
    may still import something while it runs.
    """
    path = Path(target.rpartition(":")[0] or target)
    folder = str(path.absolute().parent) if path.suffix == ".py" else ""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def imported(name: str) -> ModuleType:
    """Import a module or a file; raises InputError for one that is absent, and for one that fails.

    name: dotted, or the path of a file that ends in `.py`, which is imported by its own name.
    Random numbers that it draws at import leave the global generator as it was.
    """
    if name.endswith(".py"):
        name = _name_of(Path(name))
    absent = InputError(
        f"there is no module {name!r}, neither in the current directory nor installed: give it as "
        f"package.module, without .py"
    )
    # Python would fail with a message about packages.
    if not all(part.isidentifier() for part in name.split(".")):
        raise absent
    before = set(sys.modules)
    try:
        with global_stream(stream(0, "import")):
            module = import_module(name)
    except KeyboardInterrupt:
        raise
    except InputError as error:
        raise InputError(f"importing {name}: {error}") from error
    # Whatever the user's code raises, SystemExit among it, is the user's to correct.
    except BaseException as error:
        remedy = f"correct it until `import {name}` works"
        if isinstance(error, ModuleNotFoundError):
            # Absent itself, or one of the packages that it lies in; or something that it imports.
            if error.name is not None and f"{name}.".startswith(f"{error.name}."):
                raise absent from error
            remedy = "install or correct what it imports"
        raise InputError(f"importing {name} raised {described(error)}: {remedy}") from error
    note_imports(module, before)
    return module


def _name_of(path: Path) -> str:
    """Return the name under which a file is imported; raises InputError for a file without one.

    Another module of that name may have been imported, or would be.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}: give the path of your Python file")
    name = path.stem
    if not name.isidentifier():
        raise InputError(f"{path} cannot be imported, as {name} is not a Python name: rename it")
    there = sys.modules.get(name) or importlib.util.find_spec(name)
    file = getattr(there, "__file__", None) or getattr(there, "origin", None)
    if there and (file is None or not path.samefile(file)):
        raise InputError(f"{path} has the name of another module, {name}: rename the file")
    return name


def build_model(target: str, factory: Callable[[], object]) -> nn.Module:
    """Return the model that a callable makes; raises InputError unless it is one that does.

    target: its name in messages.
    """
    try:
        # Modules draw their first weights from the global generator: its state is put back.
        with global_stream(stream(0, "build")):
            model = factory()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(
            f"{target}() raised {described(error)}: give a callable that needs no arguments"
        ) from error
    if not isinstance(model, nn.Module):
        raise InputError(f"{target}() returned {type(model).__name__}, expected a torch.nn.Module")
    check_values(model)
    return model
