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
from tests.laws.zoo.net import CACHED, REFUSED, SLOW, Net
from tests.laws.zoo.specimens import CHAINS
from tests.laws.zoo.torchvision_nets import TORCHVISION

_WAYS = (CACHED, SLOW, REFUSED)


def main(arguments: list[str]) -> int:
    """Print a line per network and the count of cuts by way; 1 if a law is broken, else 0."""
    parser = argparse.ArgumentParser(description="Cut every network of the zoo at every feature.")
    parser.add_argument("name", nargs="*", help="part of a network's name; by default, all")
    parser.add_argument("--feature", action="append", help="only this one; may be repeated")
    parser.add_argument("--random", type=int, default=100, help="networks drawn at random")
    chosen = parser.parse_args(arguments)
    drawn = {f"random{number}": random_net(number) for number in range(chosen.random)}
    every = {**HOSTILE, **CHAINS, **TORCHVISION}
    every |= {name: net for name, net in drawn.items() if net}
    parts = chosen.name or [""]
    nets = {name: net for name, net in every.items() if any(part in name for part in parts)}
    if not nets:
        parser.error(f"no network of that name; there are {', '.join(every)}")
    torch.set_num_threads(1)
    features = set(chosen.feature) if chosen.feature else None
    found = {name: _report(name, net, features) for name, net in nets.items()}
    return _summarize(found)


def _report(name: str, net: Net, features: set[str] | None) -> list[Verdict]:
    start = time.perf_counter()
    verdicts = examine_all(net, features)
    taken = time.perf_counter() - start
    broken = sum(bool(verdict.broken) for verdict in verdicts)
    print(f"{name:36} {_counted(verdicts)}  {f'{broken} BROKEN' if broken else ''} {taken:5.1f} s")
    sys.stdout.flush()
    return verdicts


def _counted(verdicts: list[Verdict]) -> str:
    ways = Counter(verdict.way for verdict in verdicts)
    return f"{len(verdicts):4} cuts: " + ", ".join(f"{ways[way]:3} {way}" for way in _WAYS)


def _summarize(found: dict[str, list[Verdict]]) -> int:
    for name, verdicts in found.items():
        for verdict in verdicts:
            if verdict.way != CACHED:
                print(f"{verdict.way} {name} at {verdict.feature}: {verdict.reason}")
    broken = [(n, v.feature, line) for n, vs in found.items() for v in vs for line in v.broken]
    for name, feature, line in broken:
        print(f"BROKEN {name} at {feature}: {line}")
    everything = [verdict for verdicts in found.values() for verdict in verdicts]
    failures = sum(bool(verdict.broken) for verdict in everything)
    print(f"\n{len(found)} networks, {_counted(everything).strip()}; {failures} break a law")
    laws = Counter(line.partition(":")[0] for _, _, line in broken)
    for law, count in laws.most_common():
        print(f"{count:5} {law}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
