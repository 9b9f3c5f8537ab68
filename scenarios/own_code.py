"""User-defined networks, data, learners and metrics, known by name while a `with` block runs.

A study's file alone runs no code: only modules typed on the command line are imported, and only
objects that they mark with a decorator (`probe.extensions`) can be named. Each network and learner
has a hash of its code (`probe.source`), which is part of the fingerprint of its results.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from probe import extensions as marks
from probe.cut.model_call import Output
from probe.errors import InputError, unknown
from probe.readouts.readout import READOUTS
from probe.record.data import load_data
from probe.source import hash_of
from scenarios.user_model import imported, importing, load_callable

Names = Mapping[str, Iterable[str]]
"""Built-in names by kind, which a user may not take."""


@dataclass(frozen=True)
class Registry:
    """The registered objects by name; sources: hashes by kind and name, such as `network tiny`."""

    networks: dict[str, marks.NetworkEntry] = field(default_factory=dict)
    data: dict[str, marks.DataEntry] = field(default_factory=dict)
    metrics: dict[str, marks.MetricEntry] = field(default_factory=dict)
    learners: dict[str, marks.LearnerEntry] = field(default_factory=dict)
    readouts: dict[str, marks.ReadoutEntry] = field(default_factory=lambda: READOUTS)
    sources: dict[str, str] = field(default_factory=dict)


REGISTRY = Registry()
"""Everything that the open blocks have registered."""

_TABLES: dict[type[marks.Entry], tuple[str, dict[str, Any]]] = {
    marks.NetworkEntry: ("network", REGISTRY.networks),
    marks.DataEntry: ("data set", REGISTRY.data),
    marks.MetricEntry: ("metric", REGISTRY.metrics),
    marks.LearnerEntry: ("learner", REGISTRY.learners),
    marks.ReadoutEntry: ("readout", REGISTRY.readouts),
}


@contextmanager
def registered(own: marks.Entry, source: str, taken: Names) -> Iterator[None]:
    """Let a study name an object within the block; source: a hash of where it comes from.

    Raises InputError for a name that is taken.
    """
    kind, table = _TABLES[type(own)]
    if own.name in table or own.name in taken.get(kind, ()):
        raise InputError(f"there are two {kind}s {own.name!r}: rename yours")
    key = f"{kind} {own.name}"
    table[own.name], REGISTRY.sources[key] = own, source
    try:
        yield
    finally:
        del table[own.name], REGISTRY.sources[key]


@contextmanager
def loaded(targets: Iterable[str], taken: Names) -> Iterator[None]:
    """Import files or modules, and register the objects that they mark, within the block.

    targets: FILE.py or a module's dotted name, as the user typed them. Raises InputError for a
    target that cannot be imported or marks nothing, and for a name that is taken.
    """
    with ExitStack() as opened:
        seen = dict[str, str]()
        for target in targets:
            opened.enter_context(importing(target))
            module = imported(target)
            if module.__name__ in seen:
                raise InputError(
                    f"{target} is loaded twice, the first time as {seen[module.__name__]}: name it "
                    f"once"
                )
            seen[module.__name__] = target
            found = [own for own in marks.marked_in(vars(module)) if not _is_ours(own)]
            if not found:
                raise InputError(
                    f"{target} registers nothing: put a decorator, such as "
                    f'@probe.network("mine"), above the function that makes the network'
                )
            for own in found:
                opened.enter_context(registered(own, hash_of(own, module), taken))
        yield


def _is_ours(own: marks.Entry) -> bool:
    """Return whether a mark is on a class of this package, which a user's file may import."""
    made = own.learner if isinstance(own, marks.LearnerEntry) else getattr(own, "readout", None)
    return str(getattr(made, "__module__", "")).startswith(("probe.", "scenarios."))


@dataclass(frozen=True, kw_only=True)
class OwnCode:
    """The user's code that a study needs, as typed: any process can load it.

    - loads: files or modules that register things;
    - network: MODULE:FACTORY; output, call: as in `NetworkEntry`, call as MODULE:FUNCTION;
    - data: MODULE:FUNCTION, or the file of data of a recording;
    - class_order: the class of the data for each output of the network, where these differ; labels
      are then numbers of outputs, and other classes are left out.
    """

    loads: tuple[str, ...] = ()
    network: str = ""
    output: Output = None
    call: str = ""
    data: str = ""
    class_order: tuple[int, ...] = ()

    @contextmanager
    def opened(self, taken: Names) -> Iterator[None]:
        """Let a study name all of it within the block; raises as `loaded` does.

        Does nothing where it is open already, as in the process that began.
        """
        if self in _OPEN:
            yield
            return
        with ExitStack() as opened:
            opened.enter_context(loaded(self.loads, taken))
            for target in filter(None, (self.network, self.call, self.data)):
                opened.enter_context(importing(target))
            typed = list[tuple[marks.Entry, ModuleType | None]]()
            if self.network:
                typed.append((self.typed_network(), imported(self.network.rpartition(":")[0])))
            if self.data:
                typed.append((self.typed_data(), None))
            for own, module in typed:
                # It may be marked in a file that is loaded, too.
                if own.name not in _TABLES[type(own)][1]:
                    opened.enter_context(registered(own, hash_of(own, module), taken))
            _OPEN.append(self)
            opened.callback(_OPEN.remove, self)
            yield

    def typed_network(self) -> marks.NetworkEntry:
        """Return the network that was typed, named by its mark if it has one."""
        build = load_callable(self.network, "a function that makes the network")
        what = "a function of the network and a batch"
        call = load_callable(self.call, what) if self.call else None
        typed = marks.NetworkEntry(name=_short(self.network), build=build)
        own = next(iter(marks.marks_of(build, marks.NetworkEntry)), typed)
        output = own.output if self.output is None else self.output
        return replace(own, output=output, call=call or own.call)

    def typed_data(self) -> marks.DataEntry:
        """Return the data that were typed, named by their mark if they have one."""
        if self.data.endswith(RECORDED):
            return marks.DataEntry(name=_short(self.data), load=partial(load_data, Path(self.data)))
        load = load_callable(self.data, "a function that returns (train, test)")
        typed = marks.DataEntry(name=_short(self.data), load=load)
        own = next(iter(marks.marks_of(load, marks.DataEntry)), typed)
        return replace(own, class_order=self.class_order) if self.class_order else own


_OPEN: list[OwnCode] = []

RECORDED = ".pt"
"""The suffix of a recording's file of data."""


def _short(target: str) -> str:
    """Return a target's name without the folders of its file.

    >>> _short("nets/mine.py:build"), _short("mine:build"), _short("run/data.pt")
    ('mine:build', 'mine:build', 'data')
    """
    where, _, name = target.rpartition(":")
    path = Path(where or target)
    stem = path.stem if path.suffix in (".py", RECORDED) else str(path)
    return f"{stem}:{name}" if where else stem


def source_of(kind: str, name: str) -> str | None:
    """Return the hash of a registered object's code, None if there is no such object."""
    return REGISTRY.sources.get(f"{kind} {name}")


def unregistered(kind: str, name: str, ours: Iterable[str], own: Iterable[str]) -> InputError:
    """Return the error for a name that is neither built in nor registered."""
    error = unknown(kind, name, [*ours, *own])
    return InputError(f"{error}, or name the file that defines it with --load")
