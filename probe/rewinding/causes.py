"""Causes for networks in memory and any score: no training data, no classes, no readout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from probe.batch import Value, gather, mapped, tensors, varied
from probe.cut.candidates import suggestions
from probe.cut.cuts import find_each
from probe.errors import InputError
from probe.model import Model
from probe.modules import check_model, check_values, copied, mode, named_state, unwrapped
from probe.rewinding.blocks import blocks_of
from probe.rewinding.hybrids import Rewinding, rewind
from probe.rewinding.shapley import Floats
from probe.seeding import every_global_stream, stream
from probe.training.evaluation import batch_size_for
from probe.training.precision import products

if TYPE_CHECKING:
    import pandas as pd

Score = Callable[[nn.Module, Any, Any], Tensor] | Literal["accuracy", "loss"]
"""`score(model, x, y)` returns a number for each of the B examples of a batch, higher is better."""

OUTPUT = "output"
_SAMPLE = 8


def causes(
    models: Model | Mapping[int, nn.Module],
    test: Sequence[tuple[Value, Value]],
    score: Score = "accuracy",
    features: Sequence[str] | None = None,
    hybrids: int = 64,
    batch_size: int | None = None,
) -> pd.DataFrame:
    """Measure whose change cost the last network what it lost of each earlier task.

    Blocks of the network after task j are put back into the last network, alone and together, and
    the result is tested on task j; nothing is trained. `probe.rewinding.hybrids` has the formulas.

    >>> import probe, torch
    >>> net = lambda: torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 2))
    >>> nets = {1: net(), 2: net()}  # as you have trained them
    >>> test = [(torch.randn(8, 4), torch.arange(8) % 2) for _ in range(2)]
    >>> table = probe.causes(nets, test, features=["0"])
    >>> table[table["quantity"] == "attributed"]["feature"].tolist()
    ['0', 'output']

    Args:
        models: Networks of one architecture by number of tasks learned, 1 to T; the last is needed.
            A `Model` says how to call them, for the default score.
        test: The test examples of each of T tasks, (x, y): tensors, tuples or mappings of tensors.
        score: `accuracy` is 1 where the largest logit is that of the class, else 0; `loss` is minus
            the cross-entropy in nats; or a function.
        features: Dotted module names that part the network into blocks; None = a suggested set.
        hybrids: Up to so many sets of blocks all are tested; beyond, those of random orders.
        batch_size: Examples at a time; None = a size that is fast on the device.

    Returns:
        A row for each task position j < T, feature and quantity: `score` of the last network and
        `lost` (feature empty), `attributed`, `restored`, `broken` and `net` of each block, in units
        of the score; `sampling_error` is the standard error that random orders add.

    Raises:
        InputError: Networks, data and features do not fit each other, or a score is not a finite
            number for each example.
    """
    import pandas as pd

    _check(score, hybrids)
    if not isinstance(test, Sequence):
        raise InputError(f"test must be a list of (x, y), one for each task, got {test!r:.40}")
    model = Model.coerce(models)
    networks = _checked(model.network, len(test))
    T = max(networks)
    last = copied(unwrapped(networks[T])).eval()
    x = _beside(last, varied(test[0][0], _SAMPLE))
    if features is None:
        suggested = suggestions(last, x, model.model_call)
        features = [name for name, downstream in suggested.items() if downstream]
    facts = [cut.facts for cut in find_each(last, list(features), x, model.model_call, "tail")]
    blocks = blocks_of(last, facts, OUTPUT)
    size = batch_size or batch_size_for(x, tensors(x)[0].device)
    task_of = np.repeat(np.arange(len(test)), [len(tensors(x)[0]) for x, _ in test])
    rows: list[dict[str, object]] = []
    for j in sorted(networks.keys() - {T}):

        def tested(everywhere: bool, j: int = j) -> Floats:
            values = np.zeros(len(task_of))
            for k in range(len(test)) if everywhere else [j - 1]:
                values[task_of == k] = _scores(model, score, last, *test[k], size)
            return values

        before = {name: t.detach() for name, t in named_state(unwrapped(networks[j])).items()}
        scores = rewind(last, before, blocks, tested, hybrids)
        result = Rewinding(scores=scores, of_task=task_of == j - 1, limit=hybrids)
        rows += ({"task_position": j, **row} for row in _rows(result, blocks, task_of))
    return pd.DataFrame(rows)


def _check(score: object, hybrids: object) -> None:
    if not callable(score) and score not in ("accuracy", "loss"):
        raise InputError(f"score must be 'accuracy', 'loss' or a function, got {score!r:.40}")
    if type(hybrids) is not int or hybrids < 1:
        raise InputError(f"hybrids must be a whole number of 1 or more, got {hybrids!r:.40}")


def _checked(networks: Any, tasks: int) -> Mapping[int, nn.Module]:
    """Return networks by number of tasks learned, without that before any task."""
    if not isinstance(networks, Mapping) or not {tasks} < set(networks) <= set(range(tasks + 1)):
        got = sorted(networks) if isinstance(networks, Mapping) else type(networks).__name__
        raise InputError(
            f"models must map numbers of tasks learned to networks, {tasks} and some earlier ones "
            f"for {tasks} tasks of test data, got {got}"
        )
    last = named_state(unwrapped(networks[tasks])).keys()
    for learned, network in networks.items():
        check_model(network)
        check_values(network)
        if strange := sorted(named_state(unwrapped(network)).keys() - last):
            raise InputError(
                f"the network after {learned} tasks has {strange[0]!r}, which the last network "
                f"lacks: give networks of one architecture"
            )
    return {learned: network for learned, network in networks.items() if learned}


def _beside(network: nn.Module, value: Value) -> Value:
    """Return a value on the device of a network."""
    device = next((p.device for p in network.parameters()), None)
    return mapped(value, lambda t: t.to(device or t.device))


@torch.no_grad()
def _scores(
    model: Model, score: Score, network: nn.Module, x: Value, y: Value, batch_size: int
) -> Floats:
    """Return the score of each example, (n,); what the network draws is the same in every call."""
    parts = []
    with mode(network, training=False), every_global_stream(stream(0, "rewind")), products("fp32"):
        for indices in torch.arange(len(tensors(x)[0]), device="cpu").split(batch_size):
            rows = (gather(v, indices.to(tensors(v)[0].device)) for v in (x, y))
            batch, labels = (_beside(network, value) for value in rows)
            if callable(score):
                values = score(network, batch, labels)
            else:
                logits, true = model.class_call(network, batch), cast(Tensor, labels)
                loss = cross_entropy(logits, true, reduction="none")
                values = -loss if score == "loss" else logits.argmax(1).eq(true)
            fits = isinstance(values, Tensor) and values.shape == indices.shape
            if not fits or not values.isfinite().all():
                raise InputError(
                    f"a score must be a tensor of a finite number for each of {len(indices)} "
                    f"examples, got {type(values).__name__} of shape {tuple(np.shape(values))}"
                )
            parts.append(values.double().cpu().numpy())
    return np.concatenate(parts)


def _rows(
    result: Rewinding, blocks: Collection[str], task_of: NDArray[np.int64]
) -> Iterator[dict[str, object]]:
    """Yield the means over the examples, of the network and of each block."""
    score = result.scores[()][result.of_task].mean()
    yield {"feature": "", "quantity": "score", "value": score}
    sizes, errors = np.bincount(task_of), result.sampling_error
    for (feature, quantity), values in result.quantities(blocks).items():
        # Each task weighs the same.
        by_task = np.bincount(task_of, values) / sizes
        value = by_task.mean() if quantity == "net" else by_task.sum()
        row = {"feature": feature, "quantity": quantity, "value": value}
        error = {"sampling_error": errors.get(feature, 0.0)} if quantity == "attributed" else {}
        yield row | error
