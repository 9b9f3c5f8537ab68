"""A user's own network, data and checkpoints: good ones, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.bad_input.checkpoints import Mine, member
from tests.bad_input.making import TRAP, Trap, saved, study

CODE = """
import sys

import numpy as np
import torch
from torch import nn

import probe


@probe.network("own", features=["0"])
def build():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))


def half(n=24, classes=4, size=6):
    y = torch.arange(n) % classes
    return torch.randn(n, size), y


def load():
    return half(), half()


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(6, 5), nn.Linear(5, 4)

    def forward(self, x):
        return self.head(self.body(x).relu())


class Raising(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))

    def forward(self, x):
        raise ValueError("line one\\nline two")


class Leaving(Raising):
    def forward(self, x):
        sys.exit(0)


class Pair(Raising):
    def forward(self, x):
        y = nn.Sequential.forward(self, x)
        return y, y


def wide():
    return nn.Sequential(nn.Linear(6, 7), nn.ReLU(), nn.Linear(7, 4))


def few():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def many():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 9))


def frozen():
    return nn.Sequential(nn.Flatten(), nn.ReLU())


def raising():
    raise RuntimeError("no weights\\nfound")


def leaving():
    sys.exit(3)


def wanting(width):
    return nn.Linear(width, 2)


def nothing():
    return None


def state():
    return build().state_dict()


def data_raising():
    raise OSError("no disk")


def data_leaving():
    sys.exit(0)


def data_wanting(folder):
    return load()


def data_one():
    return half()[0]


def data_three():
    return half(), half(), half()


def data_none():
    return None


def data_below():
    x, y = half()
    return (x, y - 1), (x, y)


def data_floats():
    x, y = half()
    return (x, y + 0.5), (x, y + 0.5)


def data_onehot():
    x, y = half()
    return (x, nn.functional.one_hot(y)), (x, nn.functional.one_hot(y))


def data_shapes():
    return half(), half(size=7)


def data_lengths():
    x, y = half()
    return (x[:-1], y), (x, y)


def data_empty():
    x, y = half()
    return (x, y), (x[:0], y[:0])


def data_empty_train():
    x, y = half()
    return (x[:0], y[:0]), (x, y)


def data_lacking():
    x, y = half()
    return (x[y < 3], y[y < 3]), (x, y)


def data_lacking_test():
    x, y = half()
    return (x, y), (x[y < 3], y[y < 3])


def data_untested():
    x, y = half()
    return (x, y), (x[y < 2], y[y < 2])


def data_text_labels():
    x, y = half()
    return (x, [str(each) for each in y]), (x, y)


def data_more():
    return half(classes=6), half(classes=6)


def data_nan():
    x, y = half()
    return (x * float("nan"), y), (x, y)


def data_texts():
    x, y = half()
    return (["a"] * len(y), y), (x, y)


def data_other():
    return half(size=8), half(size=8)


number = 3
"""

OTHERS = {
    "ownnone.py": "x = 1\n",
    "owntwice.py": "import probe\n@probe.network('own')\ndef one(): ...\n"
    "@probe.network('own')\ndef two(): ...\n",
    "ownours.py": "import probe\n@probe.network('mlp')\ndef build(): ...\n",
    "owndigits.py": "import probe\n@probe.data('digits')\ndef load(): ...\n",
    "ownname.py": "import probe\n@probe.network('my net')\ndef build(): ...\n",
    "ownnumber.py": "import probe\nprobe.network('mine')(3)\n",
    "ownraises.py": "raise ValueError('one\\ntwo')\n",
    "ownexits.py": "raise SystemExit(4)\n",
    "ownlearner.py": "from scenarios.learners.catalog import learner\n"
    "@learner('mine')\nclass Mine: ...\n",
}


def weights(hidden: int = 5, outputs: int = 4, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return a state dict of the network that the code builds, or of a wider one."""
    draw = torch.Generator().manual_seed(seed)
    shapes = {"0": (hidden, 6), "2": (outputs, hidden)}
    return {
        f"{name}.{part}": torch.randn(shape if part == "weight" else shape[:1], generator=draw)
        for name, shape in shapes.items()
        for part in ("weight", "bias")
    }


GOOD = saved(weights())
BAD: dict[str, Any] = {
    "cut": GOOD[:-40],
    "half": GOOD[: len(GOOD) // 2],
    "empty": b"",
    "text": b"weights",
    "trap": TRAP,
    "trap-torch": saved(Trap()),
    "trap-entry": saved({**weights(), "x": Trap()}),
    "trap-zip": member(TRAP),
    "whole": saved(nn.Linear(6, 4)),
    "whole-own": saved(Mine(6, 4)),
    "tensor": saved(torch.ones(3)),
    "list": saved([torch.ones(3)]),
    "nothing": saved({}),
    "optimizer": saved({"optimizer": {"lr": 0.1}, "epoch": 3}),
    "lacking": saved({name: each for name, each in weights().items() if name != "2.bias"}),
    "more": saved({**weights(), "4.bias": torch.ones(2)}),
    "wider": saved(weights(hidden=7)),
    "outputs": saved(weights(outputs=3)),
    "others": saved({f"layer{name}": each for name, each in weights().items()}),
}
"""The second checkpoint of a run, of which the first is good."""

FILES: dict[str, bytes | str] = {
    "ownnets.py": CODE,
    **OTHERS,
    **{f"ck/seed{seed}-task{task}.pt": GOOD for seed in (0, 1) for task in (1, 2)},
    "ck/offline-0.pt": GOOD,
    **{f"ck-{name}/task1.pt": GOOD for name in BAD},
    **{f"ck-{name}/task2.pt": content for name, content in BAD.items()},
    "ck-orders/a-seed0-task2.pt": GOOD,
    "ck-orders/b-seed0-task2.pt": GOOD,
    "ck-ragged/seed0-task1.pt": GOOD,
    "ck-ragged/seed0-task2.pt": GOOD,
    "ck-ragged/seed1-task2.pt": GOOD,
    "ck-grid/a-seed0-task2.pt": GOOD,
    "ck-grid/a-seed1-task2.pt": GOOD,
    "ck-grid/b-seed0-task2.pt": GOOD,
    "ck-first/task1.pt": GOOD,
    "ck-zero/task0.pt": GOOD,
    "ck-twice/task2.pt": GOOD,
    "ck-twice/task02.pt": GOOD,
    "ck-misnamed/seedX-task2.pt": GOOD,
    "ck-folder/task2.pt/x": "",
    "ck-none/readme.txt": "",
    "ck-off/offline-7.pt": GOOD,
    "ck-off/offline-0.pt": BAD["wider"],
    "orders-good.toml": "a = [1, 2]\nb = [2, 1]\n",
    "orders-more.toml": "a = [1, 2, 3]\nb = [2, 1, 3]\n",
    "orders-twice.toml": "a = [1, 1]\nb = [2, 1]\n",
    "orders-zero.toml": "a = [0, 1]\nb = [1, 0]\n",
    "orders-lacking.toml": "a = [1, 2]\n",
    "orders-table.toml": "[a]\nx = 1\n",
    "orders-text.toml": 'a = ["1", "2"]\n',
    "orders-broken.toml": "a = [1, 2\n",
    "orders-empty.toml": "",
    "rec-none/runs/x": "",
    "own.toml": study({"network.name": '"own"', "network.features": '["0"]'}),
    "own-target.toml": study({"network.name": '"ownnets:build"'}),
    "own-file.toml": study({"network.name": '"ownnets.py"'}),
    "own-data.toml": study({"scenario.data": '"ownnets:load"'}),
    "own-kind.toml": study({"learners": '{ a = { kind = "ownnets:Named" } }'}),
    "own-wide.toml": study({"network.name": '"own"', "network.features": '["9"]'}),
}
