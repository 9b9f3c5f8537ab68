"""FEL: sparse representations by a fixed expansion layer, in which few units fire."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from probe.extensions import learner
from probe.training.recipe import RecipeChanges
from probe.validation import Share
from scenarios.learners.continual import ContinualLearner, ContinualSettings

_SUPPLEMENT = RecipeChanges(
    batch_size=256,
    optimizer="adam",
    learning_rate=2e-2,
)


class FelSettings(ContinualSettings):
    """The settings of the FEL network and its training.

    The papers give neither `connected` nor `firing`; ours were chosen among .01 to .5
    and .005 to .4 on held-out training data of MNIST. `connected` matters little. The
    fewer units fire, the less of the base set is forgotten, but at .005 later sessions
    are learned less well.

    Attributes:
        hidden: The number of units of the dense layer (Kemker 2018: 400).
        units: The number of units of the expansion layer (Kemker 2018: 2,000 on
            AudioSet and, judging by the size in table 2, on MNIST; 1,200 on CUB-200 and
            on two modalities).
        connected: The share of the hidden units that each expansion unit is connected
            to.
        firing: The share of the expansion units that fire in each example.
        activation: The activation of the hidden units (not given in Kemker 2018).
        training: The changes to the study's recipe; by default the supplement's batch
            size, optimizer and learning rate.
    """

    hidden: int = Field(
        default=400,
        ge=2,
        le=10_000,
    )
    units: int = Field(
        default=2000,
        ge=2,
        le=100_000,
    )
    connected: Share = 0.1
    firing: Share = 0.01
    activation: Literal["relu", "tanh", "sigmoid"] = "relu"
    training: RecipeChanges | None = _SUPPLEMENT

    @property
    def joined(self) -> int:
        """The number of hidden units that each expansion unit is connected to."""
        return round(self.connected * self.hidden)

    @property
    def fired(self) -> int:
        """The number of expansion units that fire in each example."""
        return round(self.firing * self.units)

    @model_validator(mode="after")
    def _enough(self) -> Self:
        """Raise ValueError if fewer than two units are connected, or fire."""
        for product, count in (
            ("connected x hidden", self.joined),
            ("firing x units", self.fired),
        ):
            if count < 2:
                raise ValueError(
                    f"{product} is {count}, expected 2 or more: raise one of them"
                )
        return self


_ACTIVATIONS = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
}


@learner("fel")
class FixedExpansion(ContinualLearner):
    """Fixed expansion layer (Coop, Mishtal and Arel 2013).

    The network has a dense, an expansion and an output layer, and is fine-tuned on each
    task. Few expansion units fire for an example, so that few of the weights around
    them learn from it (see `Expansion`).

    Features: `hidden`, the dense layer's units after their activation; `fel`, the
    expansion layer's outputs, 0 but for the firing units; `output`. Partial retraining
    downstream of `hidden` redraws the fixed weights, too.

    Source: also Kemker 2018 and its supplement. Deviation: training takes the recipe's
    epochs unless that has `patience`; Kemker stops early, by the test data.
    """

    settings_class = FelSettings
    own_features = ("hidden", "fel", "output")

    @classmethod
    def network(
        cls, settings: Any, shape: Sequence[int], classes: int, tasks: int
    ) -> nn.Module:
        """Build the network: a dense, an expansion and an output layer."""
        dense = nn.Linear(torch.Size(shape).numel(), settings.hidden)
        activation = _ACTIVATIONS[settings.activation]()
        hidden = nn.Sequential(nn.Flatten(), dense, activation)
        fel = Expansion(
            inputs=settings.hidden,
            units=settings.units,
            connected=settings.joined,
            firing=settings.fired,
        )
        output = nn.Linear(settings.units, classes)
        return nn.Sequential(
            OrderedDict(
                hidden=hidden,
                fel=fel,
                output=output,
            )
        )


class Expansion(nn.Module):
    """A layer of fixed random weights in which only the few strongest units fire.

    Each of the U units is connected to `connected` of the D inputs, drawn at random:
    half of these connections excite it (weight +w), half inhibit it (-w; one less if
    their number is odd), w = connected^-1/2. Its excitation is the weighted sum of its
    inputs. In every example `firing` units fire: the most excited half gives 1, the
    most inhibited half -1 (one less if their number is odd), all others 0. Units of
    equal excitation are ranked by number, lower first, so that equally many fire if all
    inputs are 0.

    A gradient passes through the firing units as if their output were their excitation
    (straight through), and not through the others. The weights are a buffer, which
    training does not change and `reset_parameters` draws from torch's global generator.

    `weight` is (U, D); `connected` is 2 to D, and `firing` 2 to U.

    Source: Coop, Mishtal and Arel 2013 (connections, firing) as Kemker 2018 describes
    it; the constant outputs are the "binary activations" in the abstract of Coop and
    Arel 2012. w and the straight-through gradient are ours, as the papers at hand do
    not give them.

    >>> layer = Expansion(inputs=6, units=10, connected=4, firing=4)
    >>> layer.reset_parameters()
    >>> layer(torch.rand(3, 6)).abs().sum(1)
    tensor([4., 4., 4.])
    """

    weight: Tensor

    def __init__(self, inputs: int, units: int, connected: int, firing: int) -> None:
        super().__init__()
        self.connected = connected
        self.firing = firing
        self.register_buffer("weight", torch.zeros(units, inputs))

    def reset_parameters(self) -> None:
        """Redraw the connections."""
        # The first of a random order, so that none is drawn twice.
        drawn = torch.rand(self.weight.shape).argsort(1)[:, : self.connected]
        excites = torch.arange(self.connected) < (self.connected + 1) // 2
        signs = torch.where(excites, 1.0, -1.0)
        values = (signs * self.connected**-0.5).expand(len(drawn), -1)
        weight = torch.zeros(self.weight.shape).scatter(1, drawn, values)
        with torch.no_grad():
            self.weight.copy_(weight)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, D) to the outputs (B, U) of the units: -1, 0 or 1."""
        excitation = functional.linear(x, self.weight)
        signs = self.signs(excitation.detach())
        # The difference is 0, with the gradient of the excitation.
        return signs.detach() + signs.abs() * (excitation - excitation.detach())

    def signs(self, excitation: Tensor) -> Tensor:
        """Return 1 for the most excited units (B, U), -1 for the most inhibited, 0 for others."""
        inhibited = self.firing // 2
        top = _first(excitation, self.firing - inhibited)
        # Flipped, so that of equally inhibited units the last fire.
        bottom = _first(-excitation.flip(1), inhibited).flip(1)
        return top.to(excitation.dtype) - bottom.to(excitation.dtype)


def _first(values: Tensor, count: int) -> Tensor:
    """Mark the `count` largest values of each row, of equal ones the first: (B, U) bool."""
    # A stable sort takes three times as long.
    least = values.topk(count, dim=1).values[:, -1:]
    above = values > least
    equal = values == least
    n_equal = count - above.sum(1, keepdim=True)
    return above | (equal & (equal.cumsum(1) <= n_equal))
