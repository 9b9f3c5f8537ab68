"""FEL: sparse representations by an expansion layer of fixed weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from pydantic import Field, model_validator
from torch import nn

from probe.training.recipe import RecipeChanges
from scenarios.learners import base
from scenarios.learners.continual import ContinualLearner, ContinualSettings
from scenarios.learners.kemker.expansion import fel_network


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


class FixedExpansion(ContinualLearner):
    """Train its own network on each task as it comes: a dense, an expansion and an output layer.

    Few units of the expansion layer fire in an example, so that few of the weights around it learn
    from it (see `scenarios.learners.kemker.expansion`).

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
        return fel_network(
            shape,
            classes,
            hidden=own.hidden,
            units=own.units,
            connected=own.joined,
            firing=own.fired,
        )
