"""A hash of the code that makes a job's results, so that results of other code can be named.

Every stored result says which code made it. If the code has changed since, `probe status` and
`probe run` remark on it, and `probe run --recompute changed` does those jobs again. Nothing is
computed again without being asked for, as most changes of the code change no result.

What is hashed is the syntax tree of every module that a job imports, directly or not, beginning
with the engine and the module of its learner. So a change in one learner leaves the
results of the others alone; and so does one more learner, as the registry itself is left out. The
hash is no part of a job's fingerprint: a change that is known to change results raises
`RESULTS_VERSION` instead. Libraries are not hashed.

What is hashed are the files as they were when this process began (`probe.by_layer.sources`).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache

from probe.by_layer.sources import SOURCES

_ENGINE, _REGISTRY = "probe.by_layer.engine", "scenarios.learners.catalog"


@cache
def code_hash(modules: tuple[str, ...]) -> str:
    """Return a hash of the code that a job needs, the engine and these modules of ours.

    modules: dotted names, such as that of the learner's; of a user's there is nothing to hash here.
    Returns 64 hexadecimal digits.

    Neither comments nor docstrings nor layout count. A change of it need not change a result, which
    is what the version in `probe.by_layer.fingerprint` is for. A file that is edited while this
    process runs counts from the next run on.
    """
    digest = hashlib.sha256()
    # A user's own learner is told by its source, which is part of the fingerprint.
    needed = frozenset.union(*map(modules_of, (_ENGINE, *modules)))
    for module in sorted(needed - {_REGISTRY}):
        # In sorted order with its name, so that a module that moves changes the hash, too.
        digest.update(f"{module} {_syntax(module)[0]};".encode())
    return digest.hexdigest()


@cache
def modules_of(module: str) -> frozenset[str]:
    """Return a module of this package and all those that it imports, directly or not.

    module: its dotted name. Imports inside functions count too; a folder's `__init__` counts where
    something is imported from it. The files are parsed, not imported.

    >>> "probe.by_layer.jobs" in modules_of("probe.by_layer.engine")
    True
    """
    found: set[str] = set()
    left = [module]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _syntax(name)[1]
    return frozenset(found)


@cache
def _syntax(module: str) -> tuple[str, tuple[str, ...]]:
    """Return a hash of a module without its docstrings, and the modules of ours it imports."""
    tree = ast.parse(SOURCES.get(module, b""))
    code = hashlib.sha256(repr(_plain(tree)).encode()).hexdigest()
    return code, tuple(name for name in _imported(tree) if name in SOURCES)


def _plain(node: object) -> object:
    """Return a syntax tree as nested lists, without docstrings and whatever is empty.

    `ast.dump` gives another text in other versions of Python: they have other fields, empty here.
    """
    if isinstance(node, ast.AST):
        fields = [(name, value) for name, value in ast.iter_fields(node) if value not in (None, [])]
        return [type(node).__name__, *((name, _plain(value)) for name, value in fields)]
    if isinstance(node, list):
        return [_plain(each) for each in node if not _is_docstring(each)]
    return repr(node)


def _is_docstring(node: object) -> bool:
    """Whether a statement is a string alone: a docstring, also one below a constant."""
    constant = node.value if isinstance(node, ast.Expr) else None
    return isinstance(constant, ast.Constant) and isinstance(constant.value, str)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names that a module imports, with names that are no modules among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            # What is imported from a package may be a module of it.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
