"""A hash of the source of a user's own code: of a file, and of what lies beside it.

What a network's file imports from its own folder or package is as much the network as the file is.
What is installed elsewhere is not: of it a study knows no more than that it was there.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import resolve_name
from pathlib import Path
from textwrap import dedent
from types import ModuleType

from probe.registered import Own, OwnData, OwnLearner, OwnMetric, OwnNetwork, OwnReadout

# This package's are told by another hash (`probe.by_layer.code`), Python's own by its version.
_SKIPPED = {"probe", "scenarios", "figures", *sys.stdlib_module_names}
_INSTALLED = {"site-packages", "dist-packages"}


def source_of_own(own: Own, named: ModuleType | None) -> str:
    """Return a hash of what can change what is registered: its source, and how it is called.

    named: the module that the user has named, which need not be where it is defined.
    """
    match own:
        case OwnNetwork():
            what: object = own.build
        case OwnData():
            what = own.load
        case OwnMetric():
            what = own.score
        case OwnLearner():
            what = own.learner
        case OwnReadout():
            what = own.readout
    parts = [_module_of(what), *([named] if named else [])]
    told: list[object] = [*sorted({module_hash(each) for each in parts if each is not None})]
    if isinstance(own, OwnNetwork) and (own.output is not None or own.call is not None):
        # The same weights give other logits: these are not the same results.
        name = getattr(own.call, "__qualname__", "")
        told += [own.output, name, source_hash(_module_of(own.call) or own.call)]
    return hashlib.sha256(repr(told).encode()).hexdigest()


def source_hash(what: object) -> str:
    """Return a hash of the source of a module, class or function, without comments and docstrings.

    Of a module also that of what lies beside it. "" for what has no source that can be found, as a
    function typed at a prompt.
    """
    if isinstance(what, ModuleType):
        return module_hash(what)
    try:
        # A function within another begins with blanks.
        return _hash(dedent(inspect.getsource(what)))  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def module_hash(module: ModuleType) -> str:
    """Return a hash of a module's file and of all that it imports from beside it, directly or not.

    By where the files are, and not by what is loaded: an import within a function counts, too.
    """
    file = Path(getattr(module, "__file__", None) or "")
    if file.suffix != ".py" or not file.is_file():
        return ""
    depth = module.__name__.count(".") + (file.name == "__init__.py")
    root, top = file.parents[depth], module.__name__.partition(".")[0]
    found, left = dict[str, str](), [module.__name__]
    while left:
        name = left.pop()
        if name in found or (name != top and root.name in _INSTALLED and _top(name) != top):
            continue
        if path := (file if name == module.__name__ else _file(root, name)):
            text = path.read_text("utf-8", "replace")
            found[name] = _hash(text)
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            left += sorted(each for each in _imported(text, package) if _top(each) not in _SKIPPED)
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()


def _module_of(what: object) -> ModuleType | None:
    return sys.modules.get(getattr(what, "__module__", None) or "")


def _top(name: str) -> str:
    return name.partition(".")[0]


def _file(root: Path, name: str) -> Path | None:
    """Return the file of a module below a folder, None where there is none."""
    path = root.joinpath(*name.split("."))
    each = path.with_name(f"{path.name}.py"), path / "__init__.py"
    return next((file for file in each if file.is_file()), None)


def _imported(text: str, package: str) -> Iterator[str]:
    """Yield the dotted names that a source imports, with names that are no modules among them."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            yield base
            # What is imported from a package may be a module of it.
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _hash(source: str) -> str:
    """Return the hash of a source without comments and docstrings."""
    # What is no Python counts as it is.
    with suppress(SyntaxError, ValueError):
        source = ast.unparse(_without_docstrings(ast.parse(source)))
    return hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    """Return the syntax tree with every docstring made empty."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            first.value = ast.Constant("")
    return tree
