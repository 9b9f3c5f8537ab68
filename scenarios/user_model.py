"""A user's own model, imported by the name of what builds it.

The name is MODULE:FACTORY, as other tools have it. Whatever the user's code does wrong, from a
module that is not there to a factory that wants arguments, is told in one sentence with the user's
own error in it. Weights are drawn from a fixed seed, and the global generator is as it was before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module

from torch import nn

from probe.errors import InputError, described, unknown
from probe.seeding import global_stream, stream

_FEW = 12  # names that are all worth listing in an error


def load_model(target: str) -> nn.Module:
    """Return the model that MODULE:FACTORY names.

    target: FACTORY is a callable that gives the model when called without arguments, or the model
    itself; MODULE is its dotted name. A model that is built has the same weights every time. Raises
    InputError if it cannot be imported, does not exist, fails or gives something else.
    """
    name, _, attribute = target.partition(":")
    if not name or not attribute:
        raise InputError(f"expected MODULE:FACTORY, got {target!r}: name what builds the model")
    contents = vars(_imported(name))
    if attribute not in contents:
        raise unknown(f"factory in {name}", attribute, _near(attribute, contents))
    # From the module's own names: a module's `__getattr__` would be one more way to fail.
    factory = contents[attribute]
    return factory if isinstance(factory, nn.Module) else _built(target, factory)


@contextmanager
def current_folder() -> Iterator[None]:
    """Import from the current folder, too, within the block, as `python -m` does.

    Also while the model runs: it may import something then.
    """
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


def _imported(name: str) -> object:
    """Import a module; raises InputError that tells whether it is absent or fails itself.

    name: dotted, without `.py`. Random numbers that it draws while it is imported leave the global
    generator as it was.
    """
    absent = InputError(
        f"there is no module {name!r}, neither in the current directory nor installed: give it as "
        f"package.module, without .py"
    )
    # A path or a name with .py in it: to import it would fail with a message about packages.
    if not all(part.isidentifier() for part in name.split(".")):
        raise absent
    reason: BaseException
    try:
        with global_stream(stream(0, "import")):
            return import_module(name)
    except ModuleNotFoundError as error:
        # Absent itself, or one of the packages that it lies in; or something that it imports.
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise absent from error
        reason, remedy = error, "install or correct what it imports"
    except KeyboardInterrupt:
        raise
    # Whatever the user's code raises, SystemExit among it, is the user's to correct.
    except BaseException as error:
        reason, remedy = error, f"correct it until `import {name}` works"
    raise InputError(f"importing {name} raised {described(reason)}: {remedy}") from reason


def _built(target: str, factory: object) -> nn.Module:
    """Return what a callable gives; raises InputError if it is none, fails or gives no model."""
    if not callable(factory):
        kind = type(factory).__name__
        raise InputError(f"{target} is of type {kind}, expected a callable that returns a model")
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
        kind = type(model).__name__
        raise InputError(f"{target}() returned {kind}, expected a torch.nn.Module")
    return model


def _near(attribute: str, contents: Mapping[str, object]) -> list[str]:
    """Return the names of what may build a model; of many only those that are spelled alike.

    attribute: what was asked for; contents: the module's names with their values.
    """
    names = [
        name
        for name, value in contents.items()
        if not name.startswith("_") and (callable(value) or isinstance(value, nn.Module))
    ]
    return names if len(names) <= _FEW else get_close_matches(attribute, names, _FEW, cutoff=0.5)
