"""Files of weights, loaded as data into a network that they fit."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from probe.errors import InputError, described, unreadable
from probe.files import check_unpacked, replacing
from probe.notes import listed

# Where training programs keep the state dict among other things.
_HOLDERS = ("state_dict", "model_state_dict", "model")
# What DataParallel, Lightning and torch.compile write before every name.
_PREFIXES = ("module.", "model.", "_orig_mod.")
_REMEDY = "write it with torch.save(model.state_dict(), FILE)"


def load_state(path: Path) -> dict[str, Tensor]:
    """Load the tensors in a file without running any code in it.

    Args:
        path: A file that `torch.save` wrote, which holds a state dict, or a mapping with one under
            the key `state_dict`, `model_state_dict` or `model`; or a `.safetensors` file.

    Returns:
        The tensors by name; they have any shape and are on the CPU. A prefix that a wrapper has put
        before all names (`module.`, `model.`, `_orig_mod.`) is removed.

    Raises:
        InputError: The file is anything else.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "task1.pt"
    ...     torch.save({"state_dict": {"model.fc.bias": torch.zeros(2)}}, path)
    ...     list(load_state(path))
    ['fc.bias']
    """
    content = read_content(path)
    while not isinstance(content, Mapping) or not any(map(torch.is_tensor, content.values())):
        table = content if isinstance(content, Mapping) else {}
        inner = [table[key] for key in _HOLDERS if isinstance(table.get(key), Mapping)]
        if not inner:
            got = listed(table) or f"an object of type {type(content).__name__}"
            raise InputError(f"{path} has no state dict, tensors by name, but {got}: {_REMEDY}")
        content = inner[0]
    for name, value in content.items():
        if not isinstance(name, str) or not _is_plain(value):
            what = f"{type(value).__name__} at {name!r:.60}, not a plain tensor"
            raise InputError(f"{path} has {what}: {_REMEDY}")
    return {bare: content[name] for bare, name in _bare(content).items()}


def fit_state(model: nn.Module, state: Mapping[str, Tensor], name: str) -> None:
    """Load a state into a model in place.

    Args:
        model: The network; after an error it may hold some of the new tensors.
        state: Tensors that match by name, shape and kind of number. Prefixes of wrappers before all
            names are ignored.
        name: The name of the state, for messages.

    Raises:
        InputError: The state does not fit.

    >>> model = nn.Linear(2, 1)
    >>> fit_state(model, {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}, "task1.pt")
    >>> model(torch.ones(1, 2)).item()
    2.0
    """
    full = _bare(model.state_dict())
    parameters = dict(model.named_parameters(remove_duplicate=False))
    renamed = {full.get(bare, bare): state[key] for bare, key in _bare(state).items()}
    for key, tensor in renamed.items():
        expected = getattr(parameters.get(key), "dtype", tensor.dtype)
        if not (torch.can_cast(tensor.dtype, expected) and torch.can_cast(expected, tensor.dtype)):
            raise InputError(f"{name} has {key!r} of {tensor.dtype}, expected {expected}")
    try:
        model.load_state_dict(renamed)
    except Exception as error:
        # A model may have a way of its own to load.
        raise InputError(f"{name} does not fit this network: {described(error)}") from error


def plain_state(model: nn.Module) -> dict[str, Tensor]:
    """Return a model's state dict, tensors of any shape; raises InputError for anything else."""
    state = model.state_dict()
    for name, value in state.items():
        if not _is_plain(value):
            raise InputError(f"the model has {type(value).__name__} at {name!r}, not a tensor")
    return dict(state)


def write_tensors(content: object, path: Path) -> None:
    """Write tensors to an existing file, such as one from `replacing`.

    Args:
        content: Tensors in tuples, lists and dicts. The same values give the same bytes.
        path: The file.

    Raises:
        OSError: The file cannot be written.
    """
    with path.open("wb") as file:
        try:
            torch.save(_compact(content), file)
        except RuntimeError as error:
            # What torch says of a full disk; the reason is beneath it.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def keep_tensors(content: object, path: Path) -> None:
    """Write tensors to a file atomically.

    Args:
        content: The tensors.
        path: The file.

    Raises:
        NotWritten: The file cannot be written.
    """
    with replacing(path) as partial:
        write_tensors(content, partial)


def _compact(content: Any) -> Any:
    """Return the content on the CPU, each tensor in memory of just its size.

    A view would be saved with the whole tensor that it is a view of.
    """
    if isinstance(content, Tensor):
        tensor = content.detach().cpu()
        fits = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
        return tensor if fits and tensor.is_contiguous() else tensor.clone().contiguous()
    if isinstance(content, Mapping):
        return {name: _compact(value) for name, value in content.items()}
    return type(content)(map(_compact, content))


def read_content(path: Path) -> object:
    """Read all tensors and plain values in a file of torch or safetensors, onto the CPU.

    Args:
        path: The file.

    Returns:
        The content of the file.

    Raises:
        InputError: The file cannot be read, or could run code.
    """
    check_unpacked(path)
    library, save = "torch", "torch.save"
    if path.suffix == ".safetensors":
        library, save = "safetensors", "safetensors.torch.save_file"
    try:
        if library == "torch":
            return torch.load(path, map_location="cpu", weights_only=True)
        from safetensors.torch import load_file

        return load_file(path)
    except ImportError:
        raise InputError(f"{path} needs a package: pip install safetensors") from None
    except OSError as error:
        raise unreadable(path, error, "give the path of a file of weights") from None
    except Exception as error:
        # A damaged or hostile file makes torch raise almost anything.
        if refused := re.search(r"GLOBAL (\S+)", str(error)):
            raise InputError(f"{path} has {refused[1]}, which could run code: {_REMEDY}") from None
        remedy = f"write it with {save}(model.state_dict(), FILE)"
        raise InputError(f"{path} is damaged, empty, or not from {library}: {remedy}") from None


def _is_plain(value: object) -> bool:
    """Return whether a value is a tensor with values that is neither sparse nor nested."""
    plain = isinstance(value, Tensor) and value.layout == torch.strided
    return plain and not value.is_nested and not value.is_meta  # type: ignore[attr-defined]


def _bare(names: Iterable[str]) -> dict[str, str]:
    """Return the names by what is left of each without the prefixes that all share.

    >>> _bare(["module.model.a", "module.model.b"])
    {'a': 'module.model.a', 'b': 'module.model.b'}
    """
    names = {name: name for name in names}
    while names and (shared := [p for p in _PREFIXES if all(n.startswith(p) for n in names)]):
        names = {bare.removeprefix(shared[0]): name for bare, name in names.items()}
    return names
