"""Peak resident memory of a study under a cache budget, and its results with every placement.

Every study runs in a process of its own, on made-up images of MNIST's size and number: the peak
depends neither on what they show nor on the epochs.
"""

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

import torch

from probe.examples import Examples
from probe.seeding import stream
from probe.values import allocation
from scenarios.commands.main import main
from scenarios.data.datasets import LOADERS, Dataset
from tests.bench.processes import in_a_process, peak_memory, scratch
from tests.bench.section import Row, Section

GB = 10**9
STUDY = "run murata-mnist --learners finetune --seeds 1 --orders none --epochs 1 --workers 1"


def section(examples: int = 60_000) -> Section:
    """Measure studies of `examples` under 1 GB, and of a tenth with every placement."""
    few = examples // 10
    sizes = {
        "1 GB and a disk": (examples, GB, 100 * GB),
        "1 GB and no disk": (examples, GB, 0),
        "all in memory": (few, 10 * GB, 0),
        "all memory-mapped": (few, 0, 100 * GB),
        "all recomputed": (few, 0, 0),
        "some of each": (few, 10_000 * few, 20_000 * few),
    }
    return Section(
        title="Memory of a study of cnn3 at MNIST's size, one worker, in GB",
        columns=("cache", "examples", "peak RSS", "s", "tables"),
        rows=_rows(sizes),
    )


def _rows(sizes: Mapping[str, tuple[int, int, int]]) -> Iterator[Row]:
    for name, size in sizes.items():
        run = in_a_process(study_in_memory, *size)
        peak, seconds = f"{run['peak'] / GB:.2f}", f"{run['seconds']:.0f}"
        yield (name, f"{size[0]:,}", peak, seconds, run["tables"]), run


def study_in_memory(examples: str, budget: str, room: str) -> dict[str, object]:
    """Run a study of so many examples with so many bytes of memory and of disk for its values."""
    allocation._free_disk = lambda folder: 2 * int(room)
    LOADERS["mnist"] = lambda location: _made_up(int(examples))
    start = time.perf_counter()
    with scratch() as folder:
        out = folder / "run"
        sys.argv = ["probe", *STUDY.split(), "--cache-budget", budget, "--out", str(out)]
        with suppress(SystemExit):
            main()
        tables = hashlib.sha256((out / "rows.csv").read_bytes()).hexdigest()[:8]
    return {"peak": peak_memory(), "seconds": time.perf_counter() - start, "tables": tables}


def _made_up(n: int) -> Dataset:
    def half(n: int, name: str) -> Examples:
        draw, y = stream(0, name), torch.arange(n) % 10
        x = torch.rand(n, 1, 28, 28, generator=draw)
        x[torch.arange(n), 0, 2 * y] += 1  # a bright row for each class, to have something to learn
        return Examples(x.clamp_(0, 1), y)

    return Dataset(name="mnist", classes=10, train=half(n, "train"), test=half(n // 6, "test"))
