"""Hand-made tables of a run: what a report is made of, with numbers that are chosen."""

import math
from collections.abc import Sequence
from typing import Any

from probe.tables.rows import (
    FirstLayerRow,
    LayerRow,
    MeasurementRow,
    NoteRow,
    StatementRow,
    StatementSeedRow,
)

T, SEEDS = 3, 5
LAYERS = ("conv1", "conv2", "output")


def stated(
    feature: str, verdict: str, value: float, statement: str = "forgets", **changes: Any
) -> StatementRow:
    given: dict[str, Any] = {
        **{"learner": "ft", "readout": "linear", "feature": feature, "statement": statement},
        **{"depth": 1 + LAYERS.index(feature), "verdict": verdict, "margin": 0.01},
        **{"value": value, "low": value - 0.01, "high": value + 0.01, "seeds": SEEDS},
    }
    return StatementRow(**given | changes)


def by_seed(row: StatementRow, values: Sequence[float] = ()) -> list[StatementSeedRow]:
    """Return the values of a statement's seeds, by default all that of its mean."""
    at = {name: getattr(row, name) for name in ("learner", "readout", "feature", "depth")}
    return [
        StatementSeedRow(**at, statement=row.statement, seed=seed, value=value)
        for seed, value in enumerate(values or [row.value] * row.seeds)
    ]


def layer(feature: str, quantity: str, value: float, task_position: int | None = None) -> LayerRow:
    at = {"learner": "ft", "readout": "linear", "feature": feature, "task_position": task_position}
    ends = {"value": value, "low": value - 0.01, "high": value + 0.01, "seeds": SEEDS}
    return LayerRow(**at, **ends, depth=1 + LAYERS.index(feature), quantity=quantity)


def layers(missing: dict[str, float], room: float = 0.5) -> list[LayerRow]:
    """Return what layers lack, on each task and on all, with a floor so far below the ceiling."""
    found = []
    for feature, lacking in missing.items():
        each = {"missing": lacking, "floor": 0.9 - room, "ceiling": 0.9, "accuracy": 0.9 - lacking}
        for name, value in each.items():
            places = (None, *range(1, T + 1)) if name == "missing" else (None,)
            found += [layer(feature, name, value, task_position) for task_position in places]
    return found


def rows(learner: str = "ft", orders: int = 2, seeds: int = SEEDS) -> list[MeasurementRow]:
    """Return the accuracies of a learner's output."""
    return [
        MeasurementRow(
            **{"scenario": "toy", "network": "net", "learner": learner, "order": str(order)},
            **{"seed": seed, "tasks_seen": tasks_seen, "head": "single", "metric": "accuracy"},
            **{"task_position": 1 + (task + order) % T, "task": str(task)},
            value=math.nan if tasks_seen == 0 else 0.5,
        )
        for order in range(orders)
        for seed in range(seeds)
        for tasks_seen in range(T + 1)
        for task in range(T)
    ]


def layer_rows(learner: str = "ft", readouts: Sequence[str] = ("linear",)) -> list[MeasurementRow]:
    """Return the accuracies of layers after each task, with floor and ceiling.

    conv2 loses 10 points of a task with each task that follows; conv1 loses nothing.
    """
    runs = [(learner, "0", tasks_seen) for tasks_seen in range(T + 1)]
    return [
        MeasurementRow(
            **{"scenario": "toy", "network": "net", "learner": name, "order": order, "seed": 0},
            **{"tasks_seen": tasks_seen, "feature": feature, "depth": depth, "metric": "accuracy"},
            **{"task_position": task_position, "task": str(task_position - 1), "readout": readout},
            value=0.9 - 0.1 * (depth - 1) * max(0, tasks_seen - task_position) * (name == learner),
        )
        for name, order, tasks_seen in [*runs, ("untrained", "", 0), ("offline", "", T)]
        for readout in readouts
        for depth, feature in enumerate(LAYERS[:-1], 1)
        for task_position in range(1, T + 1)
    ]


def tables(statements: list[StatementRow], missing: dict[str, float], **others: Any) -> Any:
    """Return the tables of a run; others: in place of these, or `room` and `orders`."""
    room, orders = others.pop("room", 0.5), others.pop("orders", 2)
    found = {
        "measurements": rows(orders=orders),
        "layers": layers(missing, room),
        "statements": statements,
        "statement_seeds": [row for stated in statements for row in by_seed(stated)],
        "first_layer": list[FirstLayerRow](),
        "notes": list[NoteRow](),
    }
    return found | others
