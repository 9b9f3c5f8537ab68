"""PathNet: a search for a path of modules for each task, which is then frozen."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from probe.errors import InputError
from probe.examples import Examples
from probe.extensions import learner
from probe.modules import trained_of
from probe.tasks import Scenario, Task
from probe.training.costs import OpsMeter
from probe.training.fresh_weights import initialize
from probe.training.loop import HistoryRecorder, fit
from probe.training.optimizers import optimizer_ops
from probe.training.recipe import Recipe, RecipeChanges
from scenarios.data.datasets import in_order
from scenarios.learners import base
from scenarios.learners.kemker.path_network import LiftedPath, PathNetwork

_MOST_TASKS = 256  # the whole numbers of bf16, in which features may be cached
_FARTHEST = 2  # a mutated gene moves by -2 to 2
_SUPPLEMENT = RecipeChanges(
    batch_size=16,
    optimizer="adam",
    learning_rate=2e-3,
)


class PathNetSettings(base.Settings):
    """The settings of PathNet's network, search and training.

    Kemker gives no number of generations. The default was chosen among 0, 20 and 100,
    by the accuracy on the newest of ten permuted sessions, on held-out training data of
    MNIST.

    Attributes:
        modules: The number of modules per layer, M (Kemker 2018).
        active: The largest number of modules of a path in each layer, N (Kemker 2018).
        width: The number of units per module (Kemker 2018).
        population: The number of paths (Fernando et al. 2017: 64).
        generations: The number of tournaments per task.
        batches: The number of batches that a path is trained on in each evaluation
            (Fernando et al. 2017: 50).
        training: The changes to the study's recipe; by default the supplement's batch
            size, optimizer and learning rate.
    """

    modules: int = Field(
        default=10,
        ge=1,
        le=1_000,
    )
    active: int = Field(
        default=5,
        ge=1,
        le=1_000,
    )
    width: int = Field(
        default=80,
        ge=1,
        le=10_000,
    )
    population: int = Field(
        default=64,
        ge=2,
        le=100_000,
    )
    generations: int = Field(
        default=20,
        ge=0,
        le=1_000_000,
    )
    batches: int = Field(
        default=50,
        ge=1,
        le=1_000_000,
    )
    training: RecipeChanges | None = _SUPPLEMENT


@learner("pathnet")
class PathNet(base.Learner):
    """PathNet, a path of modules for each task (Fernando et al. 2017).

    A path is evaluated by training it in place on some batches; its fitness is its
    accuracy on them, before each step. All paths share weights. The best path is
    trained for the recipe's epochs, then its modules are frozen and the others are
    redrawn. Frozen modules may be on later paths; once all are frozen, only the task's
    output layer learns.

    It needs the task id: `view` appends the task's index to the inputs, and each task
    has an output layer (for all K classes, as the network is built before the tasks are
    met; its loss is over the task's classes). Cached features would round indices above
    256, so `network` raises InputError for more tasks.

    Features: `layer1` and `layer2`, the summed outputs of the modules on the path of
    the example's task; `output`, the scores of the task's output layer. Partial
    retraining keeps the paths and redraws all modules downstream of the feature.

    Source: section 2; Kemker 2018's supplement. Deviations: the best path is trained
    for the recipe's epochs after a fixed number of tournaments (Kemker stops early);
    every training of a path restarts its optimizer, schedule and warm-up; other modules
    are redrawn, not reset to their first weights.

    Costs: one pass (`ops_one_pass`) is a pass through the whole network, all modules
    and the outputs of all T tasks, as in tests and retraining. Training costs only the
    path, with the outputs of the task's classes, so CE favors PathNet by the ratio of
    the two.
    """

    settings_class = PathNetSettings
    settings: PathNetSettings
    model: PathNetwork
    task_aware = True
    own_features = ("layer1", "layer2", "output")

    @cached_property
    def _meters(self) -> dict[object, OpsMeter]:
        """The counters of multiply-adds of paths, by the shapes of their parameters."""
        return {}

    @classmethod
    def network(
        cls, settings: Any, shape: Sequence[int], classes: int, tasks: int
    ) -> nn.Module:
        """Build the network of modules and output layers; raises InputError for too many tasks."""
        if tasks > _MOST_TASKS:
            raise InputError(
                f"PathNet learns up to {_MOST_TASKS} tasks, got {tasks}: leave it out"
            )
        return PathNetwork(
            inputs=torch.Size(shape).numel() - 1,
            classes=classes,
            tasks=tasks,
            modules=settings.modules,
            active=settings.active,
            width=settings.width,
        )

    @classmethod
    def view(cls, scenario: Scenario) -> Scenario:
        """Return the scenario with the index of the task appended to each input."""
        return replace(scenario, tasks=tuple(map(_with_index, scenario.tasks)))

    def train(self, task: Task, data: Examples, meter: OpsMeter) -> None:
        """Search the best path by tournaments, train it, then freeze its modules."""
        settings = self.settings
        generator = self.stream("search")
        one_epoch = self.recipe.of_epochs(1)
        self._meter = meter
        # Labels become positions among the task's classes, as `LiftedPath` has outputs.
        data = in_order(data, task.classes)
        shape = (settings.population, len(self.model.layers), settings.active)
        paths = torch.randint(settings.modules, shape, generator=generator)
        n_drawn = settings.batches * self.recipe.batch_size

        def fitness(path: Tensor) -> float:
            # With replacement, as a task may have fewer examples.
            drawn = torch.randint(len(data), (n_drawn,), generator=generator)
            batches = data.take(drawn.to(data.y.device))
            return self._train_path(path, task, batches, one_epoch, generator)

        best = search_path(
            fitness, paths, settings.modules, settings.generations, generator
        )
        self._train_path(best, task, data, self.recipe, self.stream("batches"))
        self.model.keep(task.index - 1, best)

    def end(self, task: Task) -> None:
        """Redraw the modules that are not frozen."""
        fresh = copy.deepcopy(self.model)
        initialize(fresh, self.recipe.init, self.stream("modules"))
        self.model.renew(fresh)

    def _train_path(
        self,
        path: Tensor,
        task: Task,
        data: Examples,
        recipe: Recipe,
        draw: torch.Generator,
    ) -> float:
        """Train a path (L, N) in place; return its accuracy before each step of the last epoch."""
        lifted = LiftedPath(self.model, path, task.index - 1, task.classes)
        parameters = list(lifted.parameters())
        # One meter for all paths of the same shape, whose steps cost the same: it measures
        # only the first, as measuring takes long.
        shape = tuple((p.shape, p.requires_grad) for p in parameters)
        path_meter = self._meters.setdefault(shape, OpsMeter())
        total_before = path_meter.total
        steps_before = path_meter.steps
        recorder = HistoryRecorder()
        fit(
            lifted,
            data,
            recipe,
            draw,
            objective=recorder,
            meter=path_meter,
        )
        lifted.put_back()
        trained = sum(p.numel() for p in trained_of(lifted))
        update_ops = (path_meter.steps - steps_before) * trained * optimizer_ops(recipe)
        self._meter.add(path_meter.total - total_before + update_ops)
        return recorder.history.accuracies[-1]


def _with_index(task: Task) -> Task:
    """Return the task with its index appended to the inputs."""

    def indexed(split: Examples) -> Examples:
        x = functional.pad(split.x.flatten(1), (0, 1), value=task.index)
        return Examples(x, split.y)

    return replace(
        task,
        train=indexed(task.train),
        test=indexed(task.test),
    )


def search_path(
    fitness: Callable[[Tensor], float],
    population: Tensor,
    modules: int,
    generations: int,
    generator: torch.Generator,
) -> Tensor:
    """Return the fittest path (L, N) after a number of tournaments.

    In a tournament two random paths are evaluated; a mutated copy of the winner (the
    first if they are equal) replaces the loser. Source: Fernando et al. 2017, section 2
    (binary tournaments).

    Args:
        fitness: A function that evaluates a path; higher is better.
        population: The P paths, (P, L, N), 2 or more; not changed.
        modules: The number of modules per layer, M.
        generations: The number of tournaments.
        generator: The source of randomness for pairs and mutations.

    Returns:
        The survivor with the best last evaluation.

    Example:
        >>> draw = torch.Generator().manual_seed(0)
        >>> paths = torch.randint(10, (8, 2, 3), generator=draw)
        >>> best = search_path(lambda path: -float(path.sum()), paths, 10, 200, draw)
        >>> int(best.sum()) < int(paths.sum((1, 2)).min())
        True
    """
    paths = population.clone()
    fit = torch.full((len(paths),), -torch.inf, dtype=torch.float64)
    for _ in range(generations):
        pair = torch.randperm(len(paths), generator=generator)[:2].tolist()
        for index in pair:
            # Evaluated anew in each tournament, as training has moved the shared weights.
            fit[index] = fitness(paths[index].clone())
        winner, loser = pair
        if fit[winner] < fit[loser]:
            winner, loser = loser, winner
        paths[loser] = mutated(paths[winner], modules, generator)
        # The copy cannot be the fittest before it is evaluated.
        fit[loser] = -torch.inf
    return paths[int(fit.argmax())]


def mutated(path: Tensor, modules: int, generator: torch.Generator) -> Tensor:
    """Return a copy of a path, each gene mutated with probability 1 / (L N).

    A mutated gene moves by a whole number from -2 to 2, 0 included, modulo M. Source:
    Fernando et al. 2017, section 2.

    Args:
        path: The path, (L, N).
        modules: The number of modules per layer, M.
        generator: The source of randomness.

    Returns:
        The mutated copy.
    """
    chosen = torch.rand(path.shape, generator=generator) * path.numel() < 1
    step = torch.randint(-_FARTHEST, _FARTHEST + 1, path.shape, generator=generator)
    return torch.where(chosen, (path + step) % modules, path)
