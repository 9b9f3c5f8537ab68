"""A hash of the code that made a job's results, so that results of other code can be named.

Every stored result names the code that made it. If the code has changed since, `probe
status` and `probe run` say so, and `probe run --recompute changed` repeats those jobs.
Nothing is computed again unless asked for, as most changes of the code change no
result.

The hash covers the syntax tree of every module that a job imports, directly or
indirectly, starting from the engine and the module of its learner, as the files were
when this process began (`probe.by_layer.sources`). A change in one learner therefore
leaves the results of the others valid; so does a new learner, as the registry itself is
left out. The hash does not enter a job's fingerprint: a change that is known to change
results raises `RESULTS_VERSION` instead. Libraries are not hashed.
"""

import ast
import hashlib
from functools import cache

from probe.by_layer.sources import SOURCES
from probe.source import imported_names, syntax_hash

_ENGINE = "probe.by_layer.engine"
_REGISTRY = "scenarios.learners.catalog"


@cache
def code_hash(modules: tuple[str, ...]) -> str:
    """Return a hash of the code that a job needs: the engine and some modules of this package.

    Comments, docstrings and layout do not count. A file that is edited while this
    process runs counts from the next run on.

    Args:
        modules: Dotted names of these modules, such as the learner's; none if the
            learner is user-defined.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256()
    # The source of a user-defined learner is part of the fingerprint instead.
    needed_modules = frozenset.union(*map(modules_of, (_ENGINE, *modules)))
    for module in sorted(needed_modules - {_REGISTRY}):
        # By name, in sorted order, so that moving a module changes the hash, too.
        digest.update(f"{module} {_syntax(module)[0]};".encode())
    return digest.hexdigest()


@cache
def modules_of(module: str) -> frozenset[str]:
    """Return a module of this package and all modules that it imports, directly or indirectly.

    Imports inside functions count, and so does a folder's `__init__` if something is
    imported from it. The files are parsed, not imported.

    Args:
        module: The dotted name of the module.

    >>> "probe.by_layer.jobs" in modules_of("probe.by_layer.engine")
    True
    """
    modules: set[str] = set()
    remaining = [module]
    while remaining:
        name = remaining.pop()
        if name not in modules:
            modules.add(name)
            remaining += _syntax(name)[1]
    return frozenset(modules)


@cache
def _syntax(module: str) -> tuple[str, tuple[str, ...]]:
    """Return a hash of a module without docstrings, and the modules of this package it imports."""
    tree = ast.parse(SOURCES.get(module, b""))
    ours = tuple(name for name in imported_names(tree) if name in SOURCES)
    return syntax_hash(tree), ours
