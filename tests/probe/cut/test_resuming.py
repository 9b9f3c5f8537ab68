"""Passes that start at kept values give, bit for bit, what passes from the input give."""

import itertools
import random
from contextlib import (
    contextmanager,
    nullcontext,
    suppress,
)

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from probe.batch import identical, mapped
from probe.cut.cuts import find_each
from probe.cut.model_call import ModelCall, undisturbed
from probe.cut.resuming import Passes, Starts
from probe.errors import InputError, NotKept
from probe.modules import copied, named_state, unwrapped
from probe.rewinding.blocks import Earlier, blocks_of, changed_blocks, rewound
from tests.laws.zoo.examine import spread
from tests.laws.zoo.hostile import HOSTILE
from tests.laws.zoo.specimens import CHAINS

SMALL = {**HOSTILE, **CHAINS}
del SMALL["noise_before"]  # every value in it is drawn


def cuts_of(net, model, sample, call):
    features = list(net.features) or spread(net, model, sample, 4)
    cuts = find_each(model, features, sample, call, "tail")
    return sorted(cuts, key=lambda cut: cut.facts.position)


def with_other_weights(model):
    other = copied(model)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for tensor in named_state(other).values():
            if tensor.is_floating_point():
                tensor.mul_(1 + 0.3 * torch.rand(tensor.shape, generator=generator))
    return other


def compare(model, cuts, x, call, order=None, watched=nullcontext, before=None):
    """Compare passes with all sets of blocks put back with whole ones; they may be refused.

    Args:
        model: The network.
        cuts: Its cuts.
        x: A batch.
        call: The call of the network.
        order: The order of the sets, None = as if they were numbers.
        watched: A context around each pass.
        before: The earlier network, None = one of other weights.
    """
    starts = Starts.at(cuts)
    blocks = blocks_of(model, [cut.facts for cut in cuts], "all the rest")
    earlier = Earlier.of(before or with_other_weights(model), model)
    changed = list(changed_blocks(blocks, earlier, model).values())[:6]
    sets = list(itertools.product([False, True], repeat=len(changed)))
    if order:
        order.shuffle(sets)
    with undisturbed(x), torch.no_grad():
        passes = Passes(starts, model, lambda batch: call(model, batch), x)
        for flags in sets:
            contents = list(itertools.compress(changed, flags))
            names = itertools.chain.from_iterable(part.tensors for part in contents)
            with rewound(model, contents, earlier), watched():
                logits = passes.logits(frozenset(names))
            with rewound(model, contents, earlier):
                assert identical(logits, call(model, mapped(x, torch.clone)))


@pytest.mark.parametrize("name", SMALL)
def test_every_set_of_blocks_in_any_order(name):
    net = SMALL[name]
    call = ModelCall(output=net.output)
    try:
        model, sample, others = net.made()
        model = unwrapped(model).eval()
        cuts = cuts_of(net, model, sample, call)
        starts = Starts.at(cuts)
    except InputError:
        pytest.skip("a network that is refused")
    if len(starts.plans) == 1:
        pytest.skip("a network whose passes cannot be shared")
    try:
        compare(model, cuts, others, call, random.Random(0))
    except NotKept:
        pytest.skip("other examples take another path")


def chain():
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(6)))


def test_sets_that_follow_each_other_share_what_they_have_in_common():
    """Of six blocks, whose sets are 64, 126 runs of a block for 384."""
    model = chain().eval()
    x = torch.randn(8, 8)
    cuts = find_each(model, ["0", "1", "2", "3", "4"], x, ModelCall(), "tail")
    runs = []

    @contextmanager
    def counted():
        with FlopCounterMode(display=False) as counter:
            yield
        runs.append(counter.get_total_flops() / (2 * 8 * 8 * 8))

    compare(model, cuts, x, ModelCall(), watched=counted)
    assert (len(runs), sum(runs)) == (64, 126)


class Scaled(nn.Module):
    """A first block that is scaled by the last one's weights, in batches of more than 8."""

    def __init__(self, scale):
        super().__init__()
        self.blocks = chain()
        self.scale = scale

    def forward(self, x):
        value = self.blocks[0](x)
        value = self.scale(value, self.blocks[5].weight, len(x) > 8)
        return self.blocks[5](self.blocks[3](value))


def times_unseen(x, weight, is_large):
    """Multiply by a sum that torch's functions do not show."""
    with torch._C.DisableTorchFunction():
        factor = weight.sum()
    return x * factor


@pytest.mark.parametrize(
    "scale",
    [
        lambda x, weight, is_large: x * (weight.sum().item() if is_large else 1.0),
        lambda x, weight, is_large: x * (float(weight[0, 0]) if is_large else 1.0),
        lambda x, weight, is_large: x * (weight.sum() if is_large else 1.0),
        times_unseen,
    ],
)
def test_a_value_that_takes_weights_downstream_of_it(scale):
    """Not all of it is seen in the examples by which a network is cut."""
    model = Scaled(scale).eval()
    sample = torch.randn(8, 8)
    cuts = find_each(model, ["blocks.0", "blocks.3"], sample, ModelCall(), "tail")
    compare(model, cuts, torch.randn(12, 8), ModelCall())


class Twisted(nn.Module):
    """Blocks of which the second takes something else in batches of more than 8."""

    def __init__(self, twist):
        super().__init__()
        self.blocks = chain()
        self.twist = twist
        self.register_buffer("count", torch.tensor(1.0))
        self.register_buffer("start", torch.tensor(1))

    def forward(self, x):
        value = self.twist(self, self.blocks[0](x), x, len(x) > 8)
        return self.blocks[5](self.blocks[3](value))


def counts_in_a_buffer(m, value, x, is_large):
    if is_large:
        m.count += 1
    return value


def replaces_a_weight(m, value, x, is_large):
    if is_large:
        m.blocks[5].weight.data = m.blocks[5].weight * 1
    return value


def catches_all(m, value, x, is_large):
    if is_large:
        with suppress(Exception):
            value = value + x
    return value


def asks_for_the_input(m, value, x, is_large):
    return value + x if is_large else value


def draws(m, value, x, is_large):
    return value + torch.rand_like(value) if is_large else value


def draws_in_python(m, value, x, is_large):
    return value * (random.random() if is_large else 1.0)


def is_trimmed(m, value, x, is_large):
    """Of 12 examples 6 have more positive columns than any of the first 4."""
    longest = int((x > 0).sum(1).max())
    used = value[:, :longest]
    return value + used.sum(1, keepdim=True) / used.shape[1]


@pytest.mark.parametrize(
    "twist",
    [
        counts_in_a_buffer,
        replaces_a_weight,
        catches_all,
        asks_for_the_input,
        draws,
        draws_in_python,
        is_trimmed,
    ],
)
def test_passes_that_cannot_be_shared(twist):
    x = torch.randn(12, 8).abs()
    x[:6, 1:] *= -1
    model = Twisted(twist).eval()
    cuts = find_each(model, ["blocks.0", "blocks.3"], x[:4], ModelCall(), "tail")
    with pytest.raises(NotKept):
        compare(model, cuts, x, ModelCall())


def takes_their_number(m, value, x, is_large):
    weight = m.blocks[5].weight
    return value * (weight[weight > 0.1].numel() if is_large else 1)


def takes_a_number(m, value, x, is_large):
    """Whether a weight is the earlier network's, which no other weights show."""
    return value * (2.0 if m.blocks[5].bias[0] == 0.25 else 1.0)


def takes_a_slice(m, value, x, is_large):
    return value + value[:, m.start : m.start + 4].sum(1, keepdim=True)


@pytest.mark.parametrize("twist", [takes_their_number, takes_a_number, takes_a_slice])
def test_values_that_take_numbers_out_of_weights_downstream(twist):
    model = Twisted(twist).eval()
    before = copied(model)
    with torch.no_grad():
        before.blocks[5].weight.add_(0.2)
        before.blocks[5].bias[0] = 0.25
        before.start += 2
    cuts = find_each(
        model, ["blocks.0", "blocks.3"], torch.randn(8, 8), ModelCall(), "tail"
    )
    compare(model, cuts, torch.randn(12, 8), ModelCall(), before=before)
