"""A hash of the code that makes a job's results, so that results of other code can be named."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from scenarios.learners.catalogue import LEARNERS

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("probe", "scenarios")
_JOB = "scenarios.study.job"


@cache
def code_hash(kind: str) -> str:
    """Return a hash of the code that a job of a learner needs, by the learner's kind.

    It is of the syntax of this package's modules that the job and the learner import, directly or
    not; so neither comments nor docstrings nor layout count. A change in it need not change a
    result, which is what the version in `scenarios.study.fingerprint` is for.
    """
    digest = hashlib.sha256()
    for module in sorted(modules_of(_JOB) | modules_of(LEARNERS[kind].__module__)):
        digest.update(f"{module} {_syntax(module)[0]};".encode())
    return digest.hexdigest()


@cache
def modules_of(module: str) -> frozenset[str]:
    """Return a module of this package and all those that it imports, directly or not."""
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
    path = _path(module)
    tree = _Undocumented().visit(ast.parse(path.read_bytes() if path else b""))
    code = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return code, tuple(name for name in _imported(tree) if _path(name))


class _Undocumented(ast.NodeTransformer):
    """Takes all docstrings away, also what is said below a constant."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        said = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if said else node


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            # What is imported from a package may be a module of it.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _path(module: str) -> Path | None:
    """Return the file of a module of this package, None for any other name."""
    if module.partition(".")[0] not in _PACKAGES:
        return None
    whole = _ROOT.joinpath(*module.split("."))
    files = (whole.with_suffix(".py"), whole / "__init__.py")
    return next((path for path in files if path.is_file()), None)
