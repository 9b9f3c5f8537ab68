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

from tests.soak.kills import Campaign

# How many of each kind: those that start quickly more often.
WANTED = {
    "one of two on one directory": 24,
    "one of three shards": 24,
    "the only process": 28,
    "a pool's worker": 12,
    "a pool's parent": 10,
    "parent and workers, as typed": 6,
    "the only process, as typed": 6,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=14.0)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    start = time.monotonic()
    with TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), asked.seed)
        print(f"{'killed with -9':30} {'kills':>5} {'runs':>5} {'files read':>10} {'seconds':>8}")
        for kind, wanted in WANTED.items():
            campaign.carry_out(kind, wanted, start + 60 * asked.minutes)
            numbers = f"{campaign.kills:5} {campaign.runs:5} {campaign.files:10}"
            print(f"{kind:30} {numbers} {time.monotonic() - start:8.0f}", flush=True)
    print(f"{campaign.kills} kills, {len(campaign.broken)} laws broken", *campaign.broken, sep="\n")
    return 1 if campaign.broken or campaign.kills < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
