"""Files of weights, loaded as data alone and put into a network that they fit."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from probe.errors import InputError, described, unreadable
from probe.files import replacing
from probe.notes import listed

# Where training programs keep the state dict among other things.
_HOLDERS = ("state_dict", "model_state_dict", "model")
# What DataParallel, Lightning and torch.compile write before every name.
_PREFIXES = ("module.", "model.", "_orig_mod.")
_GIVE = "give the path of a file of weights"
_REMEDY = "write it with torch.save(model.state_dict(), FILE)"


def load_state(path: Path) -> dict[str, Tensor]:
    """Return the tensors of any shape in a file, by name, on the CPU; no code of it is ever run.

    path: a state dict as `torch.save` writes it, alone or under `state_dict`, `model_state_dict` or
    `model`, or a `.safetensors`. The prefixes of wrappers before all names (`module.`,
    `model.`, `_orig_mod.`) are removed. Raises InputError for any other file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "task1.pt"
    ...     torch.save({"state_dict": {"model.fc.bias": torch.zeros(2)}}, path)
    ...     list(load_state(path))
    ['fc.bias']
    """
    safe = path.suffix == ".safetensors"
    state = _state_dict(path, _read_safe(path) if safe else read_content(path))
    return {bare: state[name] for bare, name in _bare(state).items()}


def fit_state(model: nn.Module, state: Mapping[str, Tensor], name: str) -> None:
    """Load a state into a model in place; its tensors must match by name and shape.

    Prefixes of wrappers before all names are ignored. name: of the state in messages. Raises
    InputError if they do not fit, parameters in kind of number too; the model may then have some
    of them.

    >>> model = nn.Linear(2, 1)
    >>> fit_state(model, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, "task1.pt")
    >>> model(torch.ones(1, 2)).item()
    2.0
    """
    own, known = _bare(model.state_dict()), dict(model.named_parameters(remove_duplicate=False))
    renamed = {own.get(bare, bare): state[given] for bare, given in _bare(state).items()}
    for key, one in renamed.items():
        expected = getattr(known.get(key), "dtype", one.dtype)
        if not (torch.can_cast(one.dtype, expected) and torch.can_cast(expected, one.dtype)):
            raise InputError(f"{name} has {key!r} of {one.dtype}, expected {expected}: {_REMEDY}")
    try:
        model.load_state_dict(renamed)
    except Exception as error:
        # A model may have a way of its own to load.
        raise InputError(
            f"{name} does not fit the model ({described(error)}): give the network that these "
            f"weights are of"
        ) from error


def plain_state(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's state dict, tensors of any shape; raises InputError for anything else."""
    state = model.state_dict()
    for name, one in state.items():
        if not isinstance(one, Tensor) or _strange(one):
            raise InputError(
                f"the model's state dict has {type(one).__name__} under {name!r}, expected a plain "
                f"tensor: only these can be read back without running code"
            )
    return dict(state)


def write_tensors(content: object, path: Path) -> None:
    """Write tensors in tuples, lists and dicts to a file that is there, such as one of `replacing`.

    The same values give the same bytes. Raises OSError.
    """
    with path.open("wb") as file:
        try:
            torch.save(_alone(content), file)
        except RuntimeError as error:
            # What torch says of a full disk; the reason is beneath it.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def keep_tensors(content: object, path: Path) -> None:
    """Write tensors to a file atomically; raises NotWritten."""
    with replacing(path) as partial:
        write_tensors(content, partial)


def _alone(content: Any) -> Any:
    """Return the same on the CPU, each tensor without more memory than its own.

    A view would be saved with all that it is a view of.
    """
    if isinstance(content, Tensor):
        own = content.detach().cpu()
        small = own.untyped_storage().nbytes() == own.numel() * own.element_size()
        return own if small and own.is_contiguous() else own.clone().contiguous()
    if isinstance(content, Mapping):
        return {name: _alone(one) for name, one in content.items()}
    return type(content)(map(_alone, content))


def read_content(path: Path) -> object:
    """Return all that a file of torch holds, on the CPU, tensors and plain values.

    Raises InputError for a file that cannot be read, or that could run code.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
    except OSError as error:
        raise unreadable(path, error, _GIVE) from None
    if not size:
        raise InputError(f"{path} is empty: {_REMEDY}")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # A damaged or hostile file makes torch raise almost anything.
        if refused := re.search(r"GLOBAL (\S+)", str(error)):
            raise InputError(
                f"{path} holds an object of {refused[1]}, not tensors alone, and loading it could "
                f"run code: {_REMEDY}"
            ) from None
        raise InputError(f"{path} is damaged, or not a file of torch: {_REMEDY}") from None


def _read_safe(path: Path) -> object:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError:
        raise InputError(f"{path} needs a package: pip install safetensors") from None
    try:
        return load_file(path)
    except OSError as error:
        raise unreadable(path, error, _GIVE) from None
    except SafetensorError as error:
        raise InputError(
            f"{path} is damaged ({described(error)}): write it again with "
            f"safetensors.torch.save_file(model.state_dict(), FILE)"
        ) from None


def _state_dict(path: Path, found: object) -> dict[str, Tensor]:
    """Return the tensors by name in what a file holds; raises InputError for anything else."""
    while isinstance(found, Mapping) and not _has_tensors(found):
        inner = [found[name] for name in _HOLDERS if isinstance(found.get(name), Mapping)]
        if not inner:
            break
        found = inner[0]
    if not isinstance(found, Mapping) or not _has_tensors(found):
        got = f"an object of type {type(found).__name__}"
        if isinstance(found, Mapping):
            got = f"a table of {listed(list(map(str, found))) or 'nothing'}"
        raise InputError(f"{path} holds no state dict, tensors by name, but {got}: {_REMEDY}")
    for name, one in found.items():
        if not isinstance(name, str) or not isinstance(one, Tensor) or _strange(one):
            kind = type(one).__name__
            raise InputError(
                f"{path} holds {kind} under {name!r:.60}, expected a plain tensor there: {_REMEDY}"
            )
    return dict(found)


def _has_tensors(mapping: Mapping[object, object]) -> bool:
    return any(isinstance(one, Tensor) for one in mapping.values())


def _strange(tensor: Tensor) -> bool:
    """Return whether it is sparse, nested, or one without values."""
    return tensor.layout != torch.strided or tensor.is_nested or tensor.is_meta


def _bare(names: Iterable[str]) -> dict[str, str]:
    """Return names by their remainder without the prefixes that all share.

    >>> _bare(["module.model.a", "module.model.b"])
    {'a': 'module.model.a', 'b': 'module.model.b'}
    """
    found = {name: name for name in names}
    while found:
        shared = [p for p in _PREFIXES if all(name.startswith(p) for name in found)]
        if not shared:
            break
        found = {bare.removeprefix(shared[0]): name for bare, name in found.items()}
    return found
