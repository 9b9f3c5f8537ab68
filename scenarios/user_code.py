"""The user's code: imported by the names that the user typed, and registered within a block.

A study's file by itself runs no code: only modules named on the command line are
imported, and only objects that they mark with a decorator (`probe.extensions`) can be
used. Each network and learner has a hash of its code (`probe.source`), which is part of
the fingerprint of its results.

A model's name is MODULE:FACTORY, as in other tools; a module may also be given as its
file. Every mistake of the user's code, from a missing module to a factory that needs
arguments, becomes one sentence with the original error in it. Weights are drawn from a
fixed seed, and the global generator is restored.
"""

import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from torch import nn

from probe import extensions as marks
from probe.cut.model_call import Output
from probe.errors import InputError, described, unknown
from probe.immutable import AnyFunction, immutable
from probe.readouts.readout import READOUTS
from probe.record.data import load_data
from probe.seeding import global_stream, stream
from probe.source import hash_of, note_imports
from probe.training.fresh_weights import Factory, built_network
from scenarios.user_objects import (
    SOURCE_HASHES,
    USER_DATA,
    USER_LEARNERS,
    USER_METRICS,
    USER_NETWORKS,
)

Names = Mapping[str, Iterable[str]]
"""Built-in names by kind, which a user may not take."""

_TABLES: dict[type[marks.Entry], tuple[str, dict[str, Any]]] = {
    marks.NetworkEntry: ("network", USER_NETWORKS),
    marks.DataEntry: ("data set", USER_DATA),
    marks.MetricEntry: ("metric", USER_METRICS),
    marks.LearnerEntry: ("learner", USER_LEARNERS),
    marks.ReadoutEntry: ("readout", READOUTS),
}


@contextmanager
def registered(
    entry: marks.Entry, module: ModuleType | None, reserved: Names
) -> Iterator[None]:
    """Register an object within the block, so that a study can name it.

    Args:
        entry: The object and its name.
        module: The module whose code is hashed, None = that of the object.
        reserved: The names that the object may not have.

    Raises:
        InputError: The name is reserved, or registered already.
    """
    kind, table = _TABLES[type(entry)]
    if entry.name in table or entry.name in reserved.get(kind, ()):
        raise InputError(f"there are two {kind}s {entry.name!r}: rename yours")
    key = f"{kind} {entry.name}"
    SOURCE_HASHES[key] = hash_of(entry, module)
    table[entry.name] = entry
    try:
        yield
    finally:
        del table[entry.name], SOURCE_HASHES[key]


@contextmanager
def loaded(targets: Iterable[str], reserved: Names) -> Iterator[None]:
    """Import files or modules, and register the objects that they mark, within the block.

    Args:
        targets: The files (FILE.py) or dotted module names, as the user typed them.
        reserved: The names that the objects may not have.

    Raises:
        InputError: A target cannot be imported or marks nothing, or a name is reserved.
    """
    with ExitStack() as stack:
        target_of_module = dict[str, str]()
        for target in targets:
            stack.enter_context(importing(target))
            module = imported(target)
            if earlier := target_of_module.get(module.__name__):
                raise InputError(
                    f"{target} is loaded twice, also as {earlier}: load it once"
                )
            target_of_module[module.__name__] = target
            entries = [e for e in marks.marked_in(vars(module)) if not _is_built_in(e)]
            if not entries:
                raise InputError(
                    f"{target} registers nothing: add a decorator, such as "
                    '@probe.network("mine") above the function that makes the network'
                )
            for entry in entries:
                stack.enter_context(registered(entry, module, reserved))
        yield


def _is_built_in(entry: marks.Entry) -> bool:
    """Return whether a mark is on a class of this package, which a user's file may import."""
    marked = getattr(entry, "learner", None) or getattr(entry, "readout", None)
    return str(getattr(marked, "__module__", "")).startswith(("probe.", "scenarios."))


@immutable
class UserCode:
    """The user's code that a study needs, as typed, so that any process can load it.

    Attributes:
        loads: The files or modules that register objects.
        network: The network, MODULE:FACTORY.
        output: The key or index of the logits, see `probe.cut.model_call.ModelCall`.
        call: The function that calls the network on a batch, MODULE:FUNCTION.
        data: The data, MODULE:FUNCTION or the data file of a recording.
        more: Other functions, each MODULE:FUNCTION.
        class_order: The class of the data for each output of the network, if they
            differ; labels are then indices of outputs, and other classes are left out.
    """

    loads: tuple[str, ...] = ()
    network: str = ""
    output: Output = None
    call: str = ""
    data: str = ""
    more: tuple[str, ...] = ()
    class_order: tuple[int, ...] = ()

    @contextmanager
    def opened(self, reserved: Names) -> Iterator[None]:
        """Register all of it within the block, so that a study can name it; raise as `loaded` does.

        It does nothing if the code is open already, as in the process that started the
        run.
        """
        if self in _OPEN:
            yield
            return
        with ExitStack() as stack:
            stack.enter_context(loaded(self.loads, reserved))
            typed = (self.network, self.call, self.data, *self.more)
            stack.enter_context(importing(*filter(None, typed)))
            # The network and the data to register, with the module whose code is hashed.
            modules = dict[marks.Entry, ModuleType | None]()
            if self.network:
                modules[self.network_entry()] = imported(
                    self.network.rpartition(":")[0]
                )
            if self.data:
                modules[self.data_entry()] = None
            for entry, module in modules.items():
                # A file of `loads` may have registered it already.
                if entry.name not in _TABLES[type(entry)][1]:
                    stack.enter_context(registered(entry, module, reserved))
            _OPEN.append(self)
            stack.callback(_OPEN.remove, self)
            yield

    def network_entry(self) -> marks.NetworkEntry:
        """Return the network that was typed, named by its mark if it has one."""
        build = load_callable(self.network, "a function that makes the network")
        unmarked = marks.NetworkEntry(name=_short(self.network), build=build)
        entry = next(iter(marks.marks_of(build, marks.NetworkEntry)), unmarked)
        if self.call:
            call = load_callable(self.call, "a function of the network and a batch")
            entry = replace(entry, call=call)
        return entry if self.output is None else replace(entry, output=self.output)

    def data_entry(self) -> marks.DataEntry:
        """Return the data that were typed, named by their mark if they have one."""
        if self.data.endswith(RECORDED):
            return marks.DataEntry(
                name=_short(self.data), load=partial(load_data, Path(self.data))
            )
        load = load_callable(self.data, "a function that returns (train, test)")
        unmarked = marks.DataEntry(name=_short(self.data), load=load)
        entry = next(iter(marks.marks_of(load, marks.DataEntry)), unmarked)
        return replace(entry, class_order=self.class_order or entry.class_order)


_OPEN: list[UserCode] = []

RECORDED = ".pt"
"""The suffix of a recording's file of data."""


def _short(target: str) -> str:
    """Return a target's name without the folders of its file.

    >>> _short("nets/mine.py:build"), _short("mine:build"), _short("run/data.pt")
    ('mine:build', 'mine:build', 'data')
    """
    module, _, name = target.rpartition(":")
    path = Path(module or target)
    stem = path.stem if path.suffix in (".py", RECORDED) else str(path)
    return f"{stem}:{name}" if module else stem


def load_callable(target: str, what: str) -> AnyFunction:
    """Return the function or class that a target names.

    Args:
        target: The name of the callable, MODULE:NAME or FILE.py:NAME.
        what: A description of the expected object, for the message.

    Returns:
        The function or class.

    Raises:
        InputError: The callable cannot be imported, does not exist, or cannot be
            called.
    """
    name, _, attribute = target.rpartition(":")
    if not name or not attribute:
        raise InputError(f"expected MODULE:FACTORY, got {target!r}: name {what}")
    # From the names in the module: its `__getattr__`, if any, could raise anything.
    module = vars(imported(name))
    functions = {name: value for name, value in module.items() if callable(value)}
    if attribute not in functions:
        public = [n for n in functions if not n.startswith("_")]
        raise unknown("function", attribute, public, f"in {name}")
    return cast(AnyFunction, functions[attribute])


@contextmanager
def importing(*targets: str) -> Iterator[None]:
    """Make the modules of targets importable within the block, and the modules beside them.

    Their code may still import something while it runs.

    Args:
        targets: Modules, in the current folder or installed, or FILE.py; each may end
            in `:NAME`.
    """
    paths = [Path(target.rpartition(":")[0] or target) for target in targets]
    folders = [str(p.absolute().parent) if p.suffix == ".py" else "" for p in paths]
    for folder in folders:
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        for folder in folders:
            sys.path.remove(folder)


def imported(name: str) -> ModuleType:
    """Import a module or a file.

    Random numbers that it draws at import do not change the global generator.

    Args:
        name: The dotted name of a module, or the path of a file that ends in `.py`,
            which is imported by its own name.

    Returns:
        The module.

    Raises:
        InputError: The module is missing, or fails at import.
    """
    if name.endswith(".py"):
        name = _module_name(Path(name))
    before = set(sys.modules)
    try:
        with global_stream(stream(0, "import")):
            module = import_module(name)
    # Whatever the user's code raises is the user's to correct.
    except (Exception, SystemExit) as error:
        # What is missing is the module, or a package that it lies in; otherwise it is
        # something that the module imports.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise InputError(
                f"there is no module {name!r}, neither in the current directory nor "
                "installed: give it as package.module, without .py"
            ) from error
        raise InputError(
            f"importing {name} raised {described(error)}: correct it until `import "
            f"{name}` works"
        ) from error
    note_imports(module, before)
    return module


def _module_name(path: Path) -> str:
    """Return the name under which a file is imported; raises InputError for a file without one.

    Raises InputError, too, if another module has that name.
    """
    name = path.stem
    if not path.is_file():
        raise InputError(f"there is no file {path}: give the path of your Python file")
    if not name.isidentifier():
        raise InputError(
            f"{path} cannot be imported, as {name} is not a Python name: rename it"
        )
    namesake = sys.modules.get(name) or importlib.util.find_spec(name)
    file = getattr(namesake, "__file__", None) or getattr(namesake, "origin", None)
    if namesake and (file is None or not path.samefile(file)):
        raise InputError(
            f"{path} has the name of another module, {name}: rename the file"
        )
    return name


def build_model(target: str, factory: Factory) -> nn.Module:
    """Return the model that a callable makes.

    Args:
        target: The name of the callable in messages.
        factory: The callable.

    Returns:
        The model.

    Raises:
        InputError: The callable fails, or returns no model.
    """
    return built_network(factory, stream(0, "build"), target)
