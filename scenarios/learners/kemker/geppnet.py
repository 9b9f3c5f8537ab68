"""GeppNet: a self-organizing map with a linear readout, and rehearsal of all past data."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from pydantic import Field
from torch import Tensor, nn

from probe.errors import InputError
from probe.examples import Examples, join
from probe.extensions import learner
from probe.tasks import Task
from probe.training.costs import OpsMeter
from scenarios.learners import base
from scenarios.learners.joint import FullRehearsalLearner
from scenarios.learners.kemker.som import OnlineMap, SelfOrganizingMap, decayed, longest_block


class MapSettings(base.Settings):
    """The settings that GeppNet and GeppNet+STM share.

    rows, columns: of the map; base_iterations, iterations: examples learned one by one in the base
    session and in each later one; som_rate: the map's first learning rate; readout_rate: the
    readout's; threshold: an example with a smaller margin is novel (all from Kemker 2018's
    supplement). alone: the part of the base session in which the map learns alone; final_som_rate,
    final_radius: the map's rate and neighbourhood radius after decaying in that part; width: of the
    activity (see `som`). The papers do not give these four; ours were chosen on held-out training
    data of MNIST.
    """

    training: None = None
    rows: int = Field(default=23, ge=1, le=1_000)
    columns: int = Field(default=23, ge=1, le=1_000)
    base_iterations: int = Field(default=80_000, ge=1, le=100_000_000)
    iterations: int = Field(default=20_000, ge=1, le=100_000_000)
    som_rate: float = Field(default=0.1, gt=0, lt=1)
    readout_rate: float = Field(default=1e-3, gt=0, allow_inf_nan=False)
    threshold: float = Field(default=0.5, ge=0, le=1)
    alone: float = Field(default=0.25, gt=0, le=1)
    final_som_rate: float = Field(default=0.01, gt=0, lt=1)
    final_radius: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    width: float = Field(default=0.3, gt=0, allow_inf_nan=False)


@learner("geppnet")
class Geppnet(FullRehearsalLearner):
    """GeppNet, a self-organizing map with a linear readout (Gepperth and Karaoguz 2016).

    The base session trains the map alone, while its learning rate and neighbourhood radius decay
    from `som_rate` and half of the lattice's longer side to their final values, then map and
    readout together. In later sessions an example changes both if it is novel: if the output of its
    label does not exceed all others by `threshold`. All examples of all sessions are stored; each
    iteration draws one, with replacement, uniformly among all stored and new ones.

    It has no recipe: its settings replace the study's optimizer, learning rate, schedule, decay,
    clipping, epochs and batch size.

    Features: `som`, the activity of the map's units; `output`, the readout. Partial retraining
    downstream of `som` trains the readout by the study's recipe, with cross-entropy.

    Source: Kemker 2018 and its supplement, and the abstract of Gepperth and Karaoguz 2016. Ours, as
    Kemker 2018 does not give them: the activity, the decay of rate and radius, the novelty of every
    wrong prediction, a base session that learns every example, and the mixing of stored and new
    ones. Storing all data agrees with table 2: 190.08 MB on MNIST are 60,000 images and labels, the
    map and the readout at 4 bytes a number; our labels take 8 bytes.
    """

    settings_class: ClassVar[type[base.Settings]] = MapSettings
    settings: MapSettings
    own_features = ("som", "output")

    @classmethod
    def network(cls, settings: Any, shape: Sequence[int], classes: int, tasks: int) -> nn.Module:
        inputs = torch.Size(shape).numel()
        som = SelfOrganizingMap(inputs, settings.rows, settings.columns, settings.width)
        output = nn.Linear(settings.rows * settings.columns, classes)
        return nn.Sequential(OrderedDict(som=som, output=output))

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        own, network = self.settings, OnlineMap(self.model, self.settings.readout_rate, meter)
        session = self.later_session if self.learned else self._base_session
        # Rate and radius decay in the base session, and stay.
        session(network, data, network.shares(own.final_som_rate, own.final_radius))
        # Once a session, as NaN and Inf stay.
        if not all(torch.isfinite(p).all() for p in self.model.parameters()):
            raise InputError(
                f"training diverged: the map or its readout is not finite; raise final_radius "
                f"({own.final_radius:g}) or width ({own.width:g}), lower readout_rate "
                f"({own.readout_rate:g}), or scale the inputs down, whichever is extreme"
            )

    def later_session(self, network: OnlineMap, data: Examples, shares: Tensor) -> None:
        """Learn the novel ones among draws from the stored and the session's examples.

        shares: (U, U), see `OnlineMap.shares`.
        """
        own = self.settings
        for x, y in self.draws(data, own.iterations, longest_block(own.final_som_rate)):
            network.learn(x, y, shares, own.threshold)

    def draws(self, data: Examples, iterations: int, block: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield inputs (B, D) and labels (B,) drawn from the stored and the new examples.

        iterations: the examples in all; block: the largest B.
        """
        every = join([*self.past, data])
        drawn = torch.randint(len(every), (iterations,), generator=self.stream("draws"))
        for some in drawn.to(data.y.device).split(block):
            taken = every.take(some)
            yield taken.x.flatten(1), taken.y

    def _base_session(self, network: OnlineMap, data: Examples, shares: Tensor) -> None:
        own = self.settings
        alone, done = max(1, round(own.alone * own.base_iterations)), 0
        radius = max(own.rows, own.columns) / 2
        block = longest_block(max(own.som_rate, own.final_som_rate))
        for x, y in self.draws(data, own.base_iterations, block):
            # A block may begin with the map alone and end with both layers.
            first = max(0, min(len(y), alone - done))
            parts = [k / alone for k in range(done, done + first)]
            rates = [decayed(own.som_rate, own.final_som_rate, part) for part in parts]
            radii = [decayed(radius, own.final_radius, part) for part in parts]
            network.organize(x[:first], rates, radii)
            network.learn(x[first:], y[first:], shares)
            done += len(y)
