"""Runs of another framework, and their networks as plain files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from probe.errors import InputError
from probe.files import make_folder
from probe.record.checkpoints import Checkpoints, Run
from probe.record.runs import network_file, offline_file
from probe.record.state_files import keep_tensors, load_state

NEVER = -1e4
"""The bias, with weights of 0, of an output that the network did not have yet.

Lower than any logit of a trained network, so that it never wins; finite, so that training can start
from it.
"""


@dataclass(frozen=True, kw_only=True)
class ForeignRuns:
    """Runs of another framework, as it wrote them.

    - files: of the networks, by run and tasks learned; offline: by seed, trained on all at once;
    - load: reads one of them: tensors by the names that they have in the network, all outputs in
      it. An output that came later has weights of 0 and the bias `NEVER`;
    - tasks: by task, in the order in which they were learned, the numbers of its outputs; None =
      the files do not say;
    - class_order: the class of the data that each output stands for; None = the files do not say.
    """

    files: Mapping[Run, Mapping[int, Path]]
    load: Callable[[Path], Mapping[str, Tensor]]
    offline: Mapping[int, Path] = field(default_factory=dict)
    tasks: tuple[tuple[int, ...], ...] | None = None
    class_order: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        # It raises for runs and steps that are missing, before anything is written.
        Checkpoints(runs=self.files, offline=self.offline)

    def keep(self, folder: Path) -> Checkpoints:
        """Write every network to a separate file, which `load_state` reads; return the files.

        The same networks give the same bytes. Raises InputError for a file that cannot be read, and
        NotWritten.
        """
        runs = {
            run: {at: self._kept(path, network_file(folder, run, at)) for at, path in own.items()}
            for run, own in self.files.items()
        }
        offline = {
            seed: self._kept(path, offline_file(folder, seed))
            for seed, path in self.offline.items()
        }
        return Checkpoints(runs=runs, offline=offline)

    def _kept(self, path: Path, target: Path) -> Path:
        make_folder(target.parent)
        keep_tensors(self.load(path), target)
        return target


def load_grown(shapes: Mapping[str, Sequence[int]], path: Path) -> dict[str, Tensor]:
    """Load a state, its heads grown to all outputs: rows (k, ...) become rows (K, ...).

    shapes: of the weight and the bias of each head, by name; a head may be missing. Raises
    InputError for a head that does not fit.
    """
    found = load_state(path)
    for name, (rows, *rest) in shapes.items():
        own = found.get(name, torch.zeros((0, *rest)))
        if len(own) > rows or list(own.shape[1:]) != rest:
            raise InputError(
                f"{path} has {name} of shape {tuple(own.shape)}, and the last network "
                f"{(rows, *rest)}: heads must grow, so give the networks of one run"
            )
        value = NEVER if name.endswith("bias") else 0.0
        found[name] = torch.cat([own, own.new_full((rows - len(own), *rest), value)])
    return found


def heads_of(path: Path, kind: Literal["fc", "heads"]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of weight and bias of each linear head in a file, by name.

    kind: one head `fc`, or a list `heads`. Raises InputError for other heads.
    """
    state = load_state(path).items()
    shapes = {name: tuple(one.shape) for name, one in state if name.startswith(f"{kind}.")}
    several = [f"heads.{at}" for at in range(len(shapes) // 2)] if kind == "heads" else ["fc"]
    wanted = [f"{head}.{part}" for head in several for part in ("weight", "bias")]
    if not shapes or sorted(shapes) != sorted(wanted) or not all(shapes.values()):
        raise InputError(
            f"{path} has the heads {', '.join(sorted(shapes)[:3]) or 'none'}: only "
            f"{'one linear fc' if kind == 'fc' else 'linear heads'} with a bias can be read, so "
            f"that outputs of later tasks can be filled in"
        )
    return {name: shapes[name] for name in wanted}


def consecutive(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return tasks of these numbers of outputs, one after another.

    >>> consecutive([2, 1])
    ((0, 1), (2,))
    """
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes))]
    return tuple(tuple(range(e - size, e)) for e, size in zip(ends, sizes, strict=True))
