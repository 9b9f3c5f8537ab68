"""`make soak`: a hundred kills at random moments; exit code 1 if a law is broken.

Bounded in time: what is under way when the limit is reached is still ended and checked.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from tests.soak.campaign import Campaign
from tests.soak.driver import real, warm
from tests.soak.kinds import INLINE, POOL

WAYS = [(warm, INLINE), (warm, POOL), (real, INLINE), (real, POOL)]

# How many of each kind: those that start quickly more often.
WANTED = {
    "the only process": 28,
    "the only process, as typed": 6,
    "a pool's parent": 10,
    "a pool's worker": 12,
    "parent and workers, as typed": 6,
    "one of two on one directory": 24,
    "one of three shards": 24,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=14.0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    start = time.monotonic()
    with TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), asked.seed, WAYS)
        print(f"undisturbed: {campaign.lengths_shown()}", flush=True)
        print(f"{'killed with -9':30} {'kills':>5} {'runs':>5} {'files read':>10} {'seconds':>8}")
        results = []
        for kind, wanted in WANTED.items():
            result = campaign.carry_out(kind, wanted, start + 60 * asked.minutes)
            print(result.shown(), flush=True)
            results.append(result)
    kills = sum(result.kills for result in results)
    broken = [law for result in results for law in result.broken]
    print(f"{kills} kills, {len(broken)} laws broken, {time.monotonic() - start:.0f} s")
    print(*broken, sep="\n", end="")
    return 1 if broken or kills < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
