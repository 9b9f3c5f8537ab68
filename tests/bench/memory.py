"""Peak resident memory of a study under a cache budget, and its results with every placement.

`python -m tests.bench.memory`. Every study runs in a process of its own, on made-up images of
MNIST's size and number: the peak depends neither on what they show nor on the epochs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from probe.examples import Examples
from probe.seeding import stream
from probe.values import allocation
from scenarios.commands.run import Options, run_study
from scenarios.data.datasets import LOADERS, Dataset
from scenarios.execution.choosing import Choice
from scenarios.study.source import Overrides

GB = 10**9
KINDS = ("VmHWM", "RssAnon", "RssFile")
STUDY = Overrides(learners=["finetune"], seeds=1, orders="none", epochs=1)


def main() -> None:
    """Print the peaks, and whether all studies of one size gave the same tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory", description=__doc__)
    parser.add_argument("--examples", type=int, default=60_000, help="of training, for the peak")
    table, _ = measure(parser.parse_args().examples)
    Console(width=max(100, Console().width)).print(table)


def measure(examples: int = 60_000) -> tuple[Table, dict[str, object]]:
    """Return the table of peaks, of `examples` under 1 GB and of a tenth with every placement."""
    few = examples // 10
    runs = {
        "1 GB and a disk": _in_a_process(examples, GB, 100 * GB),
        "1 GB and no disk": _in_a_process(examples, GB, 0),
        "all in memory": _in_a_process(few, 10 * GB, 0),
        "all memory-mapped": _in_a_process(few, 0, 100 * GB),
        "all recomputed": _in_a_process(few, 0, 0),
        "some of each": _in_a_process(few, 10_000 * few, 20_000 * few),
    }
    table = Table("cache", "examples", "peak RSS", "peak of RssAnon", "of RssFile", "s", "tables")
    table.title = "Memory of a study of cnn3 at MNIST's size, one worker, in GB"
    for name, run in runs.items():
        peaks = (f"{run[kind] / GB:.2f}" for kind in KINDS)
        table.add_row(name, str(run["examples"]), *peaks, f"{run['seconds']:.0f}", run["tables"])
    return table, dict(runs)


def _in_a_process(examples: int, budget: int, room: int) -> dict[str, object]:
    call = [sys.executable, "-c", "from tests.bench.memory import _child; _child()"]
    arguments = map(str, (examples, budget, room))
    done = subprocess.run([*call, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def _child() -> None:
    examples, budget, room = map(int, sys.argv[1:])
    allocation._free_disk = lambda folder: 2 * room
    LOADERS["mnist"] = lambda location: _made_up(examples)
    start = time.perf_counter()
    runs = Path("runs")  # not the system's, which may lie in memory
    runs.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=runs) as folder, _peaks() as peaks:
        options = Options(out=Path(folder) / "run", choice=Choice(workers=1), cache_budget=budget)
        run_study("mnist", STUDY, options)
        tables = (options.out / "rows.csv").read_bytes()
    found = {**peaks, "examples": examples, "seconds": time.perf_counter() - start}
    print(json.dumps({**found, "tables": hashlib.sha256(tables).hexdigest()[:8]}))


def _made_up(n: int) -> Dataset:
    def half(n: int, name: str) -> Examples:
        draw, y = stream(0, name), torch.arange(n) % 10
        x = torch.rand(n, 1, 28, 28, generator=draw)
        x[torch.arange(n), 0, 2 * y] += 1  # a bright row for each class, to have something to learn
        return Examples(x.clamp_(0, 1), y)

    return Dataset(name="mnist", classes=10, train=half(n, "train"), test=half(n // 6, "test"))


@contextmanager
def _peaks() -> Iterator[dict[str, float]]:
    """Give the peaks in bytes after the block: VmHWM is the kernel's, the others are sampled."""
    peaks, over = dict.fromkeys(KINDS, 0.0), threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            for line in Path("/proc/self/status").read_text("utf-8").splitlines():
                kind = line.split(":")[0]
                if kind in peaks:
                    peaks[kind] = max(peaks[kind], 1024 * float(line.split()[1]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peaks
    finally:
        over.set()
        watcher.join()


if __name__ == "__main__":
    main()
