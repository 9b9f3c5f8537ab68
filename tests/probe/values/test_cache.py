"""The cache: the same values wherever they live, none kept twice, never more than allowed."""

from typing import get_args

import pytest
import torch
from torch import nn

from probe.batch import mapped, tensors
from probe.cut.cuts import split
from probe.errors import InputError
from probe.values.allocation import Storage
from probe.values.cache import CachedRows, RecomputedRows
from probe.values.layout import Inputs, value_layout
from tests.laws.zoo.specimens import specimen

SIZE = 16
CUTS = [
    ("cnn3", "conv1"),
    ("reduced_resnet18", "layer3"),
    ("a_branch_beside_and_a_skip_across", "side"),
    ("nested", "1"),
]


def layout_of(prefix, inputs, storage="fp32"):
    """The layout of a prefix's values; what is the batch itself is read from the inputs."""
    batch = inputs[torch.arange(SIZE)]
    with torch.no_grad():
        parts = prefix(batch)
    (x,) = tensors(batch)
    same = [
        part.data_ptr() == x.data_ptr() and part.shape == x.shape
        for part in tensors(parts)
    ]
    return value_layout(
        parts, [inputs.layouts[0] if is_it else None for is_it in same], storage
    )


def everywhere(prefix, x, folder, storage="fp32"):
    """The values of a prefix for all inputs, in every place that there is."""
    inputs = Inputs(x)
    layout = layout_of(prefix, inputs, storage)
    folders = {"memory": None, "mapped": folder}
    stored = {
        name: CachedRows(layout, inputs, where) for name, where in folders.items()
    }
    with torch.no_grad():
        for number, (_, _, batch) in enumerate(
            inputs.batches(torch.arange(len(inputs)), SIZE)
        ):
            for rows in stored.values():
                value = prefix(mapped(batch, torch.clone))
                rows.put(value, slice(number * SIZE, (number + 1) * SIZE))
    return {**stored, "recomputed": RecomputedRows(layout, prefix, inputs, SIZE)}


def draws(n):
    """One, a few, repeated ones, more than a batch, and all of n examples."""
    chance = torch.Generator().manual_seed(0)
    some = [torch.randint(n, (count,), generator=chance) for count in (1, 2, 7, 17, 50)]
    return [
        *some,
        torch.tensor(
            [
                n - 1,
                0,
                0,
            ]
        ),
        torch.arange(n),
    ]


class Pair(nn.Module):
    """Gives the input, a channels-last map, indices, one number each, and a transposed map."""

    def __init__(self):
        super().__init__()
        self.map = nn.Conv2d(2, 5, 3)

    def forward(self, x):
        value = self.map(x.contiguous(memory_format=torch.channels_last))
        turned = value.flatten(2).permute(2, 0, 1).contiguous().permute(1, 2, 0)
        return (
            x,
            value,
            value.flatten(1).argmax(1, keepdim=True),
            value.sum((1, 2, 3)),
            turned,
        )


def pair():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Pair().requires_grad_(False), torch.randn(40, 2, 6, 6)


@pytest.mark.parametrize("storage", get_args(Storage))
@pytest.mark.parametrize(("name", "feature"), [("pair", ""), *CUTS])
def test_values_are_the_same_wherever_they_live(name, feature, storage, tmp_path):
    if name == "pair":
        prefix, x = pair()
    else:
        model, x, _ = specimen(name)
        prefix = split(model, feature, x[:8]).prefix
    rows = everywhere(prefix, x, tmp_path, storage)
    for indices in draws(len(x)):
        first, *others = (tensors(rows[place][indices]) for place in rows)
        for a, b in (
            (a, b) for other in others for a, b in zip(first, other, strict=True)
        ):
            assert torch.equal(a, b)
            assert (a.stride(), a.dtype) == (b.stride(), b.dtype)
    rounding = (
        {"rtol": 2**-7, "atol": 1e-5}
        if storage == "bf16"
        else {"rtol": 1e-4, "atol": 1e-5}
    )
    with torch.no_grad():
        every = tensors(prefix(x.clone()))
    got = tensors(rows["memory"][torch.arange(len(x)).flip(0)])
    for a, b in zip(got, every, strict=True):
        if a.is_floating_point():
            torch.testing.assert_close(a, b.flip(0), **rounding)


def test_what_is_handed_out_may_be_written_into(tmp_path):
    prefix, x = pair()
    before = x.clone()
    indices = torch.arange(20)
    for rows in everywhere(prefix, x, tmp_path).values():
        kept = [part.clone() for part in tensors(rows[indices])]
        for part in tensors(rows[indices]):
            part.zero_()
        assert all(map(torch.equal, tensors(rows[indices]), kept))
        assert torch.equal(x, before)


@pytest.mark.parametrize("own", [False, True])
def test_examples_keep_their_slot_in_the_batch_where_it_matters(own, tmp_path):
    """A prefix that adds the slot to the value; without one that does, nothing is done thrice."""

    def numbered(x):
        calls.append(len(x))
        return x + torch.arange(len(x)).view(-1, 1) * own

    calls = []
    x = torch.arange(40.0).view(40, 1)
    rows = everywhere(numbered, x, tmp_path)
    used = []
    for indices in (
        torch.arange(40),
        torch.tensor([5, 6, 7]),
        torch.tensor([5, 21, 7, 5]),
    ):
        calls.clear()
        got = tensors(rows["recomputed"][indices])[0]
        used.append(len(calls))
        assert torch.equal(got[:, 0], x[indices, 0] + (indices % SIZE) * own)
        assert torch.equal(got, tensors(rows["memory"][indices])[0])
    assert used == ([3, 1, 3] if own else [3, 1, 1])


def test_a_value_without_a_shape_of_its_own_is_refused():
    def shrinks(x):
        return x[:, : int(x.sum()) + 1]

    x = torch.zeros(40, 3)
    layout = layout_of(shrinks, Inputs(x))
    with pytest.raises(InputError, match=r"shape depends on the batch"):
        RecomputedRows(layout, shrinks, Inputs(x + 1), SIZE)[torch.arange(4)]
