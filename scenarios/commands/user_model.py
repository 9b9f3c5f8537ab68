"""A user's own model, by the name of what builds it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module

from torch import nn

from probe.errors import InputError, unknown
from probe.seeding import global_stream, stream

_FEW = 12  # names to choose from


def load_model(target: str) -> nn.Module:
    """Return the model that MODULE:FACTORY names: a module, or what a callable gives for nothing.

    Raises InputError if it cannot be imported, does not exist, fails or gives something else.
    """
    name, _, attribute = target.partition(":")
    if not name or not attribute:
        raise InputError(f"expected MODULE:FACTORY, got {target!r}: name what builds the model")
    contents = vars(_imported(name))
    if attribute not in contents:
        raise unknown(f"factory in {name}", attribute, _near(attribute, contents))
    factory = contents[attribute]
    return factory if isinstance(factory, nn.Module) else _built(target, factory)


def _built(target: str, factory: object) -> nn.Module:
    if not callable(factory):
        kind = type(factory).__name__
        raise InputError(f"{target} is of type {kind}, expected a callable that returns a model")
    try:
        # The modules draw their first weights from the global generator: it is only lent.
        with global_stream(stream(0, "build")):
            model = factory()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(
            f"{target}() raised {said(error)}: give a callable that needs no arguments"
        ) from error
    if not isinstance(model, nn.Module):
        kind = type(model).__name__
        raise InputError(f"{target}() returned {kind}, expected a torch.nn.Module")
    return model


@contextmanager
def current_folder() -> Iterator[None]:
    """Within the block, import from the current directory too, as `python -m` does."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


def _imported(name: str) -> object:
    absent = InputError(
        f"there is no module {name!r}, neither in the current directory nor installed: give it as "
        f"package.module, without .py"
    )
    if not all(part.isidentifier() for part in name.split(".")):
        raise absent
    try:
        with global_stream(stream(0, "import")):
            return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise absent from error
        raise InputError(
            f"importing {name} raised {said(error)}: install or correct what it imports"
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InputError(
            f"importing {name} raised {said(error)}: correct it until `import {name}` works"
        ) from error


def _near(attribute: str, contents: Mapping[str, object]) -> list[str]:
    """Return what may build a model, of many only what has a name like it."""
    names = [
        name
        for name, value in contents.items()
        if not name.startswith("_") and (callable(value) or isinstance(value, nn.Module))
    ]
    return names if len(names) <= _FEW else get_close_matches(attribute, names, _FEW, cutoff=0.5)


def said(error: BaseException) -> str:
    """Return an error's type and message, as far as it has one."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}".removesuffix(": ")
