"""Correspondence: whether a unit of an earlier network is the same unit in the last one.

The score of a network with some blocks of another says something of these blocks only
if their units correspond. They do in networks of one training, but not if a network was
trained from scratch, merged, or had its units renumbered.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise

import torch
from torch import Tensor, nn

from probe.batch import Named
from probe.cut.interface import CutFacts, TensorFacts
from probe.cut.model_call import without_fast_path
from probe.immutable import immutable
from probe.modules import layer, tap, tensors_in
from probe.rewinding.blocks import Change

OUTPUT = ""
"""The name of the network's output among its units."""

_MOST_UNITS = 256
_CONSTANT = 1e-6  # the largest standard deviation of a unit that counts as constant
_MOST_SAMPLES = 4_096
RATIO = 0.3
"""The least correlation of units with themselves, as a share of that of the best
assignment, at which they have kept their places."""

_BETTER = 0.3  # by which an order of units must improve the outputs of the next block


@immutable
class Relation:
    """Relation of the units of a block to those of the earlier network, on the same inputs.

    Attributes:
        itself: The mean correlation over examples of a unit with itself.
        best: The mean correlation of units in the best assignment.
        renumbered: 1 if one order of the units improves both the block's outputs and
            those of the next block, else 0.
    """

    itself: float
    best: float
    renumbered: float = 0.0

    @property
    def ratio(self) -> float:
        """The correlation of units with themselves, as a share of the best."""
        return self.itself / self.best if self.best > 0 else 1.0

    @property
    def is_unrelated(self) -> bool:
        """Whether units have not kept their places."""
        return self.ratio < RATIO


Relations = Mapping[str, Relation]
"""The relation of each hidden block whose units could be compared, by depth."""


def relation_values(relations: Relations) -> dict[str, float]:
    """Return relations as numbers by name; `relations_in` is the inverse.

    >>> values = relation_values({"conv1": Relation(itself=0.1, best=0.5)})
    >>> relations_in(values)
    {'conv1': Relation(itself=0.1, best=0.5, renumbered=0.0)}
    """
    values: dict[str, float] = {}
    for feature, relation in relations.items():
        for name, value in asdict(relation).items():
            values[f"{name}.{feature}"] = float(value)
    return values


def relations_in(values: Mapping[str, float]) -> dict[str, Relation]:
    """Return the relations among numbers by name."""
    by_feature: dict[str, dict[str, float]] = {}
    for key, value in values.items():
        name, _, feature = key.partition(".")
        if name in Relation.__dataclass_fields__:
            by_feature.setdefault(feature, {})[name] = value
    return {
        feature: Relation(**of_feature) for feature, of_feature in by_feature.items()
    }


def correspondence_doubt(relations: Relations, hidden: Sequence[str]) -> str:
    """Return why two networks do not correspond, empty if they do.

    They do not if the units of two blocks in a row, or of all hidden blocks, are
    unrelated, or if units were renumbered. A single block whose units are unrelated was
    replaced, which is part of what changed.

    Args:
        relations: The relations of the blocks.
        hidden: The hidden blocks that have changed, by depth.

    >>> scratch, same = Relation(itself=0.0, best=0.5), Relation(itself=0.8, best=0.8)
    >>> correspondence_doubt({"a": scratch, "b": same}, ["a", "b"])
    ''
    >>> correspondence_doubt({"a": scratch, "b": scratch, "c": same}, ["a", "b", "c"])
    'units of a (0.00 of 0.50), b (0.00 of 0.50) do not correspond: another training or order'
    """
    present = {name: relations[name] for name in hidden if name in relations}
    failing = [name in present and present[name].is_unrelated for name in hidden]
    in_a_row = any(first and second for first, second in pairwise(failing))
    renumbered = any(relation.renumbered > 0 for relation in present.values())
    all_fail = len(hidden) > 1 and all(failing)
    if not (renumbered or in_a_row or all_fail):
        return ""
    scores = [
        f"{name} ({relation.itself:.2f} of {relation.best:.2f})"
        for name, relation in present.items()
        if relation.is_unrelated
    ]
    return f"units of {', '.join(scores)} do not correspond: another training or order"


@immutable(eq=False)
class Comparison:
    """The comparison of the units of two networks, block by block, by forward passes.

    A block of the last network gets the same inputs as in the earlier network.

    Attributes:
        change: The two networks, and the blocks.
        facts: The facts on the cut at each hidden feature, by depth.
        run: Function that calls a network in eval mode on examples of the earlier task,
            and returns its logits.
    """

    change: Change
    facts: Mapping[str, CutFacts]
    run: Callable[[nn.Module], Tensor]

    def relations(self) -> dict[str, Relation]:
        """Return the relation of each hidden block that has changed, if its units have an axis."""
        features = list(self.facts)
        reference = self._units(self.change.earlier, features)
        relations: dict[str, Relation] = {}
        for depth, feature in enumerate(features):
            if feature not in self.change.changed or feature not in reference:
                continue
            earlier = reference[feature]
            units = self._after(features[:depth], feature).get(feature)
            if units is None or units.shape != earlier.shape:
                continue
            relation, order = _relation(earlier, units)
            handed = reference.get([OUTPUT, *features][depth])
            if depth and handed is not None and handed.shape == units.shape:
                # A residual block hands on its input, whatever its weights: what it adds
                # is compared.
                added, order_added = _relation(earlier - handed, units - handed)
                if added.ratio < relation.ratio:
                    relation = added
                    order = order_added
            following = [*features, OUTPUT][depth + 1]
            if relation.is_unrelated and following in reference:
                improves = self._improves(
                    order, features[: depth + 1], following, reference
                )
                relation = replace(relation, renumbered=float(improves))
            relations[feature] = relation
        return relations

    def _improves(
        self,
        order: Tensor,
        put_back: Sequence[str],
        following: str,
        reference: Named,
    ) -> bool:
        """Return whether the next block does better with the units of a block in another order.

        order: for each unit of the earlier network the unit of the last one, (U,).
        """
        module = layer(self.change.last, put_back[-1].partition("#")[0])
        tensor = self.facts[put_back[-1]].value[0]
        as_it_is = self._after(put_back, following).get(following)

        def reordered(module: nn.Module, inputs: object, output: object) -> object:
            if not isinstance(output, Tensor):
                return output
            dim = _unit_dim(tensor, output.dim())
            if dim is None or output.shape[dim] != len(order):
                return output
            return output.index_select(dim, order.argsort())

        with module.register_forward_hook(reordered):
            in_order = self._after(put_back, following).get(following)
        expected = reference[following]
        if as_it_is is None or in_order is None or as_it_is.shape != expected.shape:
            return False
        before = _agreement(correlations(expected, as_it_is))
        after = _agreement(correlations(expected, in_order))
        return after > before + _BETTER

    def _after(self, put_back: Sequence[str], feature: str) -> Named:
        """Return the units of a feature with blocks of the earlier network put back."""
        change = self.change
        with change.rewound(filter(change.changed.__contains__, put_back)):
            return self._units(change.last, [feature] if feature != OUTPUT else [])

    def _units(
        self,
        model: nn.Module,
        features: Sequence[str],
    ) -> Named:
        """Return the units of features, (M, U), and of the output."""
        outputs: dict[str, list[list[Tensor]]] = {}
        modules = [name.partition("#")[0] for name in features]

        def keep(name: str, value: object) -> None:
            # An in-place operation may overwrite a value later.
            copies = [tensor.detach().clone() for tensor in tensors_in(value)]
            outputs.setdefault(name, []).append(copies)

        with without_fast_path(), tap(model, {*modules}, keep):
            logits = self.run(model)
        units = {OUTPUT: _rows(logits)}
        for feature, name in zip(features, modules, strict=True):
            _, _, number = feature.partition("#")
            call = int(number or 1)
            runs = outputs.get(name, [])
            # A module may run less often in another batch.
            tensors = runs[call - 1] if call <= len(runs) else []
            facts = self.facts[feature].value
            is_whole = len(tensors) == len(facts)
            if not is_whole and isinstance(layer(model, name), nn.RNNBase):
                # It returns its last state, too, which nothing may read.
                is_whole = bool(facts) and tensors[0].dim() == len(facts[0].shape)
            if tensors and is_whole:
                rows = by_unit(tensors[0], facts[0])
                if rows is not None:
                    units[feature] = rows
        return units


def by_unit(value: Tensor, facts: TensorFacts) -> Tensor | None:
    """Return the values of a feature by unit, (M, U): a row for each example and position.

    Args:
        value: The value.
        facts: The facts on it.

    Returns:
        The values; None if no axis of units is known.
    """
    dim = _unit_dim(facts, value.dim())
    if dim is None or not value.is_floating_point():
        return None
    return _rows(value.movedim(dim, -1))


def _rows(value: Tensor) -> Tensor:
    """Return values whose last dimension is units as (M, U): the same rows of every network."""
    rows = value.detach().flatten(0, -2)[:, :_MOST_UNITS].float()
    return rows[:: max(1, len(rows) // _MOST_SAMPLES)]


def _unit_dim(facts: TensorFacts, dims: int) -> int | None:
    """Return the dimension of the units in a value of some dimensions, None if it is unknown."""
    if dims == 2:
        return 1 if facts.dim == 0 else None
    if facts.axis is None:
        return None
    return 1 if facts.axis == "first" else dims - 1


def correlations(first: Tensor, second: Tensor) -> Tensor:
    """Return the correlations of the units of two values over their rows, (U, U).

    A unit that is constant, or not finite, has 0.

    Args:
        first: The first value, (M, U).
        second: The second value, (M, U).
    """
    table = _standard(first).T @ _standard(second) / len(first)
    return table.nan_to_num(0, 0, 0)


def _standard(value: Tensor) -> Tensor:
    spread = value.std(0, correction=0)
    apart = (value - value.mean(0)) / spread.clamp(min=_CONSTANT)
    return apart * (spread > _CONSTANT)


def _agreement(table: Tensor, order: Tensor | None = None) -> float:
    """Return the mean correlation of units in an order, at least 0, without constant ones."""
    varies = table.abs().amax(1) > 0
    if order is not None:
        table = table[:, order]
    values = table.diagonal()[varies]
    return float(values.mean().nan_to_num().clamp(min=0))


def _relation(earlier: Tensor, later: Tensor) -> tuple[Relation, Tensor]:
    """Return the relation of units, (M, U), and their best order, (U,)."""
    table = correlations(earlier, later)
    order = _best_order(table)
    return Relation(itself=_agreement(table), best=_agreement(table, order)), order


def _best_order(table: Tensor) -> Tensor:
    """Return for each row its column in the best assignment."""
    from scipy.optimize import linear_sum_assignment

    columns = linear_sum_assignment(table.cpu().numpy(), maximize=True)[1]
    return torch.as_tensor(columns, device=table.device)
