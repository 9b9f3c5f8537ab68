"""A job's folder with two parts and two checkpoints, made by hand, and what spoils a file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from probe.by_layer.measurement import Measurement, Spent
from probe.by_layer.quarantine import quarantine_notes
from probe.by_layer.store import Store
from probe.metrics.counts import Counts
from probe.training.costs import Cost

JOB, OTHER_JOB = "er.order-0.seed-0", "er.order-1.seed-0"
RECORD = {"version": 1, "training": {"epochs": 1}}
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


def filled(root: Path, job: str = JOB, record=RECORD) -> Store:
    """Return a job's store with `step-1` and `step-2` in it; the model tells whose it is."""
    root.mkdir(exist_ok=True)
    store = Store(root, job, record, "code")
    for k, part in enumerate(("step-1", "step-2"), 1):
        store.write(part, MEASURED)
        own = torch.tensor([k, len(job), *job.encode(), record["training"]["epochs"]])
        store.save_checkpoint(part, {**MODEL, "own": own}, LEARNER)
    return store


def assert_set_aside(store: Store, *names: str) -> None:
    """Check that these files and no others are in quarantine, each with its note."""
    aside = {path.name for path in (store.root / "quarantine").iterdir()}
    folder = store.folder.relative_to(store.root / "jobs")
    assert aside == {f"{'.'.join(folder.parts)}.{n}{end}" for n in names for end in ("", ".txt")}
    said = quarantine_notes(store.root)
    assert len(said) == len(names)
    for name in names:
        assert not (store.folder / name).exists()
        assert any(note.startswith(f"jobs/{folder}/{name}: ") for note in said)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def made_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("")


def replaced_by(other: Path) -> Callable[[Path], None]:
    """A whole and valid file, that of another part, job or fingerprint."""
    return lambda path: shutil.copy(other, path)


SPOILT = [truncated, cut_in_half, emptied, lengthened, flipped, made_a_folder]


def damaged_versions(whole: bytes, step: int) -> list[bytes]:
    """Return a file's content with one bit flipped, and cut off, at every `step`-th byte."""
    at = range(0, len(whole), step)
    bits = [whole[:k] + bytes([whole[k] ^ 1 << k % 8]) + whole[k + 1 :] for k in at]
    return bits + [whole[:k] for k in at]
