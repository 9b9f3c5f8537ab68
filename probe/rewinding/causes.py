"""Causes for networks in memory and any score: no training data, no classes, no readout."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from probe.analysis.statements import MARGIN
from probe.batch import Value, gather, mapped, tensors, varied
from probe.cut.candidates import suggestions
from probe.cut.cuts import find_each
from probe.cut.interface import CutFacts
from probe.errors import InputError
from probe.model import Model
from probe.modules import check_model, check_values, copied, mode, named_state, unwrapped
from probe.rewinding.blocks import Blocks, Earlier, blocks_of, changed_blocks, rewound
from probe.rewinding.correspondence import Comparison, unrelated
from probe.rewinding.estimates import Position, Study
from probe.rewinding.hybrids import Rewinding, rewind
from probe.rewinding.pairs import deficit_doubt, law_failure, position_of
from probe.rewinding.shapley import EXACT, Floats
from probe.seeding import every_global_stream, stream
from probe.tables.table_file import where
from probe.training.evaluation import batch_size_for
from probe.training.precision import products

if TYPE_CHECKING:
    import pandas as pd

Score = Callable[[nn.Module, Any, Any], Tensor] | Literal["accuracy", "loss"]
"""`score(model, x, y)` returns a number for each of the B examples of a batch, higher is better."""

OUTPUT = "output"
WITHHELD = "withheld"
"""The verdict on a block of networks of which nothing can be said."""

_SAMPLE = 8
_MOST = 256  # examples on which the units of two networks are compared
_ENDS = {"share": "attributed", "broken": "broken", "restored": "restored"}


def causes(
    models: Model | Mapping[int, nn.Module | Mapping[int, nn.Module]],
    test: Sequence[tuple[Value, Value]],
    score: Score = "accuracy",
    features: Sequence[str] | None = None,
    hybrids: int = EXACT,
    batch_size: int | None = None,
    margin: float | None = None,
    long: bool = False,
) -> pd.DataFrame:
    """Measure what the change of each layer did to the earlier tasks.

    Blocks of the network after task j are put back into the last network, alone and together, and
    the result is tested on task j; nothing is trained. `probe.rewinding.hybrids` has the formulas,
    `probe.rewinding.verdicts` the verdicts.

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
        models: Networks of one architecture by number of tasks learned, 1 to T; the last is needed;
            or these by seed. A `Model` says how to call them, for the default score.
        test: The test examples of each of T tasks, (x, y): tensors, tuples or mappings of tensors.
        score: `accuracy` is 1 where the largest logit is that of the class, else 0; `loss` is minus
            the cross-entropy in nats; or a function.
        features: Dotted module names that part the network into blocks; None = a suggested set.
        hybrids: Up to so many sets of blocks all are tested; beyond, those of random orders.
        batch_size: Examples at a time; None = a size that is fast on the device.
        margin: The amount of the score that matters; None = one point of accuracy, and every amount
            of another score, for which no verdict `none` is given then.
        long: Whether to return every quantity at every task position, a row for each.

    Returns:
        A row for each block, over all earlier tasks: its share of what was lost, what its change
        breaks by itself and what putting only it back returns, in units of the score, each with the
        ends of its 95 % interval; and the verdict. `attrs` has what was `lost`, the `scope` of the
        intervals, and the reasons why networks are `withheld`, by number of tasks learned. Or, in
        the long form, the columns of causes.csv.

    Raises:
        InputError: Networks, data and features do not fit each other, or a score is not a finite
            number for each example.

    Warns:
        UserWarning: Nothing can be said of some networks. They are in no mean; where none is left,
            the numbers are NaN and the verdict is `withheld`.
    """
    import pandas as pd

    _check(score, hybrids, margin)
    if not isinstance(test, Sequence):
        raise InputError(f"test must be a list of (x, y), one for each task, got {test!r:.40}")
    model = models if isinstance(models, Model) else Model(models)
    if model.task_aware:
        raise InputError("causes has no task ids: use analyze, or a score that knows the task")
    by_seed = [_checked(networks, len(test)) for networks in _by_seed(model.network)]
    tests = _Tests(model=model, score=score, data=test, batch_size=batch_size)
    runs = [tests.positions(networks, features, hybrids) for networks in by_seed]
    shape = (len(runs), 1)
    positions = {j: Position.stacked([run[j] for run in runs], shape) for j in runs[0]}
    withheld = {j: position.withheld for j, position in positions.items() if position.withheld}
    for j, reason in withheld.items():
        warnings.warn(f"causes withheld after task {j}: {reason}", stacklevel=2)
    study = Study(
        tasks=tests.task_of,
        orders=np.arange(len(test))[None],
        is_accuracy=score == "accuracy",
        margin=(MARGIN if score == "accuracy" else 0.0) if margin is None else margin,
        trainings=len(runs),
    )
    columns = ["feature", "task_position", "quantity", "value", "low", "high", "scope", "verdict"]
    table = pd.DataFrame(study.rows(positions), columns=[*columns, "seeds", "sampling_error"])
    if not long:
        table = _by_block(table, tests.blocks, study.scopes[-1])
    table.attrs["withheld"] = withheld
    return table


def _by_block(table: pd.DataFrame, blocks: Sequence[str], scope: str) -> pd.DataFrame:
    """Return a row for each block, over all earlier tasks."""
    import pandas as pd

    over_all = where(table, task_position=None, scope=scope).set_index("feature")
    shares = over_all[over_all["quantity"] == "attributed"]
    names = pd.Index([*blocks, *shares.index], name="feature").drop_duplicates()
    columns: dict[str, pd.Series] = {}
    for name, quantity in _ENDS.items():
        rows = over_all[over_all["quantity"] == quantity].reindex(names)
        columns |= {name: rows["value"], f"{name}_low": rows["low"], f"{name}_high": rows["high"]}
    columns["verdict"] = shares["verdict"].reindex(names, fill_value=WITHHELD)
    wide = pd.DataFrame(columns).reset_index()
    lost = over_all[over_all["quantity"] == "lost"].reindex([""]).iloc[0]
    wide.attrs["lost"] = tuple(map(float, lost[["value", "low", "high"]]))
    wide.attrs["scope"] = scope
    return wide


@dataclass(kw_only=True, eq=False)
class _Tests:
    """The test examples of all tasks, and the score of networks on them.

    Attributes:
        model: The call of the networks.
        score: The score.
        data: The test examples of each task.
        batch_size: Examples at a time, None = a size that is fast on the device.
        blocks: The names of the blocks, once networks were compared.
    """

    model: Model
    score: Score
    data: Sequence[tuple[Value, Value]]
    batch_size: int | None
    blocks: tuple[str, ...] = ()

    @cached_property
    def task_of(self) -> NDArray[np.int64]:
        """The task of each example, from 0, (N,)."""
        sizes = [len(tensors(x)[0]) for x, _ in self.data]
        return np.repeat(np.arange(len(self.data)), sizes)

    def positions(
        self, networks: Mapping[int, nn.Module], features: Sequence[str] | None, hybrids: int
    ) -> dict[int, Position]:
        """Return the quantities of one training at each earlier task position.

        Args:
            networks: The networks by number of tasks learned.
            features: The features; None = a suggested set.
            hybrids: The number of sets of blocks up to which all are tested.
        """
        T = max(networks)
        last = copied(unwrapped(networks[T])).eval()
        facts = self._facts(last, features)
        blocks = blocks_of(last, facts.values(), "logits" if OUTPUT in facts else OUTPUT)
        self.blocks = tuple(blocks)
        positions = {}
        for j in sorted(networks.keys() - {T}):
            earlier = copied(unwrapped(networks[j])).eval()
            positions[j] = self._position(earlier, last, facts, blocks, j, hybrids)
        return positions

    def _position(
        self,
        earlier: nn.Module,
        last: nn.Module,
        facts: Mapping[str, CutFacts],
        blocks: Blocks,
        j: int,
        hybrids: int,
    ) -> Position:
        """Return the quantities of the network after the task at position j."""
        before = Earlier.of(earlier, last)
        changed = changed_blocks(blocks, before, last)
        result = Rewinding(
            scores=rewind(last, before, blocks, partial(self._scores, last, j), hybrids),
            of_task=self.task_of == j - 1,
            limit=hybrids,
        )
        saved = self._scores(earlier, j)
        outputs = [self._logits(network, j).shape[-1] for network in (earlier, last)]
        # Outputs that have come since compete in a hybrid, and not in the network as it was saved.
        with rewound(last, changed.values(), before, grown=outputs[0] == outputs[1]):
            broken_law = law_failure(saved, self._scores(last, j), before.others)
        comparison = Comparison(
            model=last,
            earlier=earlier,
            before=before,
            changed=changed,
            facts=facts,
            run=partial(self._logits, position=j),
        )
        hidden = [name for name in facts if name in changed]
        chance = 1 / outputs[1] if self.score == "accuracy" else None
        doubt = unrelated(comparison.relations(), hidden) or deficit_doubt(result, chance)
        return position_of(result, self.blocks, saved, broken_law, doubt)

    def _facts(self, last: nn.Module, features: Sequence[str] | None) -> dict[str, CutFacts]:
        """Return the facts on the cuts of the last network, by depth."""
        call = self.model.model_call
        x = _beside(last, varied(self.data[0][0], _SAMPLE))
        if features is None:
            suggested = suggestions(last, x, call)
            features = [name for name, downstream in suggested.items() if downstream]
        cuts = find_each(last, list(features), x, call, "tail")
        facts = sorted((cut.facts for cut in cuts), key=lambda cut: cut.position)
        return {cut.name: cut for cut in facts}

    def _logits(self, network: nn.Module, position: int) -> Tensor:
        """Return a network's logits on some examples of the task at a position."""
        x = _beside(network, varied(self.data[position - 1][0], _MOST))
        with torch.no_grad(), _tested(network):
            return self.model.class_call(network, x)

    def _scores(self, network: nn.Module, position: int, everywhere: bool = False) -> Floats:
        """Return the score of each example, (N,), 0 for examples that are not tested."""
        values = np.zeros(len(self.task_of))
        for k in range(len(self.data)) if everywhere else [position - 1]:
            values[self.task_of == k] = self._task_scores(network, *self.data[k])
        return values

    @torch.no_grad()
    def _task_scores(self, network: nn.Module, x: Value, y: Value) -> Floats:
        """Return the score of each example of a task, (n,)."""
        parts = []
        size = self.batch_size or batch_size_for(x, tensors(x)[0].device)
        with _tested(network):
            for indices in torch.arange(len(tensors(x)[0]), device="cpu").split(size):
                batch, labels = (
                    _beside(network, gather(value, indices.to(tensors(value)[0].device)))
                    for value in (x, y)
                )
                parts.append(self._batch_scores(network, batch, labels, len(indices)))
        return np.concatenate(parts)

    def _batch_scores(self, network: nn.Module, x: Value, y: Value, count: int) -> Floats:
        """Return the score of each example of a batch."""
        labels = cast(Tensor, y)
        if callable(self.score):
            values = self.score(network, x, y)
        elif self.score == "loss":
            logits = self.model.class_call(network, x)
            values = -cross_entropy(logits, labels, reduction="none")
        else:
            values = self.model.class_call(network, x).argmax(1).eq(labels)
        fits = isinstance(values, Tensor) and values.shape == (count,)
        if not fits or not values.isfinite().all():
            raise InputError(
                f"a score must be a tensor of a finite number for each of {count} examples, got "
                f"{type(values).__name__} of shape {tuple(np.shape(values))}"
            )
        return values.double().cpu().numpy()


@contextmanager
def _tested(network: nn.Module) -> Iterator[None]:
    """Put a network into eval mode, in which what it draws is the same in every call."""
    with mode(network, training=False), every_global_stream(stream(0, "rewind")), products("fp32"):
        yield


def _check(score: object, hybrids: object, margin: object) -> None:
    if not callable(score) and score not in ("accuracy", "loss"):
        raise InputError(f"score must be 'accuracy', 'loss' or a function, got {score!r:.40}")
    if type(hybrids) is not int or hybrids < 1:
        raise InputError(f"hybrids must be a whole number of 1 or more, got {hybrids!r:.40}")
    if margin is not None and not (isinstance(margin, int | float) and 0 < margin < math.inf):
        raise InputError(f"margin must be a number above 0 or None, got {margin!r:.40}")


def _by_seed(networks: Any) -> list[Any]:
    """Return the networks of each seed; without seeds there is one."""
    values = networks.values() if isinstance(networks, Mapping) else ()
    if values and all(isinstance(value, Mapping) for value in values):
        if len({frozenset(value) for value in values}) > 1:
            raise InputError("models have networks after other tasks for some seeds: give the same")
        return list(values)
    return [networks]


def _checked(networks: Any, tasks: int) -> Mapping[int, nn.Module]:
    """Return networks by number of tasks learned, without that before any task."""
    if not isinstance(networks, Mapping) or not {tasks} < set(networks) <= set(range(tasks + 1)):
        got = sorted(networks) if isinstance(networks, Mapping) else type(networks).__name__
        raise InputError(
            f"models must map numbers of tasks learned to networks, {tasks} and some earlier ones "
            f"for {tasks} tasks of test data, got {got}"
        )
    last = named_state(unwrapped(networks[tasks])).keys()
    for learned, network in networks.items():
        check_model(network)
        check_values(network)
        if strange := sorted(named_state(unwrapped(network)).keys() - last):
            raise InputError(
                f"the network after {learned} tasks has {strange[0]!r}, which the last network "
                f"lacks: give networks of one architecture"
            )
    return {learned: network for learned, network in networks.items() if learned}


def _beside(network: nn.Module, value: Value) -> Value:
    """Return a value on the device of a network."""
    device = next((p.device for p in network.parameters()), None)
    return mapped(value, lambda t: t.to(device or t.device))
