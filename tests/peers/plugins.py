"""The same settings in avalanche's terms: for each of our learners, the plugins that mean it.

What the parameters of avalanche 0.6.0 mean was read in its documentation and source.
"""

from math import inf

import numpy as np
import qpsolvers
import torch
from avalanche.training.plugins import (
    EWCPlugin,
    GEMPlugin,
    LwFPlugin,
    ReplayPlugin,
    SynapticIntelligencePlugin,
)
from avalanche.training.storage_policy import ClassBalancedBuffer
from torch import nn

from probe.seeding import stream
from scenarios.learners.continual import ClassMemorySettings, ContinualSettings
from scenarios.learners.distillation import LwfSettings
from scenarios.learners.exemplars import Exemplars, ExemplarSettings
from scenarios.learners.gem import GemSettings
from scenarios.learners.penalties.ewc import EwcSettings
from scenarios.learners.penalties.si import SiSettings


def plugins(settings, recipe, scenario, seed):
    """Return avalanche's own counterpart of one of our learners."""
    match settings:
        case ContinualSettings(kind="finetune"):
            return []
        case ClassMemorySettings(kind="er"):
            # As many examples of each class; the two batches are equally large.
            size = settings.memory_per_class * scenario.classes
            memory = ClassBalancedBuffer(
                size, adaptive_size=False, total_num_classes=scenario.classes
            )
            return [ReplayPlugin(mem_size=size, storage_policy=memory)]
        case EwcSettings():
            # It has no 1/2 before lambda. Its Fisher is the mean of squared batch
            # gradients, which is smaller by the batch's size where single gradients are
            # independent with mean zero.
            return [EWCPlugin(settings.strength / 2 * recipe.batch_size)]
        case SiSettings():
            return [
                SynapticIntelligencePlugin(_si_lambda(settings), eps=settings.damping)
            ]
        case LwfSettings():
            # It leaves out the factor T^2.
            return [
                LwFPlugin(
                    settings.strength * settings.temperature**2, settings.temperature
                )
            ]
        case GemSettings():
            stored = settings.memory_per_class * len(scenario.tasks[0].classes)
            return [GEMPlugin(stored, settings.margin)]
    raise ValueError(f"avalanche has no counterpart of {settings.kind!r} here")


def corrected(settings, recipe, scenario, seed):
    """Return the counterpart that is to do exactly what we do: its own, or changed to match.

    None for replay, whose memory and draws from it are random.
    """
    match settings:
        case ClassMemorySettings(kind="er"):
            return None
        case EwcSettings():
            return [_SingleExampleEwc(settings.strength / 2)]
        case SiSettings():
            return [_PaperSi(_si_lambda(settings), eps=settings.damping)]
        case GemSettings():
            return [_PaperGem(settings, scenario, seed)]
    return plugins(settings, recipe, scenario, seed)


def repaired(settings):
    """Return avalanche's counterpart with no other change than what lets it work on a CPU."""
    if isinstance(settings, SiSettings):
        return [_CopyingSi(_si_lambda(settings), eps=settings.damping)]
    return []


def _si_lambda(settings):
    """Return lambda: it multiplies by lambda / 2 what we multiply by c."""
    return 2 * settings.strength


class _SingleExampleEwc(EWCPlugin):
    """EWC with batches of one where the Fisher is computed: squared gradients of examples."""

    def compute_importances(self, *given, **named):
        # Of model, criterion, optimizer, dataset, device, batch_size and num_workers.
        return super().compute_importances(*given[:5], 1, *given[6:], **named)


class _PaperGem(GEMPlugin):
    """GEM with the same random examples of each class in memory as ours, and the QP as it is.

    Its own memory is a random one of the task, and it adds 1e-3 to the diagonal of the
    Gram matrix, which is much where gradients are small.
    """

    def __init__(self, settings, scenario, seed):
        super().__init__(settings.memory_per_class, settings.margin)
        self._tasks = scenario.tasks
        self._seed = seed

    def update_memory(self, dataset, t, batch_size):
        ours = Exemplars(ExemplarSettings(per_class=self.patterns_per_experience))
        ours.add(nn.Identity(), self._tasks[t], stream(self._seed, "memory", t + 1))
        state = ours.state()
        self.memory_x[t] = state["memory.x"]
        self.memory_y[t] = state["memory.y"]
        self.memory_tid[t] = torch.zeros_like(self.memory_y[t])

    def solve_quadprog(self, g):
        past = self.G.double()
        new = g.double()
        gram = (past @ past.T).numpy()
        # quadprog wants it positive definite.
        gram += 1e-12 * np.eye(len(gram)) * gram.diagonal().mean()
        bounds = np.full(len(gram), self.memory_strength)
        v = qpsolvers.solve_qp(gram, (past @ new).numpy(), lb=bounds, solver="quadprog")
        return (new + torch.from_numpy(v) @ past).to(g.dtype)


class _CopyingSi(SynapticIntelligencePlugin):
    """SI that works on a CPU.

    The weights that it notes down are views of the parameters there (on a GPU they are
    copies): the step that it measures is 0, and so are the importance and the penalty.
    """

    def before_training_exp(self, strategy, **kwargs):
        super().before_training_exp(strategy, **kwargs)
        _copy(self.ewc_data[0])

    def before_training_iteration(self, strategy, **kwargs):
        super().before_training_iteration(strategy, **kwargs)
        _copy(self.syn_data["old_theta"])


class _PaperSi(_CopyingSi):
    """SI with the gradient of the task's own loss, and with importances from 0 without bound.

    As it is, its gradient includes that of the penalty, importances are cut at 0.001,
    and those below 0 stay.
    """

    @torch.no_grad()
    def after_training_iteration(self, strategy, **kwargs):
        anchors, importances = self.ewc_data
        for name, p in strategy.model.named_parameters():
            moved = self.syn_data["old_theta"][name].data - anchors[name].data
            penalty = self.si_lambda[0] * importances[name].data * moved
            p.grad.sub_(penalty.view_as(p))
        super().after_training_iteration(strategy, **kwargs)

    def after_training_exp(self, strategy, **kwargs):
        for sums in self.syn_data["trajectory"].values():
            sums.data.clamp_(max=0)
        data = self.ewc_data, self.syn_data, inf, self.excluded_parameters
        self.update_ewc_data(strategy.model, *data, eps=self.eps, c=1)


def _copy(tensors):
    for each in tensors.values():
        each.data = each.data.clone()
