"""The networks of the runs in `tests/record_fixtures`, as a user would write factories of them."""

from functools import partial
from pathlib import Path

import torch
from torch import nn

from tests.record_fixtures.pictures import WIDTH, Body, pictures

RUNS = Path(__file__).parents[2] / "record_fixtures"


class Mammoth(Body):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Linear(WIDTH, 6)

    def features(self, x):
        return super().forward(x / 255)

    def forward(self, x):
        return self.classifier(self.features(x))


class Facil(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = Body()
        self.heads = nn.ModuleList(nn.Linear(WIDTH, 2) for _ in range(3))

    def features(self, x):
        return self.model((x / 255 - 0.1307) / 0.3081)

    def forward(self, x):
        features = self.features(x)
        return torch.cat([head(features) for head in self.heads], 1)


class Fc(nn.Module):
    def __init__(self, body, outputs):
        super().__init__()
        self.add_module(body, Body())
        self.body, self.fc = body, nn.Linear(WIDTH, outputs)

    def features(self, x):
        return self.get_submodule(self.body)(x / 255)

    def forward(self, x):
        return self.fc(self.features(x))


Pycil, Pilot = partial(Fc, "convnet", 30), partial(Fc, "backbone", 14)


def examples(classes):
    """Return pictures (N, 1, 6, 6) and their classes, numbered as in the data."""
    x, y = pictures(classes, train=False)
    return torch.from_numpy(x)[:, None].float(), torch.from_numpy(y)
