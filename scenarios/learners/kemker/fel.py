"""FEL: sparse representations by a fixed expansion layer, of many units of which a few fire."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, cast

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from probe.errors import InputError
from probe.training.recipe import RecipeChanges
from scenarios.learners import base
from scenarios.learners.catalog import learner
from scenarios.learners.continual import ContinualLearner, ContinualSettings


class FelSettings(ContinualSettings):
    """The FEL network and how it is trained.

    hidden, units: of the dense layer and of the expansion layer (400 and 2,000 are Kemker 2018's on
    AudioSet and, by the size in table 2, on MNIST; 1,200 units on CUB-200 and on two modalities);
    connected: the share of the hidden units that each unit of the expansion layer is joined to;
    firing: the share of those units that fire in each example. Both are not in the papers; ours
    were chosen among .01 to .5 and .005 to .4 on training data of MNIST that were held out, in
    short runs of both experiments: how many are connected matters little; with fewer firing less
    of the base set is forgotten, but at .005 sessions are learned less well. training: by default
    with the supplement's batch size, optimizer and learning rate.
    """

    kind: Literal["fel"] = "fel"
    hidden: int = Field(default=400, ge=2, le=10_000)
    units: int = Field(default=2000, ge=2, le=100_000)
    connected: float = Field(default=0.1, gt=0, le=1)
    firing: float = Field(default=0.01, gt=0, le=1)
    training: RecipeChanges | None = RecipeChanges(
        batch_size=256, optimizer="adam", learning_rate=2e-2
    )

    @property
    def joined(self) -> int:
        """The hidden units that each unit of the expansion layer is joined to."""
        return round(self.connected * self.hidden)

    @property
    def fired(self) -> int:
        """The units of the expansion layer that fire in each example."""
        return round(self.firing * self.units)

    @model_validator(mode="after")
    def _enough(self) -> FelSettings:
        for share, whole, count in (
            ("connected", "hidden", self.joined),
            ("firing", "units", self.fired),
        ):
            if count < 2:
                raise ValueError(
                    f"{share} x {whole} is {getattr(self, share):g} x {getattr(self, whole)}, "
                    f"which is {count} units, expected 2 or more: raise {share} or {whole}"
                )
        return self


@learner("fel")
class FixedExpansion(ContinualLearner):
    """Train its own network on each task as it comes: a dense, an expansion and an output layer.

    Few units of the expansion layer fire in an example, so that few of the weights around it learn
    from it (see `Expansion`).

    Features: `hidden`, the dense layer's units after ReLU; `fel`, the outputs of the expansion
    layer, of which all but the firing ones are 0; `output`. Partial retraining behind `hidden`
    draws the fixed weights anew too.

    Source: Coop, Mishtal & Arel 2013; Kemker 2018 and its supplement. Deviation: trained for the
    recipe's epochs, where Kemker stops early.
    """

    settings_class = FelSettings
    own_features = ("hidden", "fel", "output")

    @classmethod
    def network(
        cls, settings: base.Settings, shape: Sequence[int], classes: int, tasks: int
    ) -> nn.Module:
        own = cast(FelSettings, settings)
        dense = nn.Linear(int(torch.Size(shape).numel()), own.hidden)
        hidden = nn.Sequential(nn.Flatten(), dense, nn.ReLU())
        fel = Expansion(own.hidden, own.units, connected=own.joined, firing=own.fired)
        output = nn.Linear(own.units, classes)
        return nn.Sequential(OrderedDict(hidden=hidden, fel=fel, output=output))


class Expansion(nn.Module):
    """A layer of fixed random weights whose few strongest units alone fire.

    Each of the U units is joined to `connected` of the D inputs, drawn at random: half of these
    connections excite it (weight +w), half inhibit it (-w; one less if their number is odd),
    w = connected^-1/2. A unit's excitation is the weighted sum of its inputs. In every example
    `firing` units fire: the half that is most excited gives 1, the half that is most inhibited -1
    (one less if their number is odd), all others 0. Units are ranked by excitation and, where that
    is the same, by their number, lower first; those at either end of the ranking fire. So as many
    fire where all inputs are 0: the first and the last by number.

    A gradient passes through the units that fire as if their output were their excitation
    (straight through), and does not pass through the others. The weights are a buffer: training
    leaves them alone, `reset_parameters` draws them from torch's global generator.

    weight: (U, D). Raises InputError unless 2 to D are connected and 2 to U fire.

    Source: Coop, Mishtal & Arel 2013 (connections, firing) as Kemker 2018 describes it; constant
    outputs: the "binary activations" in the abstract of Coop & Arel 2012. Not in the papers that we
    have, ours: w, the straight-through gradient.

    >>> layer = Expansion(inputs=6, units=10, connected=4, firing=4)
    >>> layer.reset_parameters()
    >>> layer(torch.rand(3, 6)).abs().sum(1)
    tensor([4., 4., 4.])
    """

    weight: Tensor

    def __init__(self, inputs: int, units: int, connected: int, firing: int) -> None:
        super().__init__()
        for what, count, most in (("connected", connected, inputs), ("firing", firing, units)):
            if not 2 <= count <= most:
                raise InputError(
                    f"an expansion layer of {units} units on {inputs} inputs must have from 2 to "
                    f"{most} {what}, got {count}: change that share or the layer's size"
                )
        self.connected, self.firing = connected, firing
        self.register_buffer("weight", torch.zeros(units, inputs))

    def reset_parameters(self) -> None:
        """Draw the connections anew."""
        # The first of a random order of the inputs: none is drawn twice.
        drawn = torch.rand(self.weight.shape).argsort(1)[:, : self.connected]
        signs = torch.ones(self.connected)
        signs[-(self.connected // 2) :] = -1
        values = (signs * self.connected**-0.5).expand(len(drawn), -1)
        with torch.no_grad():
            self.weight.copy_(torch.zeros(self.weight.shape).scatter(1, drawn, values))

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs (B, D) to the outputs (B, U) of the units: -1, 0 or 1."""
        excitation = functional.linear(x, self.weight)
        signs = self.signs(excitation.detach())
        # The difference is 0, but the gradient of the excitation.
        return signs.detach() + signs.abs() * (excitation - excitation.detach())

    def signs(self, excitation: Tensor) -> Tensor:
        """Return 1 for the most excited units, -1 for the most inhibited, 0 for others: (B, U).

        excitation: (B, U).
        """
        inhibited = self.firing // 2
        top = _first(excitation, self.firing - inhibited)
        # Flipped, so that of equally inhibited units the last fire.
        bottom = _first(-excitation.flip(1), inhibited).flip(1)
        return top.to(excitation.dtype) - bottom.to(excitation.dtype)


def _first(values: Tensor, count: int) -> Tensor:
    """Return which are the `count` largest of each row, of equal ones the first: (B, U) bool."""
    # A stable sort takes three times as long.
    least = values.topk(count, dim=1).values[:, -1:]
    above, level = values > least, values == least
    left = count - above.sum(1, keepdim=True)
    return above | (level & (level.cumsum(1) <= left))
