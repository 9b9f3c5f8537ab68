"""A user's own networks, checkpoints, data and code, each with one mistake."""

from torch import nn

from tests.bad_input.making import TRAP, saved, study

CODE = """
import sys
import torch
from torch import nn
import probe

@probe.network("own", features=["0"])
def build():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4))

x, y = torch.randn(24, 6), torch.arange(24) % 4

def load():
    return (x, y), (x, y)

def changed(train=(x, y), test=(x, y)):
    return lambda: (train, test)

class Raising(nn.Sequential):
    def __init__(self):
        super().__init__(*build())

    def forward(self, x):
        raise ValueError("line one\\nline two")

class Leaving(nn.Module):
    def forward(self, x):
        sys.exit(5)

class Pair(Raising):
    def forward(self, x):
        return (nn.Sequential.forward(self, x),) * 2

def few():
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))

def leaving():
    sys.exit(0)

plain = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
data_untested = changed(test=(x[y < 2], y[y < 2]))
"""
WEIGHTS = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4)).state_dict()
GOOD = saved(WEIGHTS)
# The second checkpoint of a run, of which the first is good.
BAD = {
    "cut": GOOD[:-40],
    "trap": TRAP,
    "optimizer": saved({"optimizer": {"lr": 0.1}, "epoch": 3}),
    "lacking": saved(
        {name: value for name, value in WEIGHTS.items() if name != "2.bias"}
    ),
}
THERE = (
    "ck/offline-0",
    "ck/seed0-task1",
    "ck/seed0-task2",
    *(f"ck-{name}/task1" for name in BAD),
    "ck-orders/a-task2",
    "ck-ragged/seed0-task1",
    "ck-ragged/seed0-task2",
    "ck-ragged/seed1-task2",
    "ck-twice/task2",
    "ck-twice/task02",
)
FILES = {
    "ownnets.py": CODE,
    "broken.py": "def build(:\n",
    "lacking.py": "import surely_not_installed\n",
    "exits.py": "raise SystemExit(4)\n",
    "ownnone.py": "x = 1\n",
    "ownours.py": "import probe\n@probe.network('mlp')\ndef build(): ...\n",
    "ownname.py": "import probe\n@probe.network('my net')\ndef build(): ...\n",
    "orders-text.toml": 'a = ["1", "2"]\n',
    "rec-none/runs/x": "",
    "own.toml": study({"network.name": '"own"', "network.features": '["0"]'}),
    **{f"{name}.pt": GOOD for name in THERE},
    **{f"ck-{name}/task2.pt": content for name, content in BAD.items()},
}
MODEL = (
    "model ownnets:{} --data ownnets:{} --checkpoints {} --tasks {} --workers 1 --out "
    "new-run"
)
SEED = "'ck/seed0-task{task}.pt'"


def model(build="build", data="load", files=SEED, tasks="0-1,2-3"):
    return MODEL.format(build, data, files, tasks)


ORDERS = model(files="'ck-orders/{order}-task{task}.pt'")
MISTAKES = {
    **{model(files=f"'ck-{x}/task{{task}}.pt'"): (f"ck-{x}/task2.pt",) for x in BAD},
    model(files="'absent/task{task}.pt'"): ("absent",),
    model(files="'ck/*.pt'"): ("'ck/*.pt'", "{task}"),
    model(files="'ck/seed{sed}-task{task}.pt'"): ("'sed'", "'seed'"),
    model(files="rec-none"): ("rec-none",),
    model(files="'ck-twice/task{task}.pt'"): (
        "ck-twice/task02.pt",
        "ck-twice/task2.pt",
    ),
    model(files="'ck-ragged/seed{seed}-task{task}.pt'"): ("seed-1",),
    model("few"): ("[4, 5]", "[3, 5]"),
    model("absent"): ("'absent'",),
    model("Raising"): ("line one line two",),
    model("Pair"): ("tuple",),
    model(tasks="0-1,2"): ("[3]",),
    model(tasks="3-2,0-1"): ("'3-2,0-1'",),
    model(tasks="''"): ("--tasks expects",),
    model(data="leaving"): ("ownnets:leaving", "SystemExit"),
    model(data="data_untested"): ("'2-3'",),
    f"{model()} --readouts Linear": ("'Linear'", "'linear'"),
    f"{model()} --offline 'ck/offline-{{seed}}.pt' --train-offline": ("offline",),
    f"{ORDERS} --orders orders-text.toml": ("a.0", "'1'"),
    "model ownnets:build": ("--data",),
    "layers mien:build --input 4": ("'mien'",),
    "layers ownnets:plian --input 4": ("'plian'", "'plain'"),
    "layers ownnets:Leaving --input 4": ("SystemExit",),
    **{f"layers {x}:build --input 4": (x,) for x in ("broken", "exits", "lacking")},
    **{
        f"run own.toml --out new-run --load {x}.py": (said,)
        for x, said in (
            ("ownnone", "ownnone"),
            ("ownours", "'mlp'"),
            ("ownname", "'my net'"),
            ("ownnets", "mat1 and mat2"),
            ("ownnets.py --load ownnets", "ownnets"),
        )
    },
    "run own.toml --out new-run": ("'own'", "--load"),
}
