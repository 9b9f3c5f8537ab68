"""A user's own network, data and checkpoints: good ones, and others with one mistake each."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

import probe
from tests.bad_input.making import TRAP, Trap, saved, study
from tests.bad_input.refused import contents

CODE = """
import sys

import torch
from torch import nn

import probe


@probe.network("own", features=["0"])
def build():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))


def half(n=24, classes=4, size=6):
    y = torch.arange(n) % classes
    return torch.randn(n, size), y


x, y = half()


def load():
    return half(), half()


def changed(train=(x, y), test=(x, y)):
    return lambda: (train, test)


class Raising(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))

    def forward(self, x):
        raise ValueError("line one\\nline two")


class Pair(Raising):
    def forward(self, x):
        return (nn.Sequential.forward(self, x),) * 2


def few():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def lazy():
    return nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.Linear(5, 4))


def meta():
    return build().to("meta")


def leaving():
    sys.exit(0)


def nothing():
    return None


def data_one():
    return half()[0]


data_below = changed(train=(x, y - 1))
data_floats = changed(train=(x, y + 0.5))
data_onehot = changed(train=(x, nn.functional.one_hot(y)))
data_shapes = changed(test=half(size=7))
data_lengths = changed(train=(x[:-1], y))
data_empty = changed(test=(x[:0], y[:0]))
data_untested = changed(test=(x[y < 2], y[y < 2]))
data_text_labels = changed(train=(x, [str(each) for each in y]))
data_nan = changed(train=(x * float("nan"), y))
data_texts = changed(train=(["a"] * len(y), y))
"""

OTHERS = {
    "ownnone.py": "x = 1\n",
    "ownours.py": "import probe\n@probe.network('mlp')\ndef build(): ...\n",
    "ownname.py": "import probe\n@probe.network('my net')\ndef build(): ...\n",
    "owntold.py": (
        "import probe\nfrom ownnets import *\n"
        "probe.network('told', call=lambda model, x, task: model(x))(build)\n"
    ),
    "ownnumber.py": "import probe\nprobe.network('mine')(3)\n",
    "ownraises.py": "raise ValueError('one\\ntwo')\n",
}


NETWORK = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))
WEIGHTS = NETWORK.state_dict()
GOOD = saved(WEIGHTS)
BAD: dict[str, Any] = {
    "cut": GOOD[:-40],
    "empty": b"",
    "trap": TRAP,
    "trap-entry": saved({**WEIGHTS, "x": Trap()}),
    "optimizer": saved({"optimizer": {"lr": 0.1}, "epoch": 3}),
    "complex": saved({name: each.cfloat() for name, each in WEIGHTS.items()}),
    "lacking": saved({name: each for name, each in WEIGHTS.items() if name != "2.bias"}),
}
"""The second checkpoint of a run, of which the first is good."""


def recorded() -> dict[str, bytes | str]:
    """Return a recording, by its files, of a network that was called by a function."""
    data, tasks = (torch.randn(24, 6), torch.arange(24) % 4), [[0, 1], [2, 3]]
    with TemporaryDirectory() as folder:
        rec = probe.Recorder(folder, NETWORK, data, tasks, call=lambda model, x: model(x))
        rec.after_task(1)
        files = contents(Path(folder)).items()
        return {f"rec/{path.relative_to(folder)}": each for path, each in files if each is not None}


GOOD_ONES = (
    *(f"ck/seed{seed}-task{task}" for seed in (0, 1) for task in (1, 2)),
    *("ck/offline-0", *(f"ck-{name}/task1" for name in BAD)),
    *("ck-orders/a-seed0-task2", "ck-orders/b-seed0-task2"),
    *("ck-ragged/seed0-task1", "ck-ragged/seed0-task2", "ck-ragged/seed1-task2"),
    *("ck-grid/a-seed0-task2", "ck-grid/a-seed1-task2", "ck-grid/b-seed0-task2"),
    *("ck-first/task1", "ck-twice/task2", "ck-twice/task02"),
)
FILES: dict[str, bytes | str] = {
    "ownnets.py": CODE,
    **OTHERS,
    **{f"{name}.pt": GOOD for name in GOOD_ONES},
    **{f"ck-{name}/task2.pt": content for name, content in BAD.items()},
    "orders-more.toml": "a = [1, 2, 3]\nb = [2, 1, 3]\n",
    "orders-text.toml": 'a = ["1", "2"]\n',
    "orders-broken.toml": "a = [1, 2\n",
    "rec-none/runs/x": "",
    **recorded(),
    "told.toml": study({"network.name": '"told"', "network.features": '["0"]'}),
    "own.toml": study({"network.name": '"own"', "network.features": '["0"]'}),
}
