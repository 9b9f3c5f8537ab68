"""The results: means over seeds, marked where they differ, and the ratio of times."""

import argparse
import statistics
from collections.abc import Iterator, Sequence

from rich.table import Table

from tests.peers.avalanche_side import FASTEST, USUAL
from tests.peers.compare import OURS, Run
from tests.peers.settings import SETTINGS

SCORES = ("A all", "F all", "A own", "F own")


def tables(runs: Sequence[Run]) -> Iterator[Table]:
    """Yield a table of the scores and one of the times."""
    yield _scores(runs)
    yield _times(runs)


def as_json(runs: Sequence[Run], asked: argparse.Namespace) -> dict[str, object]:
    """Return every number, and what was asked for."""
    return {
        "asked": {name: str(value) for name, value in vars(asked).items()},
        "settings": {run.learner: SETTINGS[run.learner].model_dump() for run in runs},
        "runs": [
            {
                "learner": run.learner,
                "side": run.side,
                "seed": run.seed,
                "all outputs": run.all_outputs.values.tolist(),
                "own outputs": run.own_outputs.values.tolist(),
                **run.scores(),
                "seconds": run.seconds,
            }
            for run in runs
        ],
    }


def _scores(runs: Sequence[Run]) -> Table:
    table = Table("learner", "side", *SCORES)
    table.title = "Points, mean +- standard deviation over seeds; * = off ours by more than both"
    for learner, sides in _grouped(runs).items():
        for side, own in sides.items():
            cells = [_cell(own, sides[OURS], score) for score in SCORES]
            table.add_row(learner, side, *cells)
    return table


def _cell(runs: Sequence[Run], ours: Sequence[Run], score: str) -> str:
    """Return mean +- deviation, marked where the means differ by more than both deviations."""
    mean, spread = _moments(runs, score)
    base, base_spread = _moments(ours, score)
    mark = " *" if abs(mean - base) > spread + base_spread else ""
    return f"{mean:.1f} +- {spread:.1f}{mark}"


def _moments(runs: Sequence[Run], score: str) -> tuple[float, float]:
    values = [100 * run.scores()[score] for run in runs]
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def _times(runs: Sequence[Run]) -> Table:
    sides = (OURS, USUAL, FASTEST)
    table = Table("learner", *sides, "ratio", "ratio to the fastest")
    table.title = "Seconds of training on all tasks, median over seeds; one thread"
    for learner, of in _grouped(runs).items():
        ours, usual, fastest = (
            statistics.median(sum(run.seconds) for run in of[side]) for side in sides
        )
        seconds = (f"{s:.2f}" for s in (ours, usual, fastest))
        table.add_row(learner, *seconds, f"{usual / ours:.1f}", f"{fastest / ours:.1f}")
    return table


def _grouped(runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    grouped: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        grouped.setdefault(run.learner, {}).setdefault(run.side, []).append(run)
    return grouped
