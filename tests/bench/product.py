"""The product under the same names as the obvious implementation."""

from collections.abc import Sequence

from torch import Tensor, nn

from probe.cut.cuts import split
from probe.examples import Examples, Labeled
from probe.retrain import retrain_each
from probe.retraining import RetrainSettings
from probe.seeding import stream
from probe.training.loop import Objective, Recipe, fit


def sweep(
    model: nn.Module,
    features: Sequence[str],
    train: Examples,
    test: Examples,
    recipe: Recipe,
    seed: int,
) -> dict[str, float]:
    """Return each feature's accuracy on `test` after retraining what is behind it."""
    classes = int(train.y.max()) + 1
    each = retrain_each(
        model, features, train, test, classes, RetrainSettings(recipe=recipe, seed=seed)
    )
    return {one.feature: float((one.predicted == test.y).float().mean()) for one in each}


def losses(
    model: nn.Module, feature: str, data: Examples, recipe: Recipe, seed: int
) -> list[float]:
    """Return the loss of every step of the retraining behind a feature."""
    kept = _Losses()
    cut = split(model, feature, data.x[:64])
    cut.reinitialize(recipe.init, stream(seed, "tail", feature))
    values = Labeled(cut.prefix(data.x), data.y)
    fit(cut.tail, values, recipe, stream(seed, "retrain", feature), kept)
    return [float(loss) for loss in kept.values]


class _Losses(Objective):
    """Cross-entropy that is written down."""

    def __init__(self) -> None:
        self.values: list[Tensor] = []

    def loss(self, model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        loss = super().loss(model, x, y)
        self.values.append(loss.detach())
        return loss
