"""Hashes of the user's code, in which comments, docstrings and layout do not count.

The user's code is every module that one of the user's files needs, however it is
imported, and that belongs neither to Python nor to an installed distribution; the
versions of imported distributions count. An editable installation is the user's code.
Functions marked `probe.metric` are left out unless something else calls them: they
change tables, but no network.
"""

import ast
import inspect
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import _lru_cache_wrapper, lru_cache, partial
from importlib import metadata
from importlib.util import resolve_name
from itertools import accumulate
from pathlib import Path
from textwrap import dedent
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TypeGuard

from probe.extensions import DataEntry, Entry, MetricEntry, NetworkEntry, marked_in
from probe.files import sha256

Source = ast.AST | bytes | str
"""A syntax tree, or a text."""

_PYTHON = Path(os.__file__).parent
# RESULTS_VERSION stands for these.
_ROOMS = tuple(
    Path(__file__).parents[1] / room for room in ("probe", "scenarios", "figures")
)
# By type: an object of another may answer any name.
_WRAPPERS = (MethodType, partial, staticmethod, classmethod, _lru_cache_wrapper)
_WRAPPED = ("__func__", "__self__", "func", "__wrapped__")
_LOADED = "__forgetting_probe_imports__"


def hash_of(entry: Entry, module: ModuleType | None = None) -> str:
    """Return a hash of a registered network, learner or readout: its source and its call.

    Args:
        entry: The registered object.
        module: The module that the user named; the object may be defined in another.

    Returns:
        The hash; "" for data, which are identified by their examples, and for metrics,
        which change tables only.
    """
    if isinstance(entry, DataEntry | MetricEntry):
        return ""
    objects = (getattr(entry, name, None) for name in ("build", "learner", "readout"))
    parts: list[object] = [source_hash(module, *objects)]
    if isinstance(entry, NetworkEntry) and (
        entry.output is not None or entry.call is not None
    ):
        # The same weights give other logits.
        parts += [
            entry.output,
            getattr(entry.call, "__qualname__", ""),
            source_hash(entry.call),
        ]
    return digest(parts)


def source_hash(*things: object) -> str:
    """Return one hash of the user's code that modules, classes and functions need; None is skipped.

    In a script or notebook, only the function or class and the names that it uses there
    count.
    """
    code = _Code()
    for thing in things:
        code.add(thing)
    return code.hash()


def note_imports(module: ModuleType, before: set[str]) -> None:
    """Store in a module the names of the modules that its import loaded.

    Args:
        module: The module that was imported.
        before: The names in `sys.modules` when the import began.
    """
    if module.__name__ not in before:
        setattr(module, _LOADED, sorted(sys.modules.keys() - before))


class _Code:
    """The user's code that some objects need: syntax of files, versions of distributions.

    Attributes:
        trees: The syntax tree of each file.
        unread: Files whose imports and names are still to be followed, each with the
            dotted name of its module, and the module if it is loaded.
        metrics: The names of the functions in a file that are marked as metrics.
        pieces: The hashes of classes and functions that are in no file, by name.
        versions: The distribution and version of each installed file, by the top-level
            name that it was reached by and the file.
    """

    def __init__(self) -> None:
        self.trees: dict[str, ast.AST] = {}
        self.unread: list[tuple[str, str, ModuleType | None]] = []
        self.metrics: defaultdict[str | None, set[str]] = defaultdict(set)
        self.pieces: dict[str, str] = {}
        self.versions: dict[tuple[str, str], str] = {}

    def hash(self) -> str:
        """Return the hash of all code that was added, and of the code that it uses.

        A function marked as a metric counts only if other code names it.
        """
        while self.unread:
            self._read(*self.unread.pop())
        names = set[str]()
        for file, tree in self.trees.items():
            names |= _names(_without(tree, self.metrics[file]))
        hashes = []
        for file, tree in self.trees.items():
            # Only by the name of the file: elsewhere a project may lie in another folder.
            counted = _without(tree, self.metrics[file] - names)
            hashes.append((Path(file).name, syntax_hash(counted)))
        return digest(
            [
                sorted(hashes),
                sorted(self.pieces.items()),
                sorted(set(self.versions.values())),
            ]
        )

    def add(self, thing: object) -> None:
        """Add a module, or the module of a class, function or other object."""
        for inner in _called_by(thing):
            self.add(inner)
        if _is_module(thing):
            self._file(_file_of(thing), thing.__name__, thing)
        elif thing is not None:
            kind = _kind(thing)
            module = sys.modules.get(kind.__module__)
            if module is None:
                self._executed(kind)
            elif kind.__module__ == "__main__" or _file_of(module) is None:
                self._piece(kind, vars(module))
            else:
                self.add(module)

    def _piece(self, kind: type | FunctionType, names: Mapping[str, object]) -> None:
        """Add a class or function of a script or notebook, and everything it names there."""
        if kind.__qualname__ in self.pieces:
            return
        try:
            # A function within another begins with blanks.
            tree = ast.parse(dedent(inspect.getsource(kind)))
        except (OSError, TypeError, SyntaxError):
            self._executed(kind)
            return
        self.pieces[kind.__qualname__] = syntax_hash(tree)
        for name in _names(tree):
            value = names.get(name)
            if isinstance(value, type | FunctionType) or _is_module(value):
                self.add(value)

    def _name(self, name: str) -> None:
        """Add a module by its dotted name, with the packages that it lies in.

        Nothing is imported to find them. The search stops after the first that is not
        the user's.
        """
        path = None
        for prefix in accumulate(name.split("."), "{}.{}".format):
            if prefix == "__main__":
                return
            if (module := sys.modules.get(prefix)) is not None:
                file = _file_of(module)
                path = getattr(module, "__path__", None)
            else:
                specs = (
                    finder.find_spec(prefix, path, None) for finder in sys.meta_path
                )
                if (spec := next(filter(None, specs), None)) is None:
                    return
                file = (
                    os.path.abspath(spec.origin)
                    if spec.has_location and spec.origin
                    else None
                )
                path = spec.submodule_search_locations
            self._file(file, prefix, module)
            if path is None or (file is not None and _owner(file) != "user"):
                return

    def _file(self, file: str | None, name: str, module: ModuleType | None) -> None:
        """Add the file of a module: its text if it is the user's, else the version."""
        if file is None or file in self.trees:
            return
        key = name.partition(".")[0], file
        owner = _owner(file)
        if owner == "user":
            self.trees[file] = parsed(Path(file).read_bytes())
            self.unread.append((file, name, module))
        elif owner == "installed" and key not in self.versions:
            self.versions[key] = _version(*key)

    def _read(self, file: str, name: str, module: ModuleType | None) -> None:
        """Add everything that a user's file reaches: by its text, its names, and its import."""
        tree = self.trees[file]
        package = name if file.endswith("__init__.py") else name.rpartition(".")[0]
        for imported in set(imported_names(tree, package)):
            self._name(imported)
        if module is None:
            return
        for score in (entry.score for entry in marked_in(vars(module), MetricEntry)):
            home = _file_of(sys.modules.get(getattr(score, "__module__", "")))
            self.metrics[home].add(getattr(score, "__name__", ""))
        for loaded in vars(module).get(_LOADED, ()):
            if (origin := _file_of(sys.modules.get(loaded))) and _owner(
                origin
            ) == "user":
                self._name(loaded)
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        defined = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
        for value in list(vars(module).values()):
            self._value(value, module.__name__, defined)

    def _value(self, value: object, module: str, defined: set[str]) -> None:
        """Add the object that a name in a module refers to, however it was defined."""
        kind = _kind(value)
        for inner in _called_by(value):
            self._value(inner, module, defined)
        if _is_module(value):
            self.add(value)
        elif kind.__module__ != module:
            self._name(str(kind.__module__))
            if kind.__module__ not in sys.modules:
                self._executed(kind)
        elif kind.__name__ not in defined:
            self._executed(kind)

    def _executed(self, kind: type | FunctionType) -> None:
        """Add code by the file that it was compiled from, or by itself if that is unknown."""
        members = (
            [kind] if isinstance(kind, FunctionType) else list(vars(kind).values())
        )
        for code in (f.__code__ for f in members if isinstance(f, FunctionType)):
            file = code.co_filename
            if not Path(file).is_file():
                self.pieces[code.co_qualname] = digest(_bytecode(code))
            elif _owner(file) == "user":
                self._file(file, Path(file).stem, None)


def _is_module(thing: object) -> TypeGuard[ModuleType]:
    """Return whether an object is a module."""
    # `isinstance` would ask a proxy, which may fail.
    return issubclass(type(thing), ModuleType)


def _kind(thing: object) -> type | FunctionType:
    """Return a class or function itself, and for anything else its class."""
    return thing if issubclass(type(thing), type | FunctionType) else type(thing)  # type: ignore[return-value]


def _called_by(thing: object) -> list[object]:
    """Return the objects that a bound method, a partial or a cached function calls."""
    if not issubclass(type(thing), _WRAPPERS):
        return []
    return [getattr(thing, name) for name in _WRAPPED if hasattr(thing, name)]


def _file_of(module: object) -> str | None:
    """Return the file of a module, None for one without a file and for other objects."""
    file = vars(module).get("__file__") if _is_module(module) else None
    return os.path.abspath(file) if isinstance(file, str) else None


def _owner(file: str) -> str:
    """Return "user" for a file of the user's, "installed", or "" for Python's and ours."""
    for folder in Path(file).parents:
        if folder in _ROOMS or folder == _PYTHON:
            return ""
        if folder.name in ("site-packages", "dist-packages"):
            return "installed"
    # As `pip install --target` leaves it; other files of that folder are the user's.
    return "installed" if _record_of(file) else "user"


def _record_of(file: str) -> Path | None:
    """Return the record of the installed distribution that a file belongs to, if any."""
    for root in Path(file).parents:
        listed = b"\n%b," % Path(file).relative_to(root).as_posix().encode()
        for record in root.glob("*.dist-info/RECORD") if str(root) in sys.path else ():
            if listed in b"\n" + record.read_bytes():
                return record
    return None


def _version(top: str, file: str) -> str:
    """Return a top-level module's distribution with its version, or its name if none is found."""
    with suppress(metadata.PackageNotFoundError):
        return f"{top} {metadata.version(top)}"
    # `metadata.packages_distributions` reads all records, which takes a second.
    record = _record_of(file)
    return record.parent.name if record else top


def _names(tree: ast.AST) -> set[str]:
    """Return the names that a text uses."""
    names = set[str]()
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=n) | ast.Attribute(attr=n) | ast.alias(name=n, asname=str())
            ):
                names.add(n)
    return names


def _without(tree: ast.AST, metrics: set[str]) -> ast.AST:
    """Return a module without its functions of these names."""
    if not isinstance(tree, ast.Module):
        return tree
    body = [node for node in tree.body if getattr(node, "name", None) not in metrics]
    return ast.Module(body, tree.type_ignores)


def _bytecode(code: CodeType) -> object:
    """Return a function's bytecode, without its location in the source."""
    constants = [_bytecode(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    # Sets have another order in each process.
    texts = [
        sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c) for c in constants
    ]
    return code.co_code.hex(), code.co_names, texts


def syntax_hash(source: Source) -> str:
    """Return the hash of a source, the same in all versions of Python.

    A source that does not parse counts byte for byte.

    >>> syntax_hash("x = 1  # one") == syntax_hash('"A docstring."\\nx = (1)')
    True
    """
    tree = source if isinstance(source, ast.AST) else parsed(source)
    return digest(tree.value if isinstance(tree, ast.Constant) else _text(tree))


@lru_cache(maxsize=32)
def parsed(text: bytes | str) -> ast.AST:
    """Return the syntax tree of a text; of one that does not parse, the text as a constant."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Constant(text)


def imported_names(tree: ast.AST, package: str = "") -> Iterator[str]:
    """Yield the dotted names that a module imports anywhere, with members of modules among them.

    Constant names in calls of `import_module` and `__import__` count.

    Args:
        tree: The module.
        package: The package of the module, for relative imports.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            name = node.args[0].value
            if called in ("import_module", "__import__") and isinstance(name, str):
                yield name.lstrip(".")


def digest(value: object) -> str:
    """Return the SHA-256 of bytes, or of a value as text."""
    text = value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    return sha256(text)


def _text(node: object) -> str:
    """Return a syntax tree as the text of nested lists, without docstrings and empty fields.

    `ast.dump` gives another text in other versions of Python, which have other empty
    fields.
    """
    # Every start reads some hundred thousand nodes: lists of lists would take twice as
    # long.
    if isinstance(node, ast.AST):
        shown = []
        for name in node._fields:
            value = getattr(node, name, None)
            if value is not None and value != []:
                shown.append(f", ('{name}', {_text(value)})")
        return f"['{type(node).__name__}'{''.join(shown)}]"
    if isinstance(node, list):
        return (
            f"[{', '.join([_text(item) for item in node if not _is_docstring(item)])}]"
        )
    return repr(repr(node))


def _is_docstring(node: object) -> bool:
    """Return whether a statement is only a string: a docstring, also one below a constant."""
    return isinstance(node, ast.Expr) and isinstance(
        getattr(node.value, "value", None), str
    )
