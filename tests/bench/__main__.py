"""Measure the product against the obvious implementation: `python -m tests.bench`."""

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # read when torch is loaded

import torch

from tests.bench import agreement, cutting, executors, memory, scale, som, speed
from tests.bench.section import Section
from tests.bench.subjects import SUBJECTS
from tests.bench.timing import machine


def main() -> None:
    """Print every row as soon as it is measured, and write the numbers behind it."""
    asked = _arguments()
    torch.set_num_threads(1)
    results: dict[str, object] = {"machine": machine()}
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    print(results["machine"])
    sections = _sections(asked)
    if asked.only not in (None, *sections):
        raise SystemExit(f"no section {asked.only!r}: choose from {', '.join(sections)}")
    for name, made in sections.items():
        if asked.only not in (None, name):
            continue
        section, own = made(), dict[str, object]()
        results[name] = own
        print(f"\n{section.title}\n{section.line(section.columns)}", flush=True)
        for cells, raw in section.rows:
            print(section.line(cells), flush=True)
            own[cells[0]] = raw
            asked.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(f"{machine()}\nnumbers: {asked.out}")


def _sections(asked: argparse.Namespace) -> dict[str, Callable[[], Section]]:
    subjects = [one for one in SUBJECTS if asked.network in (None, one.network)]
    sections: dict[str, Callable[[], Section]] = {
        "speed": partial(speed.section, subjects, asked.repeats),
        "cutting": partial(cutting.section, asked.repeats),
        "looks": partial(cutting.looks, asked.repeats),
        "filling": partial(cutting.filling, subjects, asked.repeats),
        "copies": cutting.copies,
        "memory": memory.section,
        "som": partial(som.section, asked.repeats),
        "tables": scale.section,
        "executors": partial(executors.section, asked.repeats),
    }
    if asked.data:
        settings = (asked.data, asked.seeds, asked.per_class, asked.epochs)
        sections["scores"] = partial(agreement.scores, *settings)
    return sections


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", help="one section instead of all, such as som")
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
