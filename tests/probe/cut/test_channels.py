"""The axis of channels is told by the modules that made a value, never by its shape."""

import pytest
import torch
from torch import nn

from probe.cut.cuts import find_each
from probe.cut.model_call import ModelCall
from tests.laws.zoo.written import Written


class Sum(nn.ModuleList):
    def forward(self, x):
        return self[0](x) + self[1](x)


class Moved(nn.Module):
    """Dimensions moved or parted by a function."""

    def __init__(self, move):
        super().__init__()
        self.move = move

    def forward(self, x):
        return self.move(x)


LINE = torch.randn(5, 8, 12)
SQUARE = torch.randn(5, 8, 8)
MAP = torch.randn(
    5,
    8,
    6,
    6,
)
FIRST = [
    *(
        (LINE, m)
        for m in (nn.Conv1d(8, 9, 3), nn.InstanceNorm1d(8), nn.GroupNorm(2, 8))
    ),
    *((LINE, m) for m in (nn.MaxPool1d(2), nn.AdaptiveAvgPool1d(3), nn.LPPool1d(2, 2))),
    *(
        (MAP, m)
        for m in (nn.ConvTranspose2d(8, 9, 3), nn.AdaptiveMaxPool2d(2), nn.AvgPool2d(2))
    ),
    (LINE, nn.Sequential(nn.BatchNorm1d(8), nn.Dropout1d(), nn.Hardswish(True))),
    (LINE, nn.Sequential(nn.Conv1d(8, 8, 1), nn.LayerNorm((8, 12)), nn.Identity())),
    (SQUARE, Sum([nn.Identity(), nn.Conv1d(8, 8, 1)])),
    (
        SQUARE,
        nn.Sequential(nn.Linear(8, 8), Moved(lambda x: x.mT)),
    ),
    (
        LINE,
        nn.Sequential(nn.Conv1d(8, 9, 3), Moved(lambda x: x[:, :, 2:])),
    ),
    (
        MAP,
        nn.Sequential(nn.Conv2d(8, 9, 3), nn.Flatten(2)),
    ),
]
LAST = [
    *(
        (LINE, m)
        for m in (nn.Linear(12, 8), nn.LayerNorm(12), nn.RMSNorm(12), nn.GRU(12, 7))
    ),
    *(
        (LINE, m)
        for m in (nn.LSTM(12, 7, batch_first=True), nn.TransformerEncoderLayer(12, 2))
    ),
    *(
        (LINE, nn.MultiheadAttention(12, 2, batch_first=first))
        for first in (False, True)
    ),
    (LINE, nn.Sequential(nn.Linear(12, 12), nn.GELU(), nn.Dropout())),
    (torch.randint(8, (5, 9)), nn.Embedding(8, 6)),
    (SQUARE, nn.Sequential(nn.Conv1d(8, 8, 3, padding=1), Moved(lambda x: x.mT))),
    (MAP, nn.Sequential(nn.Linear(6, 7), nn.Flatten(1, 2), nn.Unflatten(1, (8, 6)))),
    (
        MAP,
        nn.Sequential(nn.Conv2d(8, 8, 1), Moved(lambda x: x.movedim(1, 3).roll(1, 1))),
    ),
    (
        MAP,
        nn.Sequential(
            nn.Linear(6, 8), Moved(lambda x: x.transpose(1, 2).reshape(len(x), 48, 8))
        ),
    ),
]
NONE = [
    *((LINE, m) for m in (nn.Identity(), nn.LayerNorm((8, 12)))),
    (LINE, nn.Sequential(nn.Conv1d(8, 9, 3), nn.Flatten(), nn.Unflatten(1, (9, 10)))),
    (SQUARE, Sum([nn.Linear(8, 8), nn.Conv1d(8, 8, 1)])),
    (
        MAP,
        nn.Sequential(nn.Conv2d(8, 8, 1), Moved(lambda x: x.movedim(1, 2))),
    ),
    (SQUARE, nn.Sequential(nn.Linear(8, 8), Moved(lambda x: x.reshape(len(x), 16, 4)))),
]


@pytest.mark.parametrize(
    ("axis", "cases"),
    [
        ("first", FIRST),
        ("last", LAST),
        (None, NONE),
    ],
)
def test_the_module_tells(axis, cases):
    def forward(m, x):
        y = (
            m.inner(x, x, x)
            if isinstance(m.inner, nn.MultiheadAttention)
            else m.inner(x)
        )
        return m.head((y[0] if isinstance(y, tuple) else y).flatten(1)[:, :8])

    for x, module in cases:
        model = Written(
            forward, {"inner": lambda module=module: module, "head": (8, 2)}
        )
        [found] = find_each(
            model,
            ["inner"],
            x,
            ModelCall(),
            "tail",
        )
        assert found.facts.value[0].axis == axis, module
