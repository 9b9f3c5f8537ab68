"""Measure numbers of docs/speed.md, analyses, growth, Avalanche, fits: `python -m tests.bench`."""

import argparse
import os

os.environ.setdefault("KINETO_LOG_LEVEL", "5")  # read when torch is loaded

import torch

from tests.bench import (
    analysis,
    frameworks,
    growth,
    logistic,
)
from tests.bench.timing import machine

SECTIONS = {
    "analysis": analysis.analyses,
    "growth": growth.growth,
    "avalanche": frameworks.avalanche,
    "logistic": logistic.fits,
}


def main():
    """Print every row as soon as it is measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--only", choices=SECTIONS, help="one section instead of all")
    parser.add_argument(
        "--repeats", type=int, default=3, help="timed runs, of which the median"
    )
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    for name in [asked.only] if asked.only else SECTIONS:
        print(f"\n{SECTIONS[name].__doc__}", flush=True)
        if name in ("avalanche", "logistic") and "PROBE_DATA" not in os.environ:
            print("skipped: PROBE_DATA names no folder with MNIST and CIFAR-10")
            continue
        for title, *cells in SECTIONS[name](asked.repeats):
            print(f"{title:<40}{''.join(f'{cell:<22}' for cell in cells)}", flush=True)
    print(machine())


if __name__ == "__main__":
    main()
