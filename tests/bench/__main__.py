"""Measure the product against the obvious implementation: `python -m tests.bench`."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # read when torch is loaded

import torch
from rich.console import Console
from rich.table import Table

from tests.bench import agreement, executors, limit, memory, scale, som, speed
from tests.bench.subjects import SUBJECTS
from tests.bench.timing import machine

Section = Callable[[], tuple[Table, dict[str, object]]]


def main() -> None:
    """Print every table and write the numbers behind them."""
    asked = _arguments()
    torch.set_num_threads(1)
    console = Console(width=max(100, Console().width))
    results: dict[str, object] = {"machine": machine()}
    console.print(f"[bold]{results['machine']}[/bold]")
    for name, section in _sections(asked).items():
        if asked.only in (None, name):
            table, results[name] = section()
            console.print(table)
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            asked.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    console.print(f"{machine()}\nnumbers: {asked.out}")


def _sections(asked: argparse.Namespace) -> dict[str, Section]:
    subjects = [one for one in SUBJECTS if asked.network in (None, one.network)]
    sections: dict[str, Section] = {
        "speed": partial(speed.measure, subjects, asked.repeats),
        "losses": partial(agreement.losses, subjects),
        "limit": partial(limit.measure, subjects, asked.repeats),
        "memory": memory.measure,
        "som": partial(som.measure, asked.repeats),
        "restart": scale.restart,
        "rows": scale.rows,
        "executors": partial(executors.measure, asked.repeats),
    }
    if asked.data:
        settings = (asked.data, asked.seeds, asked.per_class, asked.epochs)
        sections["scores"] = partial(agreement.scores, *settings)
    return sections


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    known = ("speed", "losses", "limit", "memory", "som", "restart", "rows", "executors", "scores")
    parser.add_argument("--only", choices=known, help="one part instead of all")
    networks = [one.network for one in SUBJECTS]
    parser.add_argument("--network", choices=networks, help="one network instead of all")
    parser.add_argument("--repeats", type=int, default=3, help="timed runs, of which the median")
    parser.add_argument("--data", type=Path, help="folder with MNIST, for the scores")
    parser.add_argument("--seeds", type=int, default=8, help="runs for the scores")
    parser.add_argument("--per-class", type=int, default=500, help="training examples of a class")
    parser.add_argument("--epochs", type=int, default=3, help="epochs for the scores")
    parser.add_argument("--out", type=Path, default=Path("runs/bench.json"), help="the numbers")
    asked = parser.parse_args()
    if asked.only == "scores" and not asked.data:
        parser.error("the scores need --data: a folder with MNIST as torchvision lays it out")
    return asked


if __name__ == "__main__":
    main()
