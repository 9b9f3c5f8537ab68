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
from functools import cache

from probe.by_layer.sources import SOURCES
from probe.source import imported_names, syntax_hash

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
    ours = tuple(name for name in imported_names(tree) if name in SOURCES)
    return syntax_hash(tree), ours
