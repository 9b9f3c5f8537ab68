"""Evaluation: the outputs to read, the predicted classes, and penultimate features phi(x)."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.weak import WeakTensorKeyDictionary

from probe.batch import Named, Rows, Value, gather, tensors
from probe.errors import InputError
from probe.examples import Examples, Labeled
from probe.modules import kept_buffers, mode
from probe.seeding import (
    draws,
    every_global_stream,
    global_stream,
    permutation,
    stream,
)
from probe.training.memory_format import channels_last, same_in_both_layouts, some
from probe.training.precision import OVERFLOW, products

Logits = Callable[..., Tensor]
"""A network, or any function of a batch: (B, ...) -> (B, K)."""


ByHead = tuple[Named, Tensor]
"""The predictions of examples by head, and their losses."""

ONE_OUTPUT = (
    "the network has one output: for two classes give call=lambda model, x: "
    "torch.nn.functional.pad(model(x), (1, 0)), which adds a logit of 0 for the first"
)
"""The message of an error; the softmax of z and 0 is the sigmoid of z."""

_MIXED = 16  # examples of a batch of all classes
_PARTS = 4  # of it, of similar examples
_FEWEST = 8  # examples of a batch
_PASSES = 16  # of the same examples, as some networks seldom draw
_SAMPLE = 128  # examples that are tested in a second batching, if there are few tasks
_ALONE = (
    "where only outputs are read, test each alone, as by call=lambda model, x: "
    "torch.cat([model(row) for row in x.split(1)]); layers can be read if the network "
    "itself treats each alone"
)
_USUAL = 10  # times the median distance from the median
_NOISE = 4  # times the difference between two runs of the same batch
_NEAR = 0.02  # of the differences between examples, above what autocast rounds
_SAME = 1e-3  # of them, above what the same batch rounds on a GPU
_ROUNDING = 1e-5  # of the largest value, as kernels differ with the size of a batch


def predict_each(
    logits: Logits,
    examples: Labeled,
    classes: int,
    barred: Mapping[str, Tensor | None],
    batch_size: int | None = None,
    rows: Tensor | None = None,
    loss_of: str = "",
    any_layout: bool | None = None,
    check: bool = False,
) -> ByHead:
    """Predict the class of all N examples, for several sets of competing classes, in one pass.

    The prediction is the largest of the K logits. It is computed in fp32 without TF32,
    whatever the precision of the training: ties of bf16 logits would go to the lowest
    class.

    Args:
        logits: Function that maps a batch (B, ...) to (B, K); a module must be in eval
            mode.
        examples: The examples, x (N, ...) and y (N,) int64, on the model's device.
        classes: Number of classes K.
        barred: Tables (R, K) bool of the outputs that do not compete, by name; None =
            all compete.
        batch_size: The batch size, None = one that is fast on the device.
        rows: The row of the table for each example, (N,) int64; None = its class.
        loss_of: The name in `barred` under which the loss of each example is computed;
            empty = no loss.
        any_layout: Whether batches of images may be channels-last; None = tried on a
            few examples.
        check: Whether to test some examples of each row again, in another order and in
            smaller batches.

    Returns:
        The predictions (N,) int64 by name, and the cross-entropies (N,) float32 in nats
        under `loss_of`, infinite where the label does not compete; (0,) without it.

    Raises:
        InputError: The logits have the wrong shape, are not finite, or some depend on
            the other examples of their batch.

    >>> from probe.examples import Examples
    >>> data = Examples(torch.eye(2), torch.tensor([0, 0]))
    >>> predict_each(torch.nn.Identity(), data, 2, {"all": None})[0]["all"].tolist()
    [0, 1]
    """
    if any_layout is None:
        with _exactly(examples):
            any_layout = same_in_both_layouts(logits, some(examples))
    row_of_example = examples.y if rows is None else rows
    sample = _Sample(row_of_example) if check else None

    def logits_of(indices: Tensor, x: Value) -> Iterator[Tensor]:
        scores = logits(x)
        if sample:
            sample.add(indices, scores)
        yield scores

    [predicted] = predict_variants(
        logits_of,
        examples,
        classes,
        barred,
        batch_size,
        row_of_example,
        loss_of,
        any_layout=any_layout,
    )
    if sample:
        batch_size = batch_size or batch_size_for(examples.x, examples.y.device)
        with _exactly(examples):
            sample.check(logits, examples.x, batch_size)
    return predicted


def predict_variants(
    logits: Callable[[Tensor, Value], Iterable[Tensor]],
    examples: Labeled,
    classes: int,
    barred: Mapping[str, Tensor | None],
    batch_size: int | None,
    row_of_example: Tensor,
    loss_of: str,
    *,
    any_layout: bool,
) -> list[ByHead]:
    """Predict the classes of all N examples by several variants of a network, batch by batch.

    Args:
        logits: Function that maps the indices (B,) and the inputs (B, ...) of a batch to
            the logits (B, K) of each variant.
        examples: See `predict_each`, as for all others.

    Returns:
        The result of `predict_each` for each variant.

    Raises:
        InputError: The logits have the wrong shape, or are not finite.
    """
    device = examples.y.device
    batch_size = batch_size or batch_size_for(examples.x, device)
    variants: list[_Predictions] = []
    with _exactly(examples):
        for indices in torch.arange(len(examples), device=device).split(batch_size):
            # A copy: a model may write into its input.
            x = gather(examples.x, indices)
            if any_layout:
                x = channels_last(x)
            for number, scores in enumerate(logits(indices, x)):
                _check_scores(scores, (len(indices), classes))
                if number == len(variants):
                    variants.append(_Predictions(barred, loss_of))
                rows = row_of_example[indices]
                variants[number].add(scores, rows, examples.y[indices])
    return [variant.all for variant in variants]


class _Predictions:
    """The predictions of one network, and its losses, as batches come.

    Args:
        barred: The outputs that do not compete, see `predict_each`.
        loss_of: The name in `barred` under which losses are computed.
    """

    def __init__(self, barred: Mapping[str, Tensor | None], loss_of: str) -> None:
        self._barred = barred
        self._loss_of = loss_of
        self._predicted: dict[str, list[Tensor]] = {name: [] for name in barred}
        self._losses: list[Tensor] = []

    def add(self, scores: Tensor, rows: Tensor, y: Tensor) -> None:
        """Take the logits (B, K) of a batch with its rows in the tables and its labels, (B,)."""
        for name, table in self._barred.items():
            competing = scores if table is None else _bar(scores, table[rows])
            self._predicted[name].append(competing.argmax(1))
            if name == self._loss_of:
                self._losses.append(cross_entropy(competing, y, reduction="none"))

    @property
    def all(self) -> ByHead:
        """The predictions (N,) by name, and the losses (N,), (0,) without a name for them."""
        predicted = {name: torch.cat(parts) for name, parts in self._predicted.items()}
        return predicted, torch.cat(self._losses or [torch.zeros(0, device="cpu")])


@contextmanager
def _exactly(examples: Labeled) -> Iterator[None]:
    """Compute in fp32 without gradients within the block; the caller may be under autocast."""
    device = examples.y.device.type
    with torch.no_grad(), torch.autocast(device, enabled=False), products("fp32"):
        yield


class _Sample:
    """Some examples of each row (N,), whose logits in the batches of all are compared with others.

    Of very many rows, they are some of all examples.

    A rare example may send its whole batch down another path.
    """

    def __init__(self, row_of_example: Tensor) -> None:
        rows = row_of_example.unique()
        if len(rows) > _SAMPLE:
            # Targets may differ in all examples.
            row_of_example = torch.zeros_like(row_of_example)
            rows = row_of_example[:1]
        most = max(_FEWEST, _SAMPLE // len(rows))
        parts = []
        for row in rows:
            [group] = (row_of_example == row).nonzero(as_tuple=True)
            parts.append(_spread(group, most))
        self._indices = torch.cat(parts).sort().values
        self._scores: list[Tensor] = []

    def add(self, indices: Tensor, scores: Tensor) -> None:
        """Take the logits (B, K) of the examples at ascending indices (B,)."""
        self._scores.append(scores[torch.isin(indices, self._indices)])

    def check(self, logits: Logits, x: Rows | Value, batch_size: int) -> None:
        """Compare the logits with those in other batches, smaller and in another order.

        Args:
            logits: Function that maps a batch (B, ...) to (B, K).
            x: The examples, (N, ...).
            batch_size: The size of the batches of all examples.

        Raises:
            InputError: The logits differ.
        """
        scores = torch.cat(self._scores)
        # Without outliers, as the others hardly differ next to them.
        distance = (_finite(scores) - _finite(scores).median(0).values).abs().amax(1)
        usual = (distance <= _USUAL * distance.median()).nonzero()[:, 0]
        drawn = permutation(len(usual), stream(0, "sample"))
        order = usual[drawn.to(usual.device)]
        scores = scores[order]

        def scores_again(size: int) -> Tensor:
            parts = []
            for rows in self._indices[order].split(_FEWEST):
                repeated = rows.repeat(math.ceil(size / len(rows)))
                part = logits(gather(x, repeated))
                parts.append(part[: len(rows)])
            return torch.cat(parts)

        if _excess(scores, scores_again(1)) <= 0:
            return
        # Kernels of the same batch size: see `check_independence`.
        filled = scores_again(batch_size)
        noise = (_finite(scores_again(batch_size)) - _finite(filled)).abs().max()
        if _excess(scores, filled) > _NOISE * noise:
            raise InputError(
                "the output of a test example depends on the others of its batch (does "
                "one of them send all down another path? does the model keep a state?):"
                f" reset a state in `call`, or {_ALONE}"
            )


def _bar(scores: Tensor, mask: Tensor) -> Tensor:
    """Return logits (B, K) with those that do not compete, True in the mask (B, K), at -inf.

    The others are finite: where all of them were -inf, one of them is predicted all the
    same.
    """
    finite = scores.clamp(min=torch.finfo(scores.dtype).min)
    return finite.masked_fill(mask, -torch.inf)


def _check_scores(scores: Tensor, expected: tuple[int, int]) -> None:
    """Raise InputError if logits have another shape, or are not finite."""
    shape = tuple(scores.shape)
    if shape != expected:
        raise InputError(f"the model's output is {shape}, expected {expected}")
    check_finite_logits(scores)


def check_finite_logits(scores: Tensor) -> None:
    """Check that the largest logit of each example is a finite number.

    Others may be -inf, as those of masked classes.

    Args:
        scores: The logits, (B, ..., K).

    Raises:
        InputError: One is not.
    """
    if not scores.amax(-1).isfinite().all():
        remedy = "it diverged; lower learning_rate"
        if scores.dtype == torch.half:
            remedy = OVERFLOW
        raise InputError(f"the model's output is NaN or infinite: {remedy}")


@torch.no_grad()
def check_independence(
    compute: Callable[[Value], Iterable[tuple[str, Tensor]]],
    x: Rows | Value,
    labels: Tensor,
) -> None:
    """Compare the values of a few examples in a mixed batch and in batches of similar examples.

    They differ with batch norm in training mode, or with prompts that the whole batch
    chooses (as in L2P). An accuracy is then that of an order of the test examples, and
    not of the network. Random numbers make values of the same batch differ, too: only
    larger differences are refused.

    Args:
        compute: Function that maps a batch to named values (B, ...).
        x: The examples, (N, ...).
        labels: Their labels, (N,).

    Raises:
        InputError: The values differ; the message names them.
    """
    # All classes, sorted by class.
    chosen = _spread(labels.argsort(stable=True), _MIXED)

    def values(rows: Tensor) -> Named:
        # One place on: a network may pair neighbors, who would be the same in each batch.
        rolled = compute(gather(x, chosen[rows.roll(1)]))
        return {name: value.roll(-1, 0) for name, value in rolled}

    rows = torch.arange(len(chosen), device=labels.device)
    mixed = values(rows)
    parts = rows.tensor_split(max(1, min(_PARTS, len(rows) // 2)))
    apart = [values(part) for part in parts]
    for name, value in mixed.items():
        # A value without a row for each example cannot be compared.
        if len(value) != len(chosen):
            continue
        if _excess(value, torch.cat([part[name] for part in apart])) <= 0:
            continue
        # A layer in which the strongest win may amplify what kernels of another batch
        # size round: each part again, repeated up to the same size, with its examples
        # in the same places.
        filled = []
        for part in parts:
            repeated = part[(rows - part[0]) % len(part)]
            filled.append(values(repeated)[name][part])
        # And all of them in other places: the first few may be served, whoever they are.
        moved = values(rows.flip(0))[name].flip(0)
        noise = (_finite(values(rows)[name]) - _finite(value)).abs().max()
        excess = max(_excess(value, torch.cat(filled)), _excess(value, moved))
        if excess > _NOISE * noise:
            raise InputError(
                f"{name} of an example depends on the others of its batch (a prompt "
                "that the batch chooses? batch norm in training mode?): choose a "
                "prompt for each example (L2P: batchwise_prompt=False), use running "
                f"statistics, or {_ALONE}"
            )


def _spread(indices: Tensor, most: int) -> Tensor:
    """Return some of the indices (N,), at even distances."""
    size = min(most, len(indices))
    positions = torch.linspace(0, len(indices) - 1, size, device=indices.device)
    return indices[positions.long()]


def _excess(together: Tensor, apart: Tensor, near: float = _NEAR) -> Tensor:
    """Return by how much two sets of values (B, ...) differ beyond what rounding explains.

    Args:
        together: Values, one row for each example.
        apart: The values to compare with.
        near: The share of the differences between examples that rounding explains.
    """
    together = _finite(together)
    apart = _finite(apart)
    # By column: one of -1e4 stands for an output that is never predicted.
    difference = (together - apart).abs().amax(0)
    spread = (apart - apart.mean(0)).abs().max()
    largest = apart.abs().amax(0)
    return (difference - near * spread - _ROUNDING * largest).max()


def _finite(values: Tensor) -> Tensor:
    """Return values as float64, with 0 where there is none: NaN, Inf, the lowest float."""
    largest = torch.inf
    if values.is_floating_point():
        largest = torch.finfo(values.dtype).max
    exact = values.double()
    return exact.where(exact.abs() < largest, 0)


def check_outputs(logits: Logits, examples: Labeled) -> None:
    """Check that a network's outputs for an example are its own, and the same in every pass.

    Args:
        logits: Function that maps a batch (B, ...) to (B, K); a module must be in eval
            mode.
        examples: The examples, x (N, ...) and y (N,) int64.

    Raises:
        InputError: They are not finite, depend on the others of its batch, or differ
            between passes.
    """
    few = torch.arange(min(_FEWEST, len(examples)), device=examples.y.device)

    def outputs() -> Tensor:
        scores = logits(gather(examples.x, few))
        check_finite_logits(scores)
        return scores

    check_repeats(
        outputs,
        "the output",
        "draw only `if self.training`, and reset a state in call=",
    )
    check_independence(lambda x: [("the output", logits(x))], examples.x, examples.y)


@torch.no_grad()
def check_repeats(compute: Callable[[], Tensor], name: str, remedy: str) -> None:
    """Check that the same examples have the same values again, whatever is drawn meanwhile.

    Two passes are compared, and more where a global generator is drawn from.

    Args:
        compute: Function that returns the values.
        name: The name of the values in the message.
        remedy: The remedy in the message.

    Raises:
        InputError: They differ.
    """
    is_random = False
    for seed in range(_PASSES):
        with every_global_stream(stream(seed, "repeat")):
            drawn = draws()
            again = compute()
            is_random |= drawn()
        if not seed:
            once = again
        if once.shape != again.shape or _excess(once, again, _SAME) > 0:
            raise InputError(
                f"{name} of the same examples differs between two passes in eval mode "
                "(is it drawn at random, or from a state that the network carries?): "
                f"{remedy}"
            )
        if seed and not is_random:
            return


def barred_but(
    competing: Sequence[Sequence[int]],
    classes: int,
    device: torch.device,
) -> Tensor:
    """Mark the outputs that do not compete.

    Args:
        competing: The outputs that compete, for each row.
        classes: Number of classes K.
        device: The device of the table.

    Returns:
        A table (R, K) bool, True for outputs that do not compete.

    >>> barred_but([[0], [0, 1]], 2, torch.device("cpu")).tolist()
    [[False, True], [False, False]]
    """
    barred = torch.ones(len(competing), classes, dtype=torch.bool, device="cpu")
    for row, outputs in enumerate(competing):
        barred[row, list(outputs)] = False
    return barred.to(device)


def batch_size_for(
    x: Rows | Value,
    device: torch.device,
    most: int | None = None,
) -> int:
    """Return a batch size at which evaluation is fast on a device, fewer where examples are large.

    Args:
        x: The examples, (N, ...).
        device: The device.
        most: The largest batch size, None = one that is fast for small examples.

    >>> cpu = torch.device("cpu")
    >>> [batch_size_for(torch.empty(9, 3, size, size), cpu) for size in (32, 224)]
    [128, 55]
    """
    # On a CPU the activations of larger batches leave the caches and come from fresh
    # pages of the system: at 500 an example took 1.5 times as long. A GPU wants to be
    # filled.
    fast, room = (128, 2**25) if device.type == "cpu" else (2048, 2**29)
    most = most or fast
    if not isinstance(x, Tensor | tuple | Mapping):
        return most
    size = sum(part[:1].numel() * _bytes_of(part.dtype) for part in tensors(x))
    return max(_FEWEST, min(most, room // max(1, size)))


def _bytes_of(dtype: torch.dtype) -> int:
    """Return the bytes that an input number takes in a network: a token becomes an embedding."""
    return 4096 if dtype in (torch.int32, torch.int64) else dtype.itemsize


class SelectedOutputs(nn.Module):
    """A network (B, ...) -> (B, O), read only at K chosen outputs: (B, ...) -> (B, K).

    The other outputs do not compete in a training loss and are never predicted.
    `outputs` holds the chosen outputs, (K,) int64 on the network's device.
    """

    def __init__(self, network: nn.Module, outputs: Tensor) -> None:
        super().__init__()
        self.network = network
        self._outputs = outputs

    def forward(self, value: Value) -> Tensor:
        """Return the chosen logits (B, K)."""
        logits: Tensor = self.network(value)
        return logits.index_select(1, self._outputs)


def outputs_of(
    classes: int,
    shape: Sequence[int],
    chosen: Sequence[int] | None,
) -> Tensor | None:
    """Return the outputs that stand for the classes 0..K-1.

    Args:
        classes: Number of classes K.
        shape: The shape of the logits, (B, O).
        chosen: The outputs that the user chose, None if O is K.

    Returns:
        The outputs (K,) int64, None if these are all outputs.

    Raises:
        InputError: O is not K, or outputs do not exist, are too few, or are named
            twice.

    >>> outputs_of(2, (8, 10), [3, 7])
    tensor([3, 7])
    """
    if len(shape) != 2:
        raise InputError(
            f"the model's output is {('B', *shape[1:])}, expected (B, {classes})"
        )
    if (shape[1], classes) == (1, 2):
        raise InputError(ONE_OUTPUT)
    outputs = list(range(shape[1]) if chosen is None else chosen)
    if len(outputs) != classes or len(set(outputs)) != classes:
        raise InputError(
            f"{len(set(outputs))} outputs for {classes} classes: name one for each in "
            "classes="
        )
    if outside := [output for output in outputs if not 0 <= output < shape[1]]:
        raise InputError(
            f"classes= names outputs {outside}, but the model has only {shape[1]}"
        )
    return None if chosen is None else torch.tensor(outputs, device="cpu")


def penultimate(model: nn.Module, x: Tensor) -> Tensor:
    """Return phi(x) (B, D), the input of the layer whose output is the logits.

    The layer is the last one with a weight matrix, usually a dense layer; layers after
    it (Flatten, Identity, an activation) are skipped, and inputs of more dimensions are
    flattened.

    Args:
        model: The model, which keeps its mode.
        x: A batch, (B, ...).

    Returns:
        The features phi(x), (B, D).

    Raises:
        InputError: The output does not come from such a layer through layers with a
            single input.

    >>> model = nn.Sequential(nn.Flatten(), nn.ReLU(), nn.Linear(4, 2), nn.Identity())
    >>> penultimate(model, torch.tensor([[[1.0, -1.0], [-2.0, 3.0]]])).tolist()
    [[1.0, 0.0, 0.0, 3.0]]
    """
    # The input of the last layer with a weight matrix before a tensor, by that tensor.
    # Weak, as the id of a tensor that is gone may be that of another, and none is to
    # outlive its use.
    input_of = WeakTensorKeyDictionary()

    def note(module: nn.Module, inputs: tuple[object, ...], output: object) -> None:
        """Store the features of a layer's output: its input, or those of its input."""
        if not isinstance(output, Tensor) or len(inputs) != 1:
            return
        [value] = inputs
        if isinstance(value, Tensor):
            # Norms have weights too, but vectors: they tell no classes apart.
            has_matrix = any(p.ndim > 1 for p in module.parameters())
            features = value if has_matrix else input_of.get(value)
            if features is not None:
                input_of[output] = features

    with ExitStack() as hooks:
        for module in model.modules():
            # A dense layer under a parametrization (weight norm) has children.
            if isinstance(module, nn.Linear) or not list(module.children()):
                hooks.callback(module.register_forward_hook(note).remove)
        logits = model(x)
    features = input_of.get(logits) if isinstance(logits, Tensor) else None
    if features is None or len(features) != len(logits):
        raise InputError(
            "the model must return the output of its last layer (such as nn.Linear)"
        )
    return torch.flatten(features, 1)


def penultimate_of(model: nn.Module, examples: Examples) -> Tensor:
    """Return phi(x) of N examples, in eval mode and without gradients.

    Args:
        model: The model.
        examples: The examples, x (N, ...).

    Returns:
        The features phi(x), (N, D).
    """
    return in_batches(partial(penultimate, model), model, examples)


def in_batches(function: Logits, model: nn.Module, examples: Examples) -> Tensor:
    """Apply a function to N examples in batches, with the model in eval mode.

    Buffers are restored, and the model has a random generator of its own.

    Args:
        function: Function that maps a batch (B, ...) to (B, ...).
        model: The model that the function uses.
        examples: The examples, (N, ...).

    Returns:
        The results, (N, ...).
    """
    with (
        torch.no_grad(),
        products("fp32"),
        mode(model, training=False),
        kept_buffers(model),
        global_stream(stream(0, "features")),
    ):
        # A copy: a model may write into its input.
        parts = examples.x.split(batch_size_for(examples.x, examples.y.device))
        return torch.cat([function(x.clone()) for x in parts])
