"""Causes for networks in memory and any score: no training data, no classes, no readout."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from probe.analysis.statements import MARGIN
from probe.arguments import checked
from probe.batch import Value, varied
from probe.errors import InputError
from probe.model import Model
from probe.modules import (
    check_model,
    check_network,
    check_not_quantized,
    copied,
    named_state,
    unwrapped,
)
from probe.rewinding.data import as_pair
from probe.rewinding.estimates import Estimation, Quantities
from probe.rewinding.parts import Parts, Patterns
from probe.rewinding.scoring import Score, Tests, on_device_of, on_same_device
from probe.rewinding.shapley import EXACT
from probe.rewinding.two_networks import TwoNetworks
from probe.tables.table_file import where
from probe.validation import PositiveFloat, PositiveInt

if TYPE_CHECKING:
    import pandas as pd

WITHHELD = "withheld"
"""The verdict on a block of networks of which nothing can be said."""

_SAMPLE = 8
COLUMNS = [
    "feature",
    "task_position",
    "quantity",
    "value",
    "low",
    "high",
    "scope",
    "verdict",
    "seeds",
    "sampling_error",
]
"""The columns of the long form."""

_QUANTITY_OF = {"share": "attributed", "broken": "broken", "restored": "restored"}


@checked
def causes(
    models: Model | Mapping[int, nn.Module | Mapping[int, nn.Module]],
    test: Sequence[tuple[Value, Value]],
    score: Score = "accuracy",
    features: Sequence[str] | Patterns | None = None,
    hybrids: PositiveInt = EXACT,
    batch_size: PositiveInt | None = None,
    margin: PositiveFloat | None = None,
    long: bool = False,
) -> pd.DataFrame:
    """Measure what the change of each layer did to the earlier tasks.

    Blocks of the network after task j are put back into the last network, alone and
    together, and the result is tested on task j; nothing is trained.
    `probe.rewinding.hybrids` has the formulas, `probe.rewinding.verdicts` the verdicts.

    >>> import probe, torch
    >>> net = lambda: torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
    >>> before = net()
    >>> after = net()
    >>> after.load_state_dict(before.state_dict() | {"1.bias": torch.tensor([9.0, 0.0])})
    <All keys matched successfully>
    >>> test = [(torch.randn(8, 4), torch.arange(8) % 2) for _ in range(2)]
    >>> table = probe.causes({1: before, 2: after}, test, features=["0"])
    >>> table[["feature", "verdict"]].values.tolist()[0]
    ['0', 'none']

    Args:
        models: Networks of one architecture by number of tasks learned, 1 to T; the
            last is needed; or these by seed. A `Model` says how to call them, for the
            default score.
        test: The test examples of each of T tasks, (x, y): tensors, tuples or mappings
            of tensors.
        score: `accuracy` is 1 where the largest logit is that of the class, else 0;
            `loss` is minus the cross-entropy in nats; `squared_error` is minus its
            mean; or a function.
        features: Dotted module names that part the network into blocks; or patterns of
            names of parameters and buffers by block, such as `{"lstm 1": "lstm.*_l0"}`;
            None = a suggested set, with a block for each layer of recurrent modules.
        hybrids: Up to so many sets of blocks all are tested; beyond, those of random
            orders.
        batch_size: Examples at a time; None = a size that is fast on the device.
        margin: The amount of the score that matters; None = one point of accuracy, and
            every amount of another score, for which no verdict `none` is given then.
        long: Whether to return every quantity at every task position, a row for each.

    Returns:
        A row for each block, over all earlier tasks: its share of what was lost, what
        its change breaks by itself and what putting only it back returns, in units of
        the score, each with the ends of its 95 % interval; and the verdict. `attrs` has
        what was `lost`, the `scope` of the intervals, and the reasons why networks are
        `withheld`, by number of tasks learned. Or, in the long form, the columns of
        causes.csv.

    Raises:
        InputError: Networks, data and features do not fit each other, or a score is not
            a finite number for each example.

    Warns:
        UserWarning: Nothing can be said of some networks. They are in no mean; where
            none is left, the numbers are NaN and the verdict is `withheld`.
    """
    margin = margin_of(score, margin)
    model = models if isinstance(models, Model) else Model(models)
    _check_pairs(test, model.network)
    if model.task_aware:
        raise InputError(
            "causes has no task ids: use analyze, or a score that knows the task"
        )
    data = [as_pair(pair, f"test of task {k}", score) for k, pair in enumerate(test, 1)]
    by_seed = [
        _check_networks(networks, len(data)) for networks in _by_seed(model.network)
    ]
    tests = Tests(model=model, score=score, data=data, batch_size=batch_size)
    results = [_positions(networks, tests, features, hybrids) for networks in by_seed]
    runs = [positions for positions, _ in results]
    *_, blocks = results[-1]
    table = cause_table(runs, tests, margin, None if long else blocks)
    for j, reason in table.attrs["withheld"].items():
        warnings.warn(f"causes withheld after task {j}: {reason}", stacklevel=3)
    return table


def cause_table(
    runs: Sequence[Mapping[int, Quantities]],
    tests: Tests,
    margin: float,
    blocks: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Estimate what the change of each block accounts for, from every test example.

    Args:
        runs: The quantities of each training, by the task position of the earlier
            network.
        tests: The test examples and the score.
        margin: The amount of the score that matters, 0 if every amount does.
        blocks: The blocks, each of which gets a row; None = the long form.

    Returns:
        The table; `attrs["withheld"]` has the reasons why nothing is said of an earlier
        network, by its task position.
    """
    import pandas as pd

    positions = {}
    for j in runs[0]:
        of_runs = [run[j] for run in runs]
        # A training is a seed with one order: tasks as they come.
        positions[j] = Quantities.stacked(of_runs, (len(runs), 1))
    estimation = Estimation(
        tasks=tests.task_of,
        orders=np.arange(len(tests.data))[None],
        is_accuracy=tests.is_accuracy,
        margin=margin,
        trainings=len(runs),
    )
    table = pd.DataFrame(estimation.rows(positions), columns=COLUMNS)
    if blocks is not None:
        table = _by_block(table, blocks, estimation.scopes[-1])
    table.attrs["withheld"] = {
        j: position.withheld for j, position in positions.items() if position.withheld
    }
    return table


def _by_block(table: pd.DataFrame, blocks: Sequence[str], scope: str) -> pd.DataFrame:
    """Return the wide form over all earlier tasks, with its `attrs`: a row for each block.

    Args:
        table: The long form.
        blocks: The names of the blocks; whatever else has a share gets a row, too.
        scope: The scope of the intervals.
    """
    import pandas as pd

    over_all = where(table, task_position=None, scope=scope).set_index("feature")
    shares = over_all[over_all["quantity"] == "attributed"]
    names = pd.Index([*blocks, *shares.index], name="feature").drop_duplicates()
    columns: dict[str, pd.Series] = {}
    for name, quantity in _QUANTITY_OF.items():
        rows = over_all[over_all["quantity"] == quantity].reindex(names)
        columns |= {
            name: rows["value"],
            f"{name}_low": rows["low"],
            f"{name}_high": rows["high"],
        }
    columns["verdict"] = shares["verdict"].reindex(names, fill_value=WITHHELD)
    wide = pd.DataFrame(columns).reset_index()
    lost = over_all[over_all["quantity"] == "lost"].reindex([""])
    ends = lost[["value", "low", "high"]].iloc[0]
    wide.attrs["lost"] = tuple(map(float, ends))
    wide.attrs["scope"] = scope
    return wide


def _positions(
    networks: Mapping[int, nn.Module],
    tests: Tests,
    blocks: Sequence[str] | Patterns | None,
    hybrids: int,
) -> tuple[dict[int, Quantities], tuple[str, ...]]:
    """Return the quantities of one training at each earlier task position, and its blocks.

    Args:
        networks: The networks by number of tasks learned.
        tests: The test examples and the score.
        blocks: Features or patterns; None = a suggested set.
        hybrids: The number of sets of blocks up to which all are tested.
    """
    T = max(networks)
    copies = {k: copied(unwrapped(networks[k])).eval() for k in networks}
    last = copies.pop(T)
    tests.check(last)
    for j, network in copies.items():
        tests.check(on_same_device(network, last), j)
    x = on_device_of(last, varied(tests.data[0][0], _SAMPLE))
    parts = Parts.of(last, x, tests.model.model_call, blocks)
    positions = {}
    for j in sorted(copies):
        two = TwoNetworks(
            earlier=copies[j],
            last=last,
            blocks=parts.blocks,
            parts=parts,
            tests=tests,
            task=j,
            hybrids=hybrids,
        )
        positions[j] = two.quantities
    return positions, tuple(parts.blocks)


def margin_of(score: Score, margin: float | None) -> float:
    """Return the amount of a score that matters, 0 for every amount."""
    if margin is None:
        return MARGIN if score == "accuracy" else 0.0
    return margin


def _check_pairs(test: object, networks: object) -> None:
    """Check that there are test examples of each task, and networks by tasks learned.

    Raises:
        InputError: One is missing; two networks are what `probe.diff` takes.
    """
    if isinstance(networks, list | tuple):
        raise InputError(
            f"models are a {type(networks).__name__}: give a mapping by tasks "
            f"learned, such as {{1: ..., 2: ...}}; for one network before and one "
            "after use probe.diff(before, after, old, new)"
        )
    is_pair = [False]
    if isinstance(test, list | tuple):
        is_pair = [isinstance(pair, tuple | list) and len(pair) == 2 for pair in test]
    if not is_pair or not all(is_pair):
        raise InputError(
            "test must be a list of (x, y), one for each task, got "
            f"{type(test).__name__}: for one set of old examples use "
            "probe.diff(before, after, old)"
        )


def _by_seed(networks: Any) -> list[Any]:
    """Return the networks of each seed; without seeds there is one."""
    if not isinstance(networks, Mapping):
        return [networks]
    by_seed = [value for value in networks.values() if isinstance(value, Mapping)]
    if not by_seed or len(by_seed) < len(networks):
        return [networks]
    if len(set(map(frozenset, by_seed))) > 1:
        raise InputError(
            "models have networks after other tasks for some seeds: give the same"
        )
    return by_seed


def _check_networks(networks: Any, tasks: int) -> Mapping[int, nn.Module]:
    """Return networks by number of tasks learned, without that before any task."""
    numbers = set()
    got: object = type(networks).__name__
    if isinstance(networks, Mapping):
        numbers = set(networks)
        got = [*networks]
    earlier = numbers - {0, tasks}
    if tasks not in numbers or not earlier or not earlier <= set(range(tasks)):
        raise InputError(
            f"models must map numbers of tasks learned to networks, {tasks} and some "
            f"from 1 on for {tasks} tasks of test data, got {got}; for one network "
            "before and one after use probe.diff(before, after, old, new)"
        )
    check_model(networks[tasks])
    last = named_state(unwrapped(networks[tasks])).keys()
    for learned, network in networks.items():
        name = f"the network after {learned} tasks"
        check_network(network, name)
        check_not_quantized(network.state_dict(), name)
        if strange := sorted(named_state(unwrapped(network)).keys() - last):
            raise InputError(
                f"the network after {learned} tasks has {strange[0]!r}, which the "
                "last network lacks: give networks of one architecture"
            )
    return {learned: network for learned, network in networks.items() if learned}
