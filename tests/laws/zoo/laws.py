"""Laws of every cut, checked from outside: against the plain model and by brute force."""

import copy
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_map

from probe.errors import InputError, NotKept
from probe.modules import named_state, unwrapped
from probe.seeding import stream
from probe.training.fresh_weights import fresh_state
from tests.laws.zoo.case import same
from tests.laws.zoo.net import (
    SLOW,
    count,
    feature_value,
    fed,
    seed,
    seeded,
    taken,
    tensors,
    train_mode,
)

_TRIED = 12  # of the frozen tensors that no gradient speaks for, perturbed one by one


def identity(case):
    """tail(prefix(x)) is model(x), bit for bit; and also on rows gathered from a filled cache.

    Up to rounding where the plain model is not itself bit for bit once no parameter
    asks for gradients: attention then runs another kernel, also under `no_grad`.
    """
    tail = case.cut.tail.eval()
    still = copy.deepcopy(case.model).requires_grad_(False)
    for x in (case.x, taken(case.x, slice(1)), taken(case.x, slice(1, None))):
        value = _part(case, x)
        if value is None:
            continue
        got = seeded(tail, value)
        expected = case.expected(x)
        _assert_close(got, expected, f"for {count(x)} rows the tail")
        if same([case.net.logits(seeded(partial(fed, still), x))], [expected]):
            assert same([got], [expected]), f"differs for {count(x)} rows"
    parts = [_part(case, taken(case.x, at)) for at in (slice(2), slice(2, None))]
    if any(part is None for part in parts):
        return
    cache = tree_map(lambda *rows: torch.cat(rows), *parts)
    order = torch.arange(count(case.x)).flip(0)
    logits = seeded(tail, tree_map(lambda rows: rows[order], cache))
    _assert_close(
        logits, case.expected(taken(case.x, order)), "from gathered rows the tail"
    )


def rows(case):
    """A cached row belongs to its example, whatever else is in the batch."""
    order = torch.arange(count(case.x)).roll(1)
    whole = tensors(_prefix(case, case.x))
    assert whole, "the prefix gives no tensor"
    assert all(len(value) == count(case.x) for value in whole), (
        "a value is not batch-first"
    )
    assert not any(value.requires_grad for value in whole), "the prefix gives gradients"
    for indices in (order, *order.split(1)):
        found = _part(case, taken(case.x, indices))
        if found is None:
            continue
        for value, part in zip(whole, tensors(found), strict=True):
            _assert_close(
                part, value[indices], f"rows {indices.tolist()} of the prefix"
            )


def gradients(case):
    """Every parameter of the tail gets the full model's gradient, no frozen one gets any."""
    with seed(0):
        plain = case.net.logits(fed(case.model, case.x))
    weights = torch.linspace(-1, 2, plain.numel()).view_as(plain)
    parameters = {n: t for n, t in case.state.items() if isinstance(t, nn.Parameter)}
    full = dict(
        zip(
            parameters,
            _grads((plain * weights).sum(), parameters.values()),
            strict=True,
        )
    )
    # Where a gradient is 0 but for rounding, as that of a bias before a softmax, that
    # may differ.
    least = 0.01 * max(
        (float(g.abs().max()) for g in full.values() if g is not None), default=0
    )
    tail = case.cut.tail.train().eval()
    mine = {n: t for n, t in case.in_tail().items() if t.requires_grad}
    tail.zero_grad()
    value = _prefix(case, case.x)
    with seed(0):
        output = tail(value)
    if output.requires_grad:
        (output * weights).sum().backward()
    for name, expected in full.items():
        got = mine[name].grad if name in mine else None
        if name in case.frozen:
            assert name not in mine, f"frozen {name} asks for gradients"
        elif expected is None or not expected.any():
            assert got is None or not got.any(), (
                f"a gradient for {name}, which has none"
            )
        else:
            assert got is not None, f"no gradient for {name}"
            _assert_close(got, expected, f"the gradient of {name}", least=least)
    left = any(g is not None and n not in case.frozen for n, g in full.items())
    assert case.cut.trainable == left, f"trainable is {case.cut.trainable}"


def frozen(case):
    """The feature depends on each frozen tensor and on nothing else."""
    with torch.no_grad():
        before = case.value(case.x)
        free = {name: t for name, t in case.state.items() if name not in case.frozen}
        with _moved(free.values()):
            still = same(case.value(case.x), before)
        if not still:
            guilty = [name for name, t in free.items() if _moves(case, t, before)]
            raise AssertionError(f"not frozen, but the feature moves with {guilty}")
    endless = {name for name in case.frozen if not case.state[name].isfinite().all()}
    hidden = {
        name for name in case.frozen if name.startswith(tuple(case.net.shows_not))
    }
    doubtful = sorted(case.frozen - _by_gradient(case) - hidden - endless)
    tasks_seen = max(1, len(doubtful) // _TRIED)
    for name in doubtful[::tasks_seen]:
        with torch.no_grad():
            # A bias that a softmax all but undoes shows in the rounding, if it is
            # large.
            moves = any(
                _moves(case, case.state[name], before, times) for times in (1, 100)
            )
            assert moves, f"{name} is frozen for nothing"


def train(case):
    """In train mode the tail is the full model with what feeds the feature in eval mode.

    By the same seed also dropout's masks are the same; then so are the running
    statistics.
    """
    if case.both_sides:
        return
    whole = train_mode(case.model, case.feeding)
    tail = case.cut.tail.train()
    expected = case.net.logits(seeded(partial(fed, whole), case.x, 1))
    _assert_close(
        seeded(tail, _prefix(case, case.x), 1), expected, "in train mode the tail"
    )
    after = named_state(whole)
    for name, tensor in case.in_tail().items():
        if name not in case.frozen and not isinstance(tensor, nn.Parameter):
            _assert_close(tensor, after[name], f"after one pass, buffer {name}")


def live(case):
    """The tail's randomness is on or off in train mode as the network says; else `train` tells."""
    if case.net.live is None:
        return
    tail = case.cut.tail.train()
    value = _prefix(case, case.x)
    runs = [seeded(tail, tree_map(torch.clone, value), seed) for seed in range(4)]
    varies = not all(same([run], [runs[0]]) for run in runs)
    assert varies == case.net.live, (
        f"chance is {'live' if varies else 'off'} in the tail"
    )


def unchanged(case):
    """Training the tail, however far it jumps, moves neither the prefix's value nor the feature."""
    cut = case.cut
    before = [value.clone() for value in tensors(_prefix(case, case.x))]
    held = {n: t.clone() for n, t in case.in_tail().items() if n in case.frozen}
    value = []
    if case.way == SLOW:
        value = _held_value(case)
    weights = [p for p in cut.tail.parameters() if p.requires_grad]
    if cut.trainable:
        _train(case, torch.optim.SGD(weights, lr=1.0))
    assert same(tensors(_prefix(case, case.x)), before), "the prefix's value moved"
    for name, tensor in held.items():
        assert same([case.in_tail()[name]], [tensor]), f"frozen {name} moved"
    if case.way == SLOW:
        assert same(_held_value(case), value), "the feature moved"


def fresh(case):
    """Reinitializing gives the tail new values, all but those of what is frozen."""
    with _given_back(case.cut.tail):
        try:
            case.cut.reinitialize("murata", torch.Generator().manual_seed(0))
        except InputError:  # a parameter that its module has no rule for
            return
        _assert_fresh(case)


@contextmanager
def _given_back(tail):
    """Give the tail its values back after the block; a copy of a tail cannot always be had."""
    before = {name: tensor.clone() for name, tensor in named_state(tail).items()}
    try:
        yield
    finally:
        with torch.no_grad():
            for name, tensor in named_state(tail).items():
                tensor.copy_(before[name])


def _assert_fresh(case):
    new = named_state(unwrapped(case.net.build()))
    for name, tensor in case.in_tail().items():
        constant = not isinstance(tensor, nn.Parameter) and same(
            [new[name]], [case.state[name]]
        )
        if constant or name in case.unread:
            continue
        old = same([tensor], [case.state[name]])
        assert old == (name in case.frozen), (
            f"{name} has {'no' if old else 'a'} fresh value"
        )


def built(case):
    """Reinitializing from a new model gives the tail that model's values, bit for bit."""
    new = fresh_state(case.net.build, stream(0, "built"))
    with _given_back(case.cut.tail):
        case.cut.reinitialize(case.net.build, stream(0, "built"))
        for name, tensor in case.in_tail().items():
            # A buffer of another shape is worked out for the size of the inputs.
            held = name in case.frozen or tensor.shape != new[name].shape
            value = case.state[name] if held else new[name]
            assert same([tensor], [value]), f"{name} has not the value of its model"


LAWS = {
    law.__name__: law
    for law in (identity, rows, gradients, frozen, built, train, live, fresh, unchanged)
}


def _prefix(case, x):
    return case.cut.prefix(tree_map(torch.clone, x))


def _part(case, x):
    """Return what the prefix gives for some of the inputs; None if the model takes another path.

    A mask that masks nothing may be left out: then there are other values than when it
    was cut, and a prefix says so.
    """
    try:
        return _prefix(case, x)
    except NotKept:
        if case.same_path(x):
            raise
        return None


def _held_value(case):
    """Read the feature inside a tail that is the whole model."""
    whole = next(
        m for m in case.cut.tail.eval().modules() if type(m) is type(case.model)
    )
    with torch.no_grad():
        return feature_value(whole, case.feature, case.x)


def _train(case, optimizer):
    labels = torch.arange(count(case.x)) % 3
    with seed(0):
        for _ in range(3):
            optimizer.zero_grad()
            output = case.cut.tail.train()(_prefix(case, case.x))
            if output.requires_grad:  # a layer that is dropped leaves none
                functional.cross_entropy(output, labels).backward()
            optimizer.step()


def _by_gradient(case):
    value = [v for v in case.value(case.x) if v.requires_grad and v.is_floating_point()]
    names = [n for n in sorted(case.frozen) if isinstance(case.state[n], nn.Parameter)]
    if not (value and names):
        return set()
    draws = torch.Generator().manual_seed(0)
    total = sum(
        ((v * torch.randn(v.shape, generator=draws)).sum() for v in value),
        torch.zeros(()),
    )
    try:
        found = _grads(total, (case.state[name] for name in names))
    except (
        RuntimeError
    ):  # a later write in place undid what this gradient needs, if not the loss's
        return set()
    return {
        name for name, g in zip(names, found, strict=True) if g is not None and g.any()
    }


def _grads(total, parameters):
    return torch.autograd.grad(total, list(parameters), allow_unused=True)


def _moves(case, tensor, before, times=1):
    with _moved([tensor], times):
        return not same(case.value(case.x), before)


@contextmanager
def _moved(tensors, times=1):
    """Move tensors by about their own size, or as often; upwards, so that a variance stays one."""
    draws = torch.Generator().manual_seed(0)
    saved = [(t, t.detach().clone()) for t in tensors]
    try:
        for tensor, old in saved:
            size = old.abs().mean().clamp(min=0.01)
            tensor.add_((torch.rand(old.shape, generator=draws) + 0.5) * (times * size))
        yield
    finally:
        for tensor, old in saved:
            tensor.copy_(old)


def _assert_close(got, expected, what, least=0.0):
    """To a 10^4th of the largest entry: sums in another order differ by no more."""
    assert got.shape == expected.shape, (
        f"{what} has shape {got.shape}, not {expected.shape}"
    )
    if not expected.is_floating_point() and not expected.is_complex():
        assert torch.equal(got, expected), f"{what} differs"
        return
    if torch.equal(got, expected):  # also where they are infinite
        return
    off = float((got - expected).abs().max()) / max(
        float(expected.abs().max()), least, 1e-12
    )
    assert off <= 1e-4, f"{what} is off by {off:.1g} of the largest entry"
