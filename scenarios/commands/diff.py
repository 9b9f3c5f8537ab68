"""`probe diff`: two checkpoints of one network, of which the second is worse on old examples."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import probe
from probe.before_after.result import Diff
from probe.errors import InputError, described, printable, unknown
from probe.files import make_folder, write_text
from probe.model import Model
from probe.seeding import every_global_stream, stream
from scenarios.commands.screen.terminal import print_json, say
from scenarios.data.feature_files import SUFFIX
from scenarios.data.npz import read_arrays
from scenarios.options import DiffOptions, names, position
from scenarios.user_code import UserCode, imported, importing, load_callable

_TABLES = ("causes", "changes", "remedies", "content", "examples")


def show_diff(before: Path, after: Path, options: DiffOptions) -> bool:
    """Print what the change of each block did, and what would bring it back.

    Args:
        before: The file of the network before, a state dict.
        after: That after.
        options: The flags of `probe diff`.

    Returns:
        Whether no more was lost than is tolerated.

    Raises:
        InputError: A flag is invalid, or files, network and examples do not fit each
            other.
    """
    if options.tolerate is not None and not options.tolerate >= 0:
        raise InputError(
            f"--tolerate must be a number, 0 or more, got {options.tolerate}"
        )
    diff = _compare(before, after, options)
    if options.out:
        write_diff(diff, options.out)
    if options.json:
        print_json(diff.to_dict())
    else:
        print(printable(str(diff), "\n"))
    if options.tolerate is None:
        return True
    lost = diff.answer.lost
    unit = 100 if diff.answer.is_accuracy else 1
    if lost.low * unit <= options.tolerate:
        return True
    interval = f"[{unit * lost.low:.3g}, {unit * lost.high:.3g}]"
    say(
        f"lost {unit * lost.value:.3g} {interval}, more than --tolerate "
        f"{options.tolerate:g}"
    )
    return False


def write_diff(diff: Diff, folder: Path) -> None:
    """Write the answer, the tables and the page of a comparison, each file atomically.

    Args:
        diff: The comparison.
        folder: The folder, which is made.

    Raises:
        NotWritten: A file cannot be written.
    """
    make_folder(folder)
    write_text(folder / "answer.txt", f"{diff}\n")
    write_text(folder / "answer.json", json.dumps(diff.to_dict(), indent=2))
    for name in _TABLES:
        table = getattr(diff, name).to_csv(index=False, lineterminator="\n")
        write_text(folder / f"{name}.csv", table)
    diff.report(folder / "report.html")


def _compare(before: Path, after: Path, options: DiffOptions) -> Diff:
    """Load the user's code and both networks, and compare them."""
    examples_typed = [options.old, options.new, options.train]
    typed = [options.model, options.call, *examples_typed, options.score]
    with importing(*filter(None, typed)):
        entry = UserCode(
            network=options.model,
            call=options.call or "",
            output=position(options.output),
        ).network_entry()
        return probe.diff(
            before,
            Model(
                after,
                fresh=entry.build,
                call=entry.call,
                output=entry.output,
                weights=options.weights,
            ),
            examples(options.old),
            examples(options.new),
            train=examples(options.train),
            blocks=blocks(options.blocks),
            score=_score(options.score),
            seed=options.seed,
        )


def _score(name: str) -> Any:
    """Return a score by its name, or the user's function."""
    return load_callable(name, "a function of (model, x, y)") if ":" in name else name


def blocks(text: str) -> Any:
    """Parse --blocks: `auto`, names of modules, or patterns of parameter names by block.

    Args:
        text: The flag.

    Raises:
        InputError: Only some entries have a name and a pattern.

    >>> blocks("conv1,conv2"), blocks("1=lstm.*_l0,2=lstm.*_l1,2=fc.*")
    (['conv1', 'conv2'], {'1': ['lstm.*_l0'], '2': ['lstm.*_l1', 'fc.*']})
    """
    if text == "auto":
        return text
    parts = [entry.partition("=") for entry in names(text)]
    if "=" not in text and all(name for name, _, _ in parts):
        return [name for name, _, _ in parts]
    patterns: dict[str, list[str]] = {}
    for name, _, pattern in parts:
        if not name or not pattern:
            raise InputError(
                f"--blocks expects NAME,NAME or NAME=GLOB,NAME=GLOB, got {text!r}"
            )
        patterns.setdefault(name, []).append(pattern)
    return patterns


def examples(target: str | None) -> Any:
    """Return the examples that a flag names, None without a flag.

    Args:
        target: MODULE:OBJECT, where the object is a pair (x, y), a Dataset, a
            DataLoader or a function without arguments that returns one; or FILE.npz
            with the arrays x and y.

    Raises:
        InputError: There is no such object or file, or the function fails.
    """
    if not target:
        return None
    if target.endswith(SUFFIX):
        arrays = read_arrays(Path(target), ["x", "y"])
        return _tensor(arrays["x"]), _tensor(arrays["y"])
    module, _, name = target.rpartition(":")
    if not module:
        raise InputError(
            f"expected MODULE:OBJECT or FILE.npz with x and y, got {target!r}"
        )
    objects = vars(imported(module))
    if name not in objects:
        public = [each for each in objects if not each.startswith("_")]
        raise unknown("object", name, public, f"in {module}")
    value = objects[name]
    if not callable(value) or isinstance(value, Dataset | DataLoader):
        return value
    try:
        with every_global_stream(stream(0, "data")):
            return value()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{target} raised {described(error)}: "
            "give a function without arguments that returns (x, y)"
        ) from error


def _tensor(values: Any) -> Tensor:
    """Return an array as a tensor: real numbers as float32, whole numbers as they are."""
    tensor = torch.as_tensor(np.asarray(values))
    return tensor.float() if tensor.is_floating_point() else tensor
