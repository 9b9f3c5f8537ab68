"""A run directory with two parts and checkpoints in each of two jobs, and what spoils a file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scenarios.study.quarantine import notes

from probe.metrics.counts import Counts
from probe.training.costs import Cost
from scenarios.study.store import Measurement, Spent, Store

JOB, OTHER_JOB = "er.order-0.seed-0", "er.order-1.seed-0"
TABLE = np.array([[41, 3], [7, 2**40]])
COST = Cost.of_tensor(torch.tensor([1, 2, 0, 4, 2**60, 2**60 + 1, 5]))
COUNTS = {
    "single": (Counts(TABLE),),
    "multi": (Counts(TABLE * 2),),
    "all": (Counts(TABLE.T), Counts(TABLE)),
}
MEASURED = Measurement(counts=COUNTS, spent=Spent(cost=COST, seconds=0.1 + 0.2))
MODEL = {"weight": torch.tensor([[0.5, -0.0], [1e-30, torch.pi]]), "steps": torch.tensor(3)}
LEARNER = {"memory.y": torch.tensor([1, 2], dtype=torch.int64)}


def filled(root: Path, identity: str = "identity") -> Store:
    root.mkdir()
    store = Store(root, identity)
    for k, job in enumerate((JOB, OTHER_JOB)):
        for part in ("step-1", "step-2"):
            other = Measurement(counts=dict.fromkeys(COUNTS, (Counts(TABLE + k),)))
            store.write(job, part, MEASURED if job == JOB else other)
            model = {name: tensor * (k + 1) for name, tensor in MODEL.items()}
            model["part"] = torch.tensor(int(part[-1]))
            store.save_checkpoint(job, part, model, LEARNER)
    return store


def path_of(store: Store, name: str, job: str = JOB) -> Path:
    return store.root / "jobs" / job / name


def assert_set_aside(store: Store, *names: str) -> None:
    """Check that these files and no others are in quarantine, each with its note."""
    kept = {path.name for path in (store.root / "quarantine").iterdir()}
    assert kept == {f"{JOB}.{name}{end}" for name in names for end in ("", ".txt")}
    said = notes(store.root)
    assert len(said) == len(names)
    for name in names:
        assert not os.path.lexists(path_of(store, name))
        assert any(note.startswith(f"jobs/{JOB}/{name}: ") for note in said)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("")


def made_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def made_a_link(path: Path) -> None:
    """Its target, elsewhere, is the valid file itself."""
    path.rename(path.parents[3] / f"elsewhere-{path.name}")
    path.symlink_to(path.parents[3] / f"elsewhere-{path.name}")


def made_a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def made_a_loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def made_huge(path: Path) -> None:
    """A hundred times the memory of any machine that runs tests, with nothing in it."""
    os.truncate(path, 2**44 - 2**20)


def made_huge_with_its_end(path: Path) -> None:
    """As above, but it ends as the file did."""
    end = path.read_bytes()[-1000:]
    os.truncate(path, 2**36)
    with path.open("ab") as file:
        file.write(end)


def swapped_with(name: str, job: str = JOB) -> Callable[[Path], None]:
    """A whole and valid file, that of another part or job."""

    def swap(path: Path) -> None:
        shutil.copy(path.parents[1] / job / name, path)

    swap.__name__ = f"swapped_with_{job}/{name}"
    return swap


SPOILT = [
    *(truncated, cut_in_half, emptied, lengthened, made_a_folder, made_a_pipe, made_a_link),
    *(made_a_link_to_nothing, made_a_loop, made_huge),
]
