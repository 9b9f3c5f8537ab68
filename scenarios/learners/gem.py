"""Gradient episodic memory: no step may increase the loss on an earlier task's memory."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from probe.arrays import Floats
from probe.batch import Named
from probe.errors import InputError
from probe.examples import Examples, join
from probe.extensions import learner
from probe.modules import eval_with_gradients, trained_of
from probe.tasks import Task
from probe.training.evaluation import batch_size_for
from probe.training.precision import lowered
from probe.validation import FromZero
from scenarios.learners.continual import ClassMemorySettings, ContinualLearner
from scenarios.learners.exemplars import Exemplars, split_memory


class GemSettings(ClassMemorySettings):
    """The settings of GEM.

    Attributes:
        margin: The memory strength gamma (Lopez-Paz and Ranzato 2017: 0.5 in all
            experiments).
    """

    margin: FromZero = 0.5


@learner("gem")
class GradientEpisodicMemory(ContinualLearner):
    """Gradient episodic memory (Lopez-Paz and Ranzato 2017).

    Each past task k has a memory of the last examples of each of its classes (first in,
    first out); as the order of an epoch is random, they are drawn at random when the
    task ends. At every step g_k is the gradient of the loss on all of memory k; if <g,
    g_k> < 0 for any k, g is replaced by its projection (see `project`). The examples in
    the memory are not trained on.

    Source: section 3. Deviations: gamma is a lower bound of v, where the paper adds it
    to the solution, so that no constraint is violated. The memory's loss is that of the
    model in eval mode, so that its pass changes no batch norm statistics and draws no
    dropout. With Adam (Murata
    2020) the step is not along the gradient, so an earlier loss may still rise.

    A step costs t passes over whole memories, and the device waits for the projection,
    which is solved on the CPU; the projection's t multiply-adds per parameter are not
    counted.
    """

    settings_class = GemSettings
    by_scores = True
    first_task = "cross-entropy"
    settings: GemSettings
    replays = False

    _memories: tuple[Examples, ...] = ()

    def after_backward(self, model: nn.Module) -> None:
        """Replace the batch's gradient by its projection, if it would raise a memory's loss."""
        if not self._memories:
            return
        trained = trained_of(model)
        gradient = _flat(
            torch.zeros_like(p) if p.grad is None else p.grad for p in trained
        )
        with eval_with_gradients(model):
            past = [self._gradient_of(memory, trained) for memory in self._memories]
        projected = project(gradient, torch.stack(past), self.settings.margin)
        # A gradient that violates nothing is left as it is, bit for bit.
        if projected is not gradient:
            gradients = projected.split([p.numel() for p in trained])
            for p, new in zip(trained, gradients, strict=True):
                # A copy lies in memory as its parameter does, which fused optimizers
                # rely on.
                p.grad = torch.empty_like(p) if p.grad is None else p.grad
                p.grad.copy_(new.view_as(p))

    def end(self, task: Task) -> None:
        """Fill the memory of the task that was learned."""
        super().end(task)
        memory = Exemplars(self.settings.budget)
        memory.add(self.model, task, self.stream("memory"))
        if memory.examples:
            self._memories += (memory.examples,)

    def state(self) -> Named:
        """Return all memories joined, and the size of each, for `restore`."""
        if not self._memories:
            return {}
        examples = join(self._memories)
        sizes = torch.tensor([len(memory) for memory in self._memories])
        return {
            "memory.x": examples.x,
            "memory.y": examples.y,
            "memory.sizes": sizes,
        }

    def restore(self, state: Named, past: Sequence[Task]) -> None:
        """Restore the memories that `state` returned."""
        super().restore(state, past)
        self._memories = ()
        if "memory.x" in state:
            sizes = state["memory.sizes"].tolist()
            self._memories = tuple(split_memory(state, sizes))

    def _gradient_of(self, memory: Examples, trained: Sequence[nn.Parameter]) -> Tensor:
        """Return the gradient (P,) of the mean loss on a memory."""
        device = memory.y.device
        size = batch_size_for(memory.x, device)
        total = torch.zeros((), device=device)
        for x, y in zip(memory.x.split(size), memory.y.split(size), strict=True):
            # As in training, whose gradient it is compared with.
            with lowered(device.type, self.recipe.precision == "bf16"):
                # A copy: a model may write into its input.
                scores = self.model(x.clone())
                loss = self.classification(scores, y) * (len(y) / len(memory))
            gradients = torch.autograd.grad(loss, trained, materialize_grads=True)
            total = total + _flat(gradients)
        return total


def _flat(gradients: Iterable[Tensor]) -> Tensor:
    """Return gradients as one vector (P,)."""
    return torch.cat([gradient.flatten() for gradient in gradients])


def project(gradient: Tensor, past: Tensor, margin: float = 0.0) -> Tensor:
    """Return the vector g' nearest to g with <g', g_k> >= 0 for every k; it may be g itself.

    g' = g + sum_k v_k g_k, computed in float64, where v minimizes 1/2 |g'|^2 over v >=
    margin (the dual problem of Lopez-Paz and Ranzato 2017, section 3).

    Args:
        gradient: The gradient g, (P,).
        past: The gradients g_k of the memories, (t, P), any of them zero or collinear.
        margin: A lower bound of the dual variables, 0 or more; above 0, g' is not the
            nearest but leans towards the g_k.

    Returns:
        The projection g', (P,).

    Raises:
        InputError: A gradient is not finite.

    Example:
        >>> project(torch.tensor([1.0, -1.0]), torch.tensor([[0.0, 2.0]])).tolist()
        [1.0, 0.0]
    """
    rows = torch.vstack([past, gradient]).double()
    # All inner products at once: the last row and column are those with g.
    gram = (rows @ rows.T).cpu().numpy()
    if not np.isfinite(gram).all():
        raise InputError(
            "training diverged: a gradient is not finite; lower learning_rate"
        )
    if (gram[-1, :-1] >= 0).all():
        return gradient
    v = dual(gram[:-1, :-1], gram[:-1, -1], margin)
    weights = torch.from_numpy(np.append(v, 1.0)).to(rows.device)
    return (rows.T @ weights).to(gradient.dtype)


def dual(
    gram: Floats,
    products: Floats,
    margin: float,
) -> Floats:
    """Return the v (t,) >= margin that minimizes 1/2 v' G v + c' v, exactly up to rounding.

    With the g_k scaled to length 1, v = u + margin, and a square root A of G, this is
    the non-negative least squares problem min_{u >= 0} |A u - b|^2, which always has a
    solution.

    Args:
        gram: The inner products G of the g_k, (t, t).
        products: The inner products c of each g_k with g, (t,).
        margin: The lower bound of v.

    Returns:
        The dual variables v, (t,).

    Example:
        >>> dual(np.eye(2), np.array([-3.0, 1.0]), margin=0.0).tolist()
        [3.0, 0.0]
    """
    # Half a second, which workers that train no GEM need not wait.
    from scipy.optimize import nnls

    lengths = np.sqrt(np.diag(gram))
    lengths[lengths == 0] = 1
    scaled = gram / np.outer(lengths, lengths)
    linear = products / lengths + margin * scaled @ lengths
    # Directions without length, as of collinear g_k, are left out: in them every u is
    # as good.
    values, vectors = np.linalg.eigh(scaled)
    positive = values > len(values) * np.finfo(np.float64).eps * values[-1]
    roots = np.sqrt(values[positive])
    vectors = vectors[:, positive]
    A = roots[:, None] * vectors.T
    b = -(vectors.T @ linear) / roots
    u: Floats = nnls(A, b)[0]
    return u / lengths + margin
