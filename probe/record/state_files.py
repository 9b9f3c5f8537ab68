"""Files of weights, loaded as data into a network that they fit."""

import json
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from os.path import isfile
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from probe.batch import Named, is_dense
from probe.errors import InputError, described, unknown, unreadable
from probe.files import check_unpacked, replacing
from probe.modules import state_groups
from probe.tables.note_text import listed

_State = Mapping[str, Any]
_States = dict[str, _State]

NEVER = -1e4
"""The bias of an output that the network did not have yet; its weights are 0.

It is lower than any logit of a trained network, so that the output never wins; and
finite, so that training can start from it.
"""

_LARGE = 2**26  # bytes that a tensor may always take
_TIMES = 200  # bytes that a tensor may take for each that is stored

# Keys under which training programs keep the state dict, among other things.
_HOLDERS = ("state_dict", "model_state_dict", "model")
# The prefixes that DataParallel and Lightning write before every name.
_PREFIXES = ("module.", "model.")
_REMEDY = "write it with torch.save(model.state_dict(), FILE)"
# In folders of transformers and accelerate; an index lists the files of one network.
_IN_FOLDERS = (
    "*.index.json",
    "model.safetensors",
    "model_*.safetensors",
    "pytorch_model.bin",
)
# Numbers of NumPy and arguments beside the weights, which run no code of theirs when
# they are read.
_HARMLESS: list[Any] = [Namespace, np.dtype, np.float64().__reduce__()[0]]
_HARMLESS += {type(np.dtype(code)) for code in "?bhilqBHILQefdg"}


def load_state(path: Path, weights: str | None = None) -> Named:
    """Load the tensors in a file without running any code in it.

    Args:
        path: A file that `torch.save` wrote, which holds a state dict, or a mapping
            with one under a key; a `.safetensors` file; or the index of several files,
            or a folder with one.
        weights: The key of the state dict, such as `state_dict_ema`, or the prefix of
            its names; None = the only one.

    Returns:
        The tensors by name; they have any shape and are on the CPU. A prefix that a
        wrapper has put before all names (`module.`, `model.`) is removed, and
        `_orig_mod.` anywhere.

    Raises:
        InputError: The file is anything else, or has several sets of weights.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "task1.pt"
    ...     torch.save({"state_dict": {"model.fc.bias": torch.zeros(2)}}, path)
    ...     list(load_state(path))
    ['fc.bias']
    """
    content = read_content(path)
    states = _state_dicts(content)
    if not states:
        shown: Iterable[object] = [type(content).__name__]
        if isinstance(content, Mapping) and content:
            shown = content
        raise InputError(
            f"{path} has {listed(shown)}, expected tensors by name: {_REMEDY}"
        )
    content = _choose(states, path, weights)
    for name, value in content.items():
        if not _is_plain(value):
            raise InputError(
                f"{path} has {type(value).__name__} at {name!r:.60}, not a plain "
                f"tensor: {_REMEDY}"
            )
        # A view of few numbers, which computing with it would unpack.
        stored = value.untyped_storage().nbytes()
        if value.nbytes > max(_LARGE, _TIMES * stored):
            raise InputError(
                f"{path} would unpack to {value.nbytes} bytes at {name!r:.60}: leave "
                "it out"
            )
    return {bare: content[name] for bare, name in _bare(content).items()}


class Fit(NamedTuple):
    """A state that was loaded.

    Attributes:
        notes: Notes on tensors that the network lacks, and on a head with fewer outputs.
        outputs: The number of outputs in the state of a head that has more in the
            network; None if no head has.
    """

    notes: list[str]
    outputs: int | None


def fit_state(model: nn.Module, state: Named, name: str) -> Fit:
    """Load a state into a model in place.

    Args:
        model: The network; after an error it may hold some of the new tensors.
        state: Tensors that match by name, shape and kind of number. Prefixes of
            wrappers, and one prefix of all names, are ignored; tied weights may be
            missing under all names but one; a linear head may have fewer outputs than
            in the network, which never predicts the others.
        name: The name of the state, for messages.

    Returns:
        Notes on the state, and the outputs of its head if these are fewer.

    Raises:
        InputError: The state does not fit, or has several networks in it that do.

    >>> model = nn.Linear(2, 1)
    >>> state = {"fc.weight": torch.ones(1, 2), "fc.bias": torch.zeros(1), "epoch": torch.ones(1)}
    >>> fit_state(model, state, "task1.pt").notes
    ['its file also has epoch, which the network has not']
    >>> model(torch.ones(1, 2)).item()
    2.0
    """
    names = _bare(state)
    model_names = _bare(model.state_dict())
    prefix = _prefix(names, model_names, name)
    # The state's tensors under the model's names; those without the prefix are extra.
    extra = [bare for bare in names if not bare.startswith(prefix)]
    renamed = {}
    for bare, key in names.items():
        if bare not in extra:
            short = bare.removeprefix(prefix)
            renamed[model_names.get(short, short)] = state[key]
    _add_tied(model, renamed, name)
    padded = _pad_head(model, renamed)
    _check_types(model, renamed, name)
    unexpected, reason = _load(model, renamed)
    extra = [*unexpected, *extra]
    notes = []
    if extra:
        notes.append(f"its file also has {listed(extra)}, which the network has not")
    if reason:
        text = f"{name} does not fit this network: {reason}"
        raise InputError("; ".join([text, *notes, _WAY_ON]))
    return Fit([*padded.notes, *notes], padded.outputs)


def _load(model: nn.Module, state: Named) -> tuple[list[str], str]:
    """Load a state into a model in place.

    Returns the names that the model lacks, and why the state does not fit, "" if it does.
    """
    try:
        missing, unexpected = model.load_state_dict(state, strict=False) or ([], [])
    except Exception as error:
        # A model may override `load_state_dict`, and raise anything.
        return [], described(error)
    if missing:
        return unexpected, f"it lacks {listed(missing)}"
    return unexpected, ""


def _add_tied(model: nn.Module, state: Named, name: str) -> None:
    """Add to a state the names of tied tensors that it lacks; InputError if values differ."""
    if any(map(is_lazy, model.parameters())):
        return
    expected = model.state_dict()
    # Each group holds all names of one tensor.
    for tied in state_groups(model):
        present = [state[key] for key in tied if key in state]
        if any(not torch.equal(present[0], value) for value in present[1:]):
            raise InputError(
                f"{name} has several values of {listed(tied)}, which are tied here"
            )
        for key in tied:
            if present and key in expected:
                state[key] = present[0]


def _check_types(model: nn.Module, state: Named, name: str) -> None:
    """Raise InputError for a tensor with another kind of number than in a model."""
    parameters = dict(model.named_parameters(remove_duplicate=False))
    for key, tensor in state.items():
        dtype = getattr(parameters.get(key), "dtype", tensor.dtype)
        # Floats of two precisions are of the same kind, floats and integers are not.
        if not (
            torch.can_cast(tensor.dtype, dtype) and torch.can_cast(dtype, tensor.dtype)
        ):
            raise InputError(f"{name} has {key!r} of {tensor.dtype}, expected {dtype}")


_WAY_ON = (
    "build the network that was saved (of each learner, with fresh={learner: build} or --network "
    "learner=build), or give load=, a function from path to network"
)


def _prefix(names: Iterable[str], expected: Collection[str], where: str) -> str:
    """Return the prefix, such as `backbone.`, without which most names are expected.

    It is "" if no prefix does better. Raises InputError if several prefixes do equally
    well, as those of two networks.
    """
    # By prefix, which ends with a dot: the number of names that are expected without it.
    counts = Counter[str]()
    for name in names:
        for start in (0, *(dot.end() for dot in re.finditer(r"\.", name))):
            if name[start:] in expected:
                counts[name[:start]] += 1
    most = max(counts.values(), default=0)
    best = [prefix for prefix, count in counts.items() if count == most]
    if not best or "" in best:
        return ""
    if len(best) > 1:
        raise _several(where, [prefix.removesuffix(".") for prefix in best])
    return best[0]


def _pad_head(model: nn.Module, state: Named) -> Fit:
    """Grow the only head that has fewer outputs in a state than in a model, in place.

    Returns a note, and the number of outputs that it had; neither if there is no such
    head, or several.
    """
    sizes = {
        key: value.shape
        for key, value in model.state_dict().items()
        if not is_lazy(value)
    }
    biases = [key for key in state.keys() & sizes if key.endswith(".bias")]
    short = [key for key in biases if state[key].shape < sizes[key]]
    if len(short) != 1:
        return Fit([], None)
    (bias,) = short
    short_shape = state[bias].shape
    full_shape = sizes[bias]
    # The bias, its weight and, in heads of Avalanche, its mask. A layer that reads these
    # outputs has as many inputs, not rows: it is not grown, and will not fit.
    keys = [
        key
        for key in state
        if (state[key].shape[:1], sizes.get(key, ())[:1]) == (short_shape, full_shape)
    ]
    if f"{bias.removesuffix('bias')}weight" not in keys:
        return Fit([], None)
    for key in keys:
        state[key] = with_rows(state[key], full_shape[0], key)
    text = (
        f"{bias} has {short_shape[0]} of {full_shape[0]} outputs in its file: the others are never "
        "predicted"
    )
    return Fit([text], short_shape[0])


def with_rows(tensor: Tensor, rows: int, name: str) -> Tensor:
    """Return a head's tensor (k, ...) with rows up to (K, ...) for outputs that come later.

    Args:
        tensor: The tensor.
        rows: The number of all outputs K.
        name: The name of the tensor; a bias gets rows of `NEVER`, any other tensor rows
            of 0.
    """
    value = NEVER if name.endswith("bias") else 0.0
    return torch.cat(
        [tensor, tensor.new_full((rows - len(tensor), *tensor.shape[1:]), value)]
    )


def plain_state(model: nn.Module) -> Named:
    """Return a model's state dict, tensors of any shape; raises InputError for anything else."""
    state = model.state_dict()
    for name, value in state.items():
        if not _is_plain(value):
            raise InputError(
                f"the model has {type(value).__name__} at {name!r}, not a tensor"
            )
    return dict(state)


def write_tensors(content: object, path: Path) -> None:
    """Write tensors to a file, such as one from `replacing`.

    Args:
        content: Tensors in tuples, lists and dicts. The same values give the same
            bytes.
        path: The file.

    Raises:
        OSError: The file cannot be written.
    """
    with path.open("wb") as file:
        try:
            torch.save(_compact(content), file)
        except RuntimeError as error:
            # Torch's error on a full disk has the reason as its context.
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
        fits = tensor.untyped_storage().nbytes() == tensor.nbytes
        if fits and tensor.is_contiguous():
            return tensor
        return tensor.clone().contiguous()
    if isinstance(content, Mapping):
        return {name: _compact(value) for name, value in content.items()}
    return type(content)(map(_compact, content))


def _file_in(path: Path) -> Path:
    """Return the file of weights in a folder, or the path itself if it has none."""
    files = [file for name in _IN_FOLDERS for file in path.glob(name)]
    if len(files) > 1:
        names = listed(sorted(file.name for file in files))
        raise InputError(
            f"{path} has several networks, {names}: name the file in the pattern"
        )
    return files[0] if files else path


def read_content(path: Path) -> object:
    """Read all tensors and plain values in a file of torch or safetensors, onto the CPU.

    Args:
        path: The file.

    Returns:
        The content of the file.

    Raises:
        InputError: The file cannot be read, or could run code.
    """
    folder = path if path.is_dir() else path.parent
    if isfile(folder / "adapter_config.json"):
        raise InputError(
            f"{path} holds adapters without their network: give load=lambda path: "
            "PeftModel.from_pretrained(build(), path)"
        )
    try:
        path = _file_in(path)
        check_unpacked(path)
        if path.name.endswith(".index.json"):
            shards = sorted(set(json.loads(path.read_text())["weight_map"].values()))
            # Only files in the folder of the index, whatever folders it names.
            return reduce(
                or_, [read_content(path.parent / Path(shard).name) for shard in shards]
            )
        if path.suffix != ".safetensors":
            _check_sums(path)
            with torch.serialization.safe_globals(_HARMLESS):
                return torch.load(path, map_location="cpu", weights_only=True)
        from safetensors.torch import load_file

        return load_file(path)
    except ImportError:
        raise InputError(f"{path} needs a package: pip install safetensors") from None
    except InputError:
        raise
    except OSError as error:
        raise unreadable(
            path, error, "give a file of weights, or load=, which reads it"
        ) from None
    except Exception as error:
        # A damaged or hostile file makes torch raise almost anything.
        if refused := re.search(r"GLOBAL (\S+)", str(error)):
            raise InputError(
                f"{path} has {refused[1]}, which could run code: {_REMEDY}, or give "
                "load="
            ) from None
        save = (
            "safetensors.torch.save_file"
            if path.suffix == ".safetensors"
            else "torch.save"
        )
        raise InputError(
            f"{path} is damaged, empty, or not from {save.partition('.')[0]}: "
            f"write it with {save}(model.state_dict(), FILE)"
        ) from None


def _check_sums(path: Path) -> None:
    """Raise BadZipFile if a record differs from its checksum, which torch does not check."""
    if not is_zipfile(path):
        return
    with ZipFile(path) as archive:
        first_bad = archive.testzip()
        # In a file that torch wrote without checksums, already the first record fails.
        if first_bad not in (None, archive.namelist()[0]):
            raise BadZipFile(first_bad)


def _state_dicts(content: object, key: str = "", depth: int = 3) -> _States:
    """Return the mappings with tensors in a file, by their keys joined by dots, innermost first.

    A mapping counts if all of its keys are names, and some value is a tensor.
    """
    if not isinstance(content, Mapping) or depth < 0:
        return {}
    states: _States = {}
    tensors = {}
    for name, value in content.items():
        if isinstance(value, Mapping) and isinstance(name, str):
            inner_key = f"{key}.{name}".removeprefix(".")
            states |= _state_dicts(value, inner_key, depth - 1)
        elif not isinstance(value, Mapping):
            tensors[name] = value
    has_names = all(isinstance(name, str) for name in content)
    if has_names and any(map(torch.is_tensor, tensors.values())):
        states[key] = tensors
    return states


def _choose(states: _States, path: Path, weights: str | None) -> _State:
    """Return the state dict at a key or under a prefix; by default the one at a usual key.

    Raises InputError if another one could be meant, as it has names in common or all
    the shapes.
    """
    if weights is None:
        return _usual(states, path)
    if weights == "" and "" in states:
        return states[""]
    prefix = f"{weights}."
    selected = {}
    for key, state in states.items():
        bare = {name: state[full] for name, full in _bare(state).items()}
        for name, value in (*state.items(), *bare.items()):
            # The prefix may be the key of the mapping, or begin the names in it.
            for full in (name, f"{key}.{name}"):
                if full.startswith(prefix):
                    selected[full.removeprefix(prefix)] = value
    if not selected:
        raise unknown("set of weights", str(weights), states, f"in {path}")
    return selected


def _usual(states: _States, path: Path) -> _State:
    """Return the state dict at a usual key, else the first one.

    Raises InputError if another one could be meant: it is at a usual key, too, shares
    names with the first, or has tensors of all of its shapes.
    """
    usual = [key for key in states if key.rpartition(".")[2] in _HOLDERS]
    usual = usual or list(states)
    first, *others = [*usual, *(key for key in states if key not in usual)]
    names = _bare(states[first]).keys()
    shapes = _shapes(states[first])
    rivals = set(usual).intersection(others)
    for key in others:
        if names & _bare(states[key]).keys() or shapes <= _shapes(states[key]):
            rivals.add(key)
    if rivals:
        raise _several(str(path), [first, *sorted(rivals)])
    return states[first]


def _shapes(state: _State) -> Counter[Any]:
    """Count the tensors of each shape in a state."""
    return Counter(
        tuple(value.shape) for value in state.values() if torch.is_tensor(value)
    )


def _several(where: str, keys: Sequence[str]) -> InputError:
    """Return the error for several sets of weights, with the flag that chooses one."""
    return InputError(
        f"{where} has several sets of weights, {listed(keys)}: "
        f"choose with weights={keys[-1]!r} (--weights {keys[-1]})"
    )


def _is_plain(value: object) -> bool:
    """Return whether a value is a dense tensor: not sparse, not nested, not on `meta`."""
    return isinstance(value, Tensor) and is_dense(value) and not value.is_meta


def _bare(names: Iterable[str]) -> dict[str, str]:
    """Strip the prefixes that wrappers put before names; return each name by its bare name.

    >>> _bare(["module.model._orig_mod.a", "module.model.b"])
    {'a': 'module.model._orig_mod.a', 'b': 'module.model.b'}
    """
    # torch.compile writes its prefix before the names of each module that it compiles.
    names = {name.replace("_orig_mod.", ""): name for name in names}
    while prefix := _shared_prefix(names):
        names = {bare.removeprefix(prefix): name for bare, name in names.items()}
    return names


def _shared_prefix(names: Iterable[str]) -> str:
    """Return the prefix of a wrapper that all names have, empty if there is none."""
    for prefix in _PREFIXES:
        if names and all(name.startswith(prefix) for name in names):
            return prefix
    return ""
