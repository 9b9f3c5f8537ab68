"""GeppNet: a self-organizing map with a linear read-out, which rehearses all it was ever given."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn

from probe.errors import InputError
from probe.examples import Examples
from probe.tasks import Task
from probe.training.costs import OpsMeter
from scenarios.learners import base
from scenarios.learners.catalog import learner
from scenarios.learners.joint import FullRehearsalLearner
from scenarios.learners.kemker.online_map import OnlineMap, decayed
from scenarios.learners.kemker.som import SelfOrganizingMap, longest_block


class MapSettings(base.Settings):
    """The settings that GeppNet and GeppNet+STM share.

    rows, columns: of the map; base_iterations, iterations: examples learned one after the other in
    the base session and in each later one; som_rate: the map's learning rate at the start;
    readout_rate: that of the read-out; threshold: an example is novel if its margin is below
    (these are Kemker 2018's supplement). alone: the part of the base session in which the map
    learns alone; final_som_rate, final_radius: what the map's rate and neighbourhood radius decay
    to in that part, and keep; width: of the activity (see `som`). The papers do not give these
    four; ours were chosen on MNIST, on training data held out.
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


class GeppnetSettings(MapSettings):
    """Those of `MapSettings`."""

    kind: Literal["geppnet"] = "geppnet"


@learner("geppnet")
class Geppnet(FullRehearsalLearner):
    """Learn one example at a time, in later sessions those alone that are novel, and store all.

    The base session trains the map alone, while its learning rate and neighbourhood radius decay
    from `som_rate` and half of the lattice's longer side to their final values, and then the map
    and the read-out together. In later sessions an example changes both if it is novel: if the
    output of its label is not above all others by at least `threshold`, so that the prediction is
    wrong or the difference between its two largest outputs is small. All examples of all sessions
    are stored; each iteration draws one, with replacement and with equal probability among all
    stored and all new ones.

    It learns by no recipe: the rates and numbers of its settings take the place of the study's
    optimizer, learning rate, schedule, decay, clipping, epochs and batch size.

    Features: `som`, the activity of the map's units; `output`, the read-out. Partial retraining
    behind `som` trains the read-out by the study's recipe, with cross-entropy, on the activity of
    a map that stays as it is.

    Source: Kemker 2018 and its supplement, after Gepperth & Karaoguz 2016, of which we had the
    abstract alone. Not in Kemker 2018, and ours: the activity, how rate and radius decay, that a
    wrong prediction is novel whatever the outputs, that the base session learns every example, and
    how stored and new ones are mixed. That all data are stored is also what its table 2 says:
    190.08 MB on MNIST are 60,000 images and labels, the map and the read-out at 4 bytes a number;
    our labels take 8 bytes.
    """

    settings_class: ClassVar[type[base.Settings]] = GeppnetSettings
    settings: MapSettings
    own_features = ("som", "output")

    @classmethod
    def network(
        cls, settings: base.Settings, shape: Sequence[int], classes: int, tasks: int
    ) -> nn.Module:
        own = cast(MapSettings, settings)
        inputs = torch.Size(shape).numel()
        som = SelfOrganizingMap(inputs, own.rows, own.columns, own.width)
        output = nn.Linear(own.rows * own.columns, classes)
        return nn.Sequential(OrderedDict(som=som, output=output))

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        som = cast(SelfOrganizingMap, self.model.get_submodule("som"))
        output = cast(nn.Linear, self.model.get_submodule("output"))
        network = OnlineMap(som, output, self.settings.readout_rate, meter)
        session = self.later_session if self.learned else self._base_session
        session(network, data)
        # Once a session: NaN and Inf do not go away again.
        self._check_finite(som, output)

    def later_session(self, network: OnlineMap, data: Examples) -> None:
        """Learn the novel ones among draws from the stored and the new examples.

        data: the session's own, x (N, ...) and y (N,).
        """
        own = self.settings
        # Rate and radius have decayed in the base session, and stay.
        shares = network.shares(own.final_som_rate, own.final_radius)
        for x, y in self.draws(data, own.iterations, longest_block(own.final_som_rate)):
            network.learn(x, y, shares, own.threshold)

    def draws(self, data: Examples, iterations: int, block: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield, in blocks, examples drawn from the stored and the new ones: (B, D), labels (B,).

        iterations: how many in all; block: the most B.
        """
        parts = [*self.past, data]
        total = sum(map(len, parts))
        drawn = torch.randint(total, (iterations,), generator=self.stream("draws"))
        for some in drawn.to(data.y.device).split(block):
            taken = _take(parts, some)
            yield taken.x.flatten(1), taken.y

    def _check_finite(self, som: SelfOrganizingMap, output: nn.Linear) -> None:
        own = self.settings
        # The map first: the read-out follows from it.
        if not _is_finite(som):
            what, remedy = "map's prototypes", f"raise final_radius ({own.final_radius:g})"
        elif not _is_finite(output):
            what = "read-out's weights"
            remedy = f"lower readout_rate ({own.readout_rate:g}), raise width ({own.width:g})"
        else:
            return
        raise InputError(
            f"training diverged: the {what} are not finite; {remedy} or scale the inputs down, "
            f"whichever is extreme"
        )

    def _base_session(self, network: OnlineMap, data: Examples) -> None:
        own = self.settings
        alone, done = max(1, round(own.alone * own.base_iterations)), 0
        radius = max(own.rows, own.columns) / 2
        shares = network.shares(own.final_som_rate, own.final_radius)
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


def _is_finite(module: nn.Module) -> bool:
    return all(torch.isfinite(p).all() for p in module.parameters())


def _take(parts: Sequence[Examples], numbers: Tensor) -> Examples:
    """Return the examples with those numbers (n,) in the parts laid end to end.

    Without joining the parts, which would double the memory.

    >>> parts = [Examples(torch.tensor(x), torch.tensor(x)) for x in ([0, 1], [2, 3, 4])]
    >>> _take(parts, torch.tensor([4, 0, 2])).x.tolist()
    [4, 0, 2]
    """
    x = parts[0].x.new_empty(len(numbers), *parts[0].x.shape[1:])
    y = parts[0].y.new_empty(len(numbers))
    start = 0
    for part in parts:
        own = ((numbers >= start) & (numbers < start + len(part))).nonzero().squeeze(1)
        taken = part.take(numbers[own] - start)
        x[own], y[own] = taken.x, taken.y
        start += len(part)
    return Examples(x, y)
