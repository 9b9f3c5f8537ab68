"""Elastic weight consolidation, and the diagonal Fisher information of a model."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from probe.batch import Named
from probe.examples import Examples
from probe.extensions import learner
from probe.modules import eval_with_gradients, kept_buffers
from probe.seeding import global_stream
from probe.tasks import Task
from probe.validation import FromZero, PositiveInt
from scenarios.learners.continual import ContinualSettings
from scenarios.learners.penalties.quadratic import (
    PenalizedLearner,
    Quadratic,
    trained_parameters,
    zeros_for,
)

Loss = Callable[[Tensor, Tensor], Tensor]
"""A function of scores (B, K) and labels (B,): the mean of -log p(y|x)."""

Dense = dict[str, nn.Linear]  # dense layers by name

_LARGEST_CHUNK = 512  # examples
# Numbers of gradients in memory at once; on a CPU they stay near its caches.
_NUMBERS_ON_CPU = 2**24
_NUMBERS = 2**27


class EwcSettings(ContinualSettings):
    """The settings of EWC.

    Attributes:
        strength: The weight of the penalty, lambda; by default Chaudhry 2018's for
            EWC++ on MNIST, as none of these papers gives one for this form of EWC.
        fisher_examples: The number of random examples of the task that the Fisher is
            averaged over; None = all.
        anchors: The terms of the penalty: `each` for one per past task, `last` for only
            one, with the last task's Fisher and anchor, as in Kemker 2018's equation 1.
    """

    strength: FromZero = 75_000.0
    fisher_examples: PositiveInt | None = None
    anchors: Literal["each", "last"] = "each"


@learner("ewc")
class Ewc(PenalizedLearner):
    """Elastic weight consolidation (Kirkpatrick et al. 2017).

    It minimizes L + (lambda / 2) sum_j sum_i F_ji (theta_i - theta_ji)^2 over past
    tasks j, with theta_j the parameters after task j and F_j the diagonal empirical
    Fisher there: the mean, over the task's training data without exemplars, of the
    squared gradient of log p(y|x), with p over the `loss_classes`. Source: Chaudhry
    2018, section 4.1 and equation 1; nothing is normalized.

    All terms together are one quadratic, exactly (see `Quadratic.plus`), so that two
    copies of the parameters serve for any number of tasks. The penalty and its gradient
    are the same up to rounding (which Adam turns into full steps where the gradient is
    otherwise 0).
    """

    settings_class = EwcSettings
    by_scores = True
    first_task = "cross-entropy"
    settings: EwcSettings
    share = 1 / 2
    # The penalty's gradient: a difference times the importance times lambda.
    elementwise = 2

    def end(self, task: Task) -> None:
        """Compute the Fisher of the task, and add its penalty to those of earlier tasks."""
        super().end(task)
        generator = self.stream("fisher")
        examples = task.train
        if count := self.settings.fisher_examples:
            chosen = torch.randperm(len(examples), generator=generator)[:count]
            examples = examples.take(chosen.to(examples.y.device))
        fisher = diagonal_fisher(self.model, self.classification, examples, generator)
        new = Quadratic.around(self.model, fisher)
        is_sum = self.settings.anchors == "each"
        self.penalty = self.penalty.plus(new) if self.penalty and is_sum else new


def diagonal_fisher(
    model: nn.Module,
    loss: Loss,
    examples: Examples,
    generator: torch.Generator,
) -> Named:
    """Return F_i = mean over N examples of (d log p(y|x) / d theta_i)^2, by parameter name.

    Every example passes through the model by itself, in eval mode, so that batch norm
    neither moves nor couples examples, dropout is off, and buffers keep their values.

    The squares of all examples are never in memory at once, and those of most dense
    layers are never computed: with one input vector a (D,) and the gradient g (H,) of
    the output, the weights' gradient is g a^T, and the sum of its squares over examples
    is a product of two matrices of squares. A model that cannot run under
    `torch.func.vmap` is run example by example.

    Args:
        model: The model; each parameter that requires gradients gets an F of its shape.
        loss: A function that returns the mean of -log p(y|x) for scores and labels.
        examples: The examples, x (N, ...) and true labels y (N,): the empirical Fisher
            (Chaudhry 2018, section 2.3 and footnote 4).
        generator: The source of randomness, for a model that draws random numbers in
            eval mode.

    Returns:
        F by parameter name.

    Example:
        >>> model = nn.Linear(1, 2, bias=False)
        >>> _ = nn.init.zeros_(model.weight)
        >>> data = Examples(torch.tensor([[1.0], [3.0]]), torch.tensor([0, 1]))
        >>> fisher = diagonal_fisher(model, nn.CrossEntropyLoss(), data, torch.Generator())
        >>> fisher["weight"].tolist()
        [[1.25], [1.25]]
    """
    with eval_with_gradients(model), kept_buffers(model), global_stream(generator):
        try:
            sums = _by_chunks(model, loss, examples)
        except Exception:
            # An error of the model itself is raised here again.
            sums = _one_by_one(model, loss, examples)
    return {name: total / len(examples) for name, total in sums.items()}


@torch.no_grad()
def _by_chunks(
    model: nn.Module,
    loss: Loss,
    examples: Examples,
) -> Named:
    """Return the sum over examples of the squared gradients, many examples at a time."""
    dense = _trusted_layers(model, loss, examples)
    numbers_per_example = sum(p.numel() for p in _outside(model, dense).values())
    most_numbers = _NUMBERS_ON_CPU if examples.y.device.type == "cpu" else _NUMBERS
    chunk = min(_LARGEST_CHUNK, max(1, most_numbers // max(numbers_per_example, 1)))
    sums = zeros_for(trained_parameters(model))
    for x, y in zip(examples.x.split(chunk), examples.y.split(chunk), strict=True):
        # A copy: a model may write into its input.
        for name, squares in _squares(model, loss, x.clone(), y, dense).items():
            sums[name] += squares
    return sums


@torch.enable_grad()
def _one_by_one(
    model: nn.Module,
    loss: Loss,
    examples: Examples,
) -> Named:
    """Return the sum over examples of the squared gradients, one by one."""
    trained = trained_parameters(model)
    sums = zeros_for(trained)
    for x, y in zip(examples.x.split(1), examples.y.split(1), strict=True):
        # A branch that this example does not take has zeros.
        gradients = torch.autograd.grad(
            loss(model(x.clone()), y),
            list(trained.values()),
            materialize_grads=True,
        )
        for total, gradient in zip(sums.values(), gradients, strict=True):
            total += gradient.square()
    return sums


def _squares(
    model: nn.Module,
    loss: Loss,
    x: Tensor,
    y: Tensor,
    dense: Dense,
) -> Named:
    """Return the sums over B examples of the squared gradients, by parameter name.

    Those of dense layers are in closed form, see `diagonal_fisher`. For the gradients of
    a dense layer's outputs, zeros (H,) are added to these: the gradients are the same.

    Args:
        model: The model.
        loss: A function of scores and labels.
        x: The inputs, (B, ...).
        y: The labels, (B,).
        dense: The layers for the closed form, each with one input vector per example.
    """
    shifts = {
        name: layer.weight.new_zeros(layer.out_features)
        for name, layer in dense.items()
    }

    def loss_and_inputs(
        parameters: Named,
        shifts: Named,
        x: Tensor,
        y: Tensor,
    ) -> tuple[Tensor, Named]:
        """Return the loss of one example, and the inputs of the dense layers by name."""
        with _watched(dense, shifts) as calls_by_name:
            scores = functional_call(model, parameters, (x[None],))
        inputs = {name: calls[0][0] for name, calls in calls_by_name.items()}
        return loss(scores, y[None]), inputs

    # Gradients by the parameters and by the zeros, for one example, then for all.
    of_one = grad(
        loss_and_inputs,
        argnums=(0, 1),
        has_aux=True,
    )
    of_all = vmap(of_one, in_dims=(None, None, 0, 0))
    (by_parameter, by_output), inputs = of_all(_outside(model, dense), shifts, x, y)
    sums = {name: g.square_().sum(0) for name, g in by_parameter.items()}
    for name, layer in dense.items():
        # sum_n (g_n a_n^T)^2 = (g^2)^T a^2, without any of the products.
        squared_gradients = by_output[name].square()
        if layer.weight.requires_grad:
            sums[f"{name}.weight"] = squared_gradients.T @ inputs[name].square()
        if layer.bias is not None and layer.bias.requires_grad:
            sums[f"{name}.bias"] = squared_gradients.sum(0)
    return sums


@contextmanager
def _watched(dense: Dense, shifts: Named) -> Iterator[dict[str, list[Tensor]]]:
    """Collect the inputs of dense layers within the block, by name, and shift their outputs.

    Args:
        dense: The layers by name.
        shifts: The shifts (H,) of outputs by the layer's name; a layer without one is
            only watched.
    """
    inputs: dict[str, list[Tensor]] = {name: [] for name in dense}

    def watch(
        name: str,
        layer: object,
        arguments: tuple[Tensor, ...],
        output: Tensor,
    ) -> Tensor:
        """Note the input of a layer, and shift its output."""
        inputs[name].append(arguments[0])
        return output + shifts[name] if name in shifts else output

    with ExitStack() as hooks:
        for name, layer in dense.items():
            hooks.callback(layer.register_forward_hook(partial(watch, name)).remove)
        yield inputs


def _trusted_layers(
    model: nn.Module,
    loss: Loss,
    examples: Examples,
) -> Dense:
    """Return the dense layers that get exactly one vector per example, by name.

    Returns none if the closed form is wrong on the first example, as when a layer's
    weights are used elsewhere, too. Raises RuntimeError if `vmap` itself is wrong, too,
    as for an LSTM.
    """
    first = examples.take(torch.zeros_like(examples.y[:1]))
    layers = {name: m for name, m in model.named_modules() if type(m) is nn.Linear}
    with _watched(layers, {}) as inputs:
        model(first.x.clone())
    dense = {
        name: layer
        for name, layer in layers.items()
        if len(inputs[name]) == 1 and inputs[name][0].shape == (1, layer.in_features)
    }
    # The true squares, with a loss that has a gradient for any prediction.
    plain = _one_by_one(model, _unlike, first)
    # The closed form is tried first, then vmap on all parameters without it.
    for trusted in (dense, {}):
        squares = _squares(model, _unlike, first.x.clone(), first.y, trusted)
        if squares.keys() == plain.keys() and all(
            _is_near(squares[name], exact) for name, exact in plain.items()
        ):
            return trusted
    raise RuntimeError("gradients under vmap differ from those without")


def _is_near(squares: Tensor, exact: Tensor) -> bool:
    """Return whether squares differ from the exact ones by rounding at most."""
    largest = float(exact.abs().max())
    return torch.allclose(
        squares,
        exact,
        rtol=1e-3,
        atol=1e-3 * largest,
    )


def _unlike(scores: Tensor, y: Tensor) -> Tensor:
    """Return a scalar sum of scores (B, K) in which each class counts differently."""
    # The loss of a model that is sure of an example has no gradient to compare.
    numbers = torch.arange(1, scores.shape[1] + 1, device=scores.device)
    return (scores * numbers.sqrt()).sum()


def _outside(model: nn.Module, dense: Dense) -> Named:
    """Return the trained parameters outside the dense layers, detached."""
    # By identity: tensors compare element by element.
    closed = {id(p) for p in nn.ModuleList(dense.values()).parameters()}
    return {
        name: p.detach()
        for name, p in trained_parameters(model).items()
        if id(p) not in closed
    }
