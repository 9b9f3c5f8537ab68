"""Cut networks and check every law: `python -m tests.laws.zoo [NAME ...]`.

Small networks and those drawn at random are cut at all features, those of torchvision,
timm and transformers at four, downstream of which they are retrained. Nothing is
downloaded.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from itertools import chain

import torch

from tests.laws.zoo.drawn import random_net
from tests.laws.zoo.examine import examine_all
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.specimens import CHAINS
from tests.laws.zoo.timm_nets import TIMM
from tests.laws.zoo.torchvision_nets import TORCHVISION
from tests.laws.zoo.transformers_nets import TRANSFORMERS


def main(arguments):
    """Print a line per network and the counts; 1 if a law is broken, else 0."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.laws.zoo", description=__doc__
    )
    parser.add_argument(
        "name", nargs="*", default=[""], help="part of a name; by default, all"
    )
    parser.add_argument(
        "--feature", action="append", help="only this one; may be repeated"
    )
    parser.add_argument(
        "--random", type=int, default=100, help="networks drawn at random"
    )
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    found = {}
    for name, net in every(chosen.random).items():
        if any(part in name for part in chosen.name):
            start = time.perf_counter()
            found[name] = examine_all(net, chosen.feature or ())
            taken = time.perf_counter() - start
            print(f"{name:44} {counted(found[name])}, {taken:.1f} s", flush=True)
            for verdict in found[name]:
                if verdict.reason:
                    print(
                        f"    {verdict.way} at {verdict.feature}: {verdict.reason}",
                        flush=True,
                    )
                for line in verdict.broken:
                    print(f"    BROKEN at {verdict.feature}: {line}", flush=True)
    by_source = defaultdict(list)
    for name, verdicts in found.items():
        by_source[name.partition("/")[0]] += verdicts
    for source, verdicts in by_source.items():
        print(f"{source}: {counted(verdicts)}")
    every_verdict = chain.from_iterable(found.values())
    return int(not found or any(verdict.broken for verdict in every_verdict))


def every(random):
    """Return all networks by SOURCE/NAME."""
    drawn = {str(number): random_net(number) for number in range(random)}
    sources = {
        "hostile": HOSTILE,
        "chains": CHAINS,
        "random": drawn,
        "torchvision": TORCHVISION,
        "timm": TIMM,
        "transformers": TRANSFORMERS,
    }
    found = {}
    for source, nets in sources.items():
        found |= {f"{source}/{name}": net for name, net in nets.items() if net}
    return found


def counted(verdicts):
    """Count the cuts by their way, and those that break a law."""
    ways = Counter(verdict.way for verdict in verdicts)
    ways["BREAK A LAW"] = sum(bool(verdict.broken) for verdict in verdicts)
    return ", ".join(f"{count} {way}" for way, count in ways.items() if count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
