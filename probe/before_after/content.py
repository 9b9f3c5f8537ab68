"""Content: how well a linear readout of each block tells the classes, before and after."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import numpy as np
from torch import Tensor, nn

from probe.analysis.intervals import Estimate
from probe.arrays import Floats
from probe.batch import Value, varied
from probe.before_after.data import Stored, joined
from probe.before_after.fitting import with_fresh_values, with_new_statistics
from probe.before_after.networks import TwoModels
from probe.before_after.ranking import interval
from probe.cut.cuts import Cuts, cut_each
from probe.immutable import immutable
from probe.modules import named_state
from probe.readouts.matrix import feature_matrices
from probe.readouts.readout import Linear, read
from probe.rewinding.scoring import Pair, on_device_of
from probe.training.fresh_weights import without_rule

SAMPLE = 8
"""Examples on which a network is cut."""


@immutable
class Content:
    """The accuracy of a linear readout of a block, fitted to the stored examples.

    Attributes:
        block: The feature at the end of the block.
        examples: The test examples, `old` or `new`.
        before: The accuracy in the network before.
        after: The accuracy in the network after.
        change: The accuracy after minus before, on the same examples.
        untrained: The accuracy in a network with fresh weights; None if no rule makes
            them, see `probe.training.fresh_weights.without_rule`.
    """

    block: str
    examples: str
    before: Estimate
    after: Estimate
    change: Estimate
    untrained: Estimate | None


def contents(
    models: TwoModels,
    features: Sequence[str],
    stored: Stored,
    tests: Mapping[str, Pair],
    seed: int,
) -> Iterator[Content]:
    """Read out each feature of two networks.

    Args:
        models: The networks, and their call.
        features: The features.
        stored: The training examples of the readouts, all of them.
        tests: The test examples, `old` and perhaps `new`.
        seed: The seed of the fresh weights.
    """
    train = _on_device(models.after, joined(stored.sets))
    tests = {name: _on_device(models.after, pair) for name, pair in tests.items()}
    sample = varied(train[0], SAMPLE)
    model = models.model
    right = []
    untrained_networks = _untrained_network(models, train[0], seed)
    for network in (models.before, models.after, *untrained_networks):
        cuts = cut_each(
            network, features, sample, model.output, model.call, tails=False
        )
        right.append(_right_answers(cuts, train, tests))
    right_before, right_after, *right_untrained = right
    for feature in features:
        for name in tests:
            first = right_before[feature, name]
            last = right_after[feature, name]
            untrained = None
            for of_untrained in right_untrained:
                fresh = of_untrained[feature, name]
                untrained = interval(fresh, is_accuracy=True, least=0.0)
            yield Content(
                block=feature,
                examples=name,
                before=interval(first, is_accuracy=True, least=0.0),
                after=interval(last, is_accuracy=True, least=0.0),
                change=interval(last - first, is_accuracy=True),
                untrained=untrained,
            )


def _on_device(network: nn.Module, pair: Pair) -> Pair:
    """Return examples on the device of a network."""
    x, y = pair
    return on_device_of(network, x), cast(Tensor, on_device_of(network, y))


def _untrained_network(models: TwoModels, x: Value, seed: int) -> list[nn.Module]:
    """Return the network after with fresh weights, none if no rule writes some of them."""
    if without_rule(models.after, "torch"):
        return []
    names = named_state(models.after).keys()
    network = with_fresh_values(models.after, names, seed)
    # Initial statistics, which come from no data, would make the control too low.
    return [with_new_statistics(network, x, models.model.model_call)]


def _right_answers(
    cuts: Cuts, train: Pair, tests: Mapping[str, Pair]
) -> dict[tuple[str, str], Floats]:
    """Return whether each test example is read out rightly, (n,), by feature and examples."""
    readout = Linear()
    x, y = train
    classes = 1 + max(int(labels.max()) for _, labels in (train, *tests.values()))
    train_rows = feature_matrices(cuts, x, pooling=readout.pooling)
    right: dict[tuple[str, str], Floats] = {}
    for name, (test_x, test_y) in tests.items():
        test_rows = feature_matrices(cuts, test_x, pooling=readout.pooling)
        for feature, (rows, _) in test_rows.items():
            result = read(readout, train_rows[feature][0], y, rows, classes)
            is_right = result.predicted.eq(test_y.cpu())
            right[feature, name] = np.asarray(is_right.double())
    return right
