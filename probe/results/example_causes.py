"""Causes of single test examples: by which layer's change each was lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from probe.arguments import checked
from probe.results.analysis import Analysis
from probe.results.load import records_of
from probe.results.stored_pairs import StoredPair, stored_pairs

COLUMNS = (
    "learner",
    "order",
    "seed",
    "task_position",
    "feature",
    "example",
    "label",
    "before",
    "after",
    "lost",
    "attributed",
    "restored",
    "broken",
)


@checked
def example_causes(
    source: Analysis | str | Path, score: Literal["accuracy", "loss"] = "accuracy"
) -> pd.DataFrame:
    """Return what the change of each layer did to each test example of the earlier tasks.

    The formulas are those of `causes` (`probe.rewinding.hybrids`): its values are the
    means over the examples of a network and task position, averaged over orders and
    seeds. One example has no interval: a layer to which many examples are attributed is
    a finding, one example is something to look at.

    Args:
        source: A run directory, the folder of a saved analysis, or an analysis.
        score: `accuracy` is 1 if the predicted class is right, else 0; `loss` is minus
            the cross-entropy in nats.

    Returns:
        A row for each network after all tasks, example and layer, with the columns
        `learner`, `order`, `seed`, `task_position` (of the example's task in the
        executed order, from 1), `feature`, `example` (position in the given test data,
        from 0), `label`; the class predicted `before`, with all layers put back to
        where they were after that task, and `after`; what of the score was `lost`;
        what of it is `attributed` to the layer's change; what putting only the layer
        back returns (`restored`), and what only its change breaks (`broken`). Networks
        from which causes are withheld have no rows.

    Raises:
        InputError: The folder holds no predictions, or the analysis holds only tables.

    Example:
        >>> import probe, torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
        >>> data = torch.randn(8, 4), torch.arange(8) % 2
        >>> state = net.state_dict() | {"1.bias": torch.tensor([-99.0, 99.0])}
        >>> after = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
        >>> _ = after.load_state_dict(state)
        >>> result = probe.analyze({1: net, 2: after}, data, data, [[0], [1]], ["0"])
        >>> rows = probe.example_causes(result).query("feature == 'output'")
        >>> rows[["example", "label", "after"]].values.tolist()
        [[0, 0, 1], [2, 0, 1], [4, 0, 1], [6, 0, 1]]
        >>> (rows["lost"] == rows["attributed"]).all()  # by nothing else
        np.True_
    """
    predictions = records_of(source).predictions()
    frames = [
        frame
        for pairs in stored_pairs(predictions).values()
        for pair in pairs.values()
        for frame in _frames(pair, score)
    ]
    table = pd.concat(frames or [pd.DataFrame(columns=COLUMNS)], ignore_index=True)
    return table.astype(dict.fromkeys(["learner", "order", "feature"], "category"))


def _frames(pair: StoredPair, score: str) -> Iterator[pd.DataFrame]:
    """Yield a frame of the examples of a pair's task for each block."""
    examples = np.flatnonzero(pair.of_task)
    before, after = pair.predicted
    for of_block in pair.quantities(score).by_block(examples):
        columns = {
            **pair.job.columns,
            "task_position": pair.j,
            "label": pair.rewound.test.labels[examples],
            "before": before[examples].astype(np.int64),
            "after": after[examples].astype(np.int64),
            **of_block,
        }
        yield pd.DataFrame(columns, columns=COLUMNS)
