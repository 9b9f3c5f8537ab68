"""Cut every network of the zoo at every feature: `python -m tests.laws.zoo [NAME ...]`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import torch

from tests.laws.zoo.drawn import random_net
from tests.laws.zoo.examine import Verdict, examine_all
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.net import CACHED, REFUSED, SLOW
from tests.laws.zoo.specimens import CHAINS
from tests.laws.zoo.torchvision_nets import TORCHVISION


def main(arguments: list[str]) -> int:
    """Print a line per network and the count of cuts by way; 1 if a law is broken, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.laws.zoo", description=__doc__)
    parser.add_argument("name", nargs="*", default=[""], help="part of a name; by default, all")
    parser.add_argument("--feature", action="append", help="only this one; may be repeated")
    parser.add_argument("--random", type=int, default=100, help="networks drawn at random")
    chosen = parser.parse_args(arguments)
    drawn = {f"random{number}": random_net(number) for number in range(chosen.random)}
    every = {**HOSTILE, **CHAINS, **TORCHVISION, **drawn}
    torch.set_num_threads(1)
    found: list[tuple[str, Verdict]] = []
    for name, net in every.items():
        if net and any(part in name for part in chosen.name):
            start = time.perf_counter()
            verdicts = examine_all(net, set(chosen.feature) if chosen.feature else None)
            taken = time.perf_counter() - start
            print(f"{name:36} {counted(verdicts)} {taken:5.1f} s", flush=True)
            found += [(name, verdict) for verdict in verdicts]
    for name, verdict in found:
        if verdict.way != CACHED:
            print(f"{verdict.way} {name} at {verdict.feature}: {verdict.reason}")
        for line in verdict.broken:
            print(f"BROKEN {name} at {verdict.feature}: {line}")
    print(f"\n{len({name for name, _ in found})} networks, {counted([v for _, v in found])}")
    return 1 if any(verdict.broken for _, verdict in found) or not found else 0


def counted(verdicts: list[Verdict]) -> str:
    ways = Counter(verdict.way for verdict in verdicts)
    each = ", ".join(f"{ways[way]:3} {way}" for way in (CACHED, SLOW, REFUSED))
    broken = sum(bool(verdict.broken) for verdict in verdicts)
    return f"{len(verdicts):4} cuts: {each}" + (f", {broken} BREAK A LAW" if broken else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
