"""Rows of mapped files are the tensor that they stand for, whatever is done with them."""

import numpy as np
import pytest
import torch

from probe.batch import pieces, tensor_hash
from probe.examples import Examples, check_examples, join
from probe.memory import FileRows
from probe.tasked_examples import assign_tasks
from probe.tasks import Scenario
from probe.values.layout import Inputs

RNG = np.random.default_rng(0)
WIDE = RNG.standard_normal((9, 2, 3))
# One byte off, as in an archive of numpy.
ODD = np.ndarray(
    (5, 2, 3),
    "f4",
    bytes(1) + RNG.standard_normal(30).astype("f4").tobytes(),
    1,
)
HALF = RNG.standard_normal((4, 2, 3)).astype(">f2")
PLAIN = torch.arange(12.0).view(2, 2, 3)

EACH, MIXED = (WIDE, ODD, WIDE, HALF), torch.tensor([3, 28, 3, 20, 11, 24, 0, 27, 9, 8])
ROWS = torch.cat(
    [
        *(FileRows([each]) for each in EACH),
        PLAIN,
        PLAIN,
    ]
).at(MIXED)
SAME = torch.cat(
    [
        *(torch.tensor(each.astype("f4")) for each in EACH),
        PLAIN,
        PLAIN,
    ]
)[MIXED]
SOME = torch.tensor([7, 0, 0, 5])

READ = {
    "index_select": lambda x: x.index_select(0, SOME),
    "index_select of columns": lambda x: x.index_select(2, SOME % 3),
    "slice": lambda x: x[2:9:3],
    "none": lambda x: x[:0],
    "slice of columns": lambda x: x[:, 1:],
    "split columns": lambda x: torch.stack(x.split(1, 2)),
    "cat columns": lambda x: torch.cat([x, SAME], 1),
    "cat of types": lambda x: torch.cat([x, SAME.double()]),
    "strided": lambda x: x.as_strided(
        (4, 3),
        (6, 2),
        1,
    ),
}
UNREAD = {
    "moved": lambda x: x.detach().to("cpu"),
    "split": lambda x: torch.cat(x.split(3)),
    "joined": lambda x: (
        join([Examples(x, torch.zeros(10).long()), Examples(PLAIN, SOME[:2])]).x
    ),
    "part": lambda x: Examples(x, torch.arange(10)).part(SOME).x,
    "of classes": lambda x: Examples(x, torch.arange(10)).of_classes([2, 5]).x,
    "vectors": lambda x: x.as_strided((10, 6), (6, 1)),
}


# Of a file's rows, and of the memory of one or two tensors.
KINDS = {
    "files": (ROWS, SAME),
    "a tensor": (
        FileRows.of(SAME.flip(0)).at(torch.arange(9, -1, -1)),
        SAME,
    ),
    "two tensors": (torch.cat([FileRows.of(SAME[:4]), SAME[4:]]), SAME),
    "bytes": (FileRows.of(SAME.byte()), SAME.byte()),
    "two of bf16": (
        torch.cat([FileRows.of(x.bfloat16()) for x in SAME.split(5)]),
        SAME.bfloat16(),
    ),
}


# These join them with a tensor of float32.
FLOAT = {"cat columns", "joined"}
PAIRS = [
    (n, k)
    for k in KINDS
    for n in READ | UNREAD
    if n not in FLOAT or KINDS[k][1] is SAME
]


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_they_are_the_tensor_that_they_stand_for(name, kind):
    found, expected = ((READ | UNREAD)[name](x) for x in KINDS[kind])
    assert (type(found) is FileRows) == (name in UNREAD)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert torch.equal(found + 0, expected)


def test_inputs_and_hashes_are_those_of_the_tensor():
    assert tensor_hash({"x": ROWS}) == tensor_hash({"x": SAME})
    assert torch.equal(torch.cat([*pieces(ROWS)]), SAME)
    assert torch.equal(Inputs(ROWS)[SOME], SAME[SOME])
    assert type(Inputs(ROWS).rows[0]) is FileRows


def test_tasks_share_the_memory_of_large_data():
    x, y = torch.arange(40.0)[:, None].repeat(1, 2**19), torch.arange(40) % 4
    examples = assign_tasks(
        dict.fromkeys(("train", "test"), (x, y)),
        [[0, 1], [2, 3]],
    )
    merged = Scenario.of_examples("large", examples).reordered([1, 0]).merged
    for part in (merged.train.x, merged.test.x):
        assert {source.ctypes.data for source in part.sources} == {x.data_ptr()}
        expected = [i for i in range(40) if i % 4 > 1] + [
            i for i in range(40) if i % 4 < 2
        ]
        assert part[:, :1].flatten().tolist() == expected


def test_so_do_large_parts_that_are_joined():
    parts = [
        torch.arange(20.0 * k, 20.0 * k + 20)[:, None].repeat(1, 2**18) for k in (0, 1)
    ]
    joined = join([Examples(x, torch.arange(20)) for x in parts])
    assert {source.ctypes.data for source in joined.x.sources} == {
        x.data_ptr() for x in parts
    }
    assert joined.x[:, 0].tolist() == [*range(40)]
    images = torch.randn(3, 4, 4, 2).permute(0, 3, 1, 2)
    check_examples(
        Examples(images, torch.arange(3)),
        range(3),
        "x",
    )


def test_what_was_looked_at_is_not_read_again(monkeypatch):
    monkeypatch.setattr(
        FileRows,
        "read",
        None,
    )
    known = join(
        [
            Examples(
                FileRows([ODD], finite=True),
                torch.arange(5),
            )
        ]
        * 2
    )
    check_examples(
        known.of_classes([0, 1]),
        range(2),
        "x",
    )
    with pytest.raises(TypeError):
        check_examples(
            join(
                [
                    known,
                    Examples(FileRows([ODD]), torch.arange(5)),
                ]
            ),
            range(5),
            "x",
        )
