"""Cut networks and check every law: `python -m tests.laws.zoo [NAME ...]`.

Small networks and those drawn at random are cut at all features, those of torchvision,
timm and transformers at four, downstream of which they are retrained. Nothing is
downloaded.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

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
    for source in dict.fromkeys(name.partition("/")[0] for name in found):
        own = [
            v for name in found if name.startswith(f"{source}/") for v in found[name]
        ]
        print(f"{source}: {counted(own)}")
    broken = any(verdict.broken for verdicts in found.values() for verdict in verdicts)
    return 1 if broken or not found else 0


def every(random):
    """Return all networks by SOURCE/NAME."""
    drawn = {
        str(number): net for number in range(random) if (net := random_net(number))
    }
    sources = {
        "hostile": HOSTILE,
        "chains": CHAINS,
        "random": drawn,
        "torchvision": TORCHVISION,
        "timm": TIMM,
        "transformers": TRANSFORMERS,
    }
    return {
        f"{s}/{name}": net for s, nets in sources.items() for name, net in nets.items()
    }


def counted(verdicts):
    """Count the cuts by their way, and those that break a law."""
    ways = Counter(verdict.way for verdict in verdicts)
    ways["BREAK A LAW"] = sum(bool(verdict.broken) for verdict in verdicts)
    return ", ".join(f"{count} {way}" for way, count in ways.items() if count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
