"""Join the tables of several runs in one study's folder.

    python docs/found/join.py STUDY RUN...

A method of the run NAME-X becomes METHOD-X.
"""

import sys
from pathlib import Path

import pandas as pd
from tables import HERE

TABLES = ("measurements", "metrics", "times")


def joined(runs: list[Path], name: str) -> pd.DataFrame:
    """Return a table of all runs."""
    tables = []
    for run in runs:
        rows = pd.read_csv(run / f"{name}.csv")
        suffix = run.name.rpartition("-")[2]
        tables.append(rows.assign(learner=rows.learner + "-" + suffix))
    return pd.concat(tables)


if __name__ == "__main__":
    study, *runs = sys.argv[1:]
    for name in TABLES:
        rows = joined([Path(run) for run in runs], name)
        path = HERE / study / f"{name}.csv.gz"
        rows.to_csv(path, index=False, compression={"method": "gzip", "mtime": 0})
