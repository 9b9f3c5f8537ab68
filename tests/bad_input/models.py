"""Models of the user's own that `probe layers` cannot look into."""

from tests.bad_input.refused import several

MODELS = """
import sys
import torch
from torch import nn

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(5, 8), nn.Linear(8, 3)

    def forward(self, x):
        return {"logits": self.out(self.words(x).mean(1)), "state": x}

class Leaving(nn.Module):
    def forward(self, x):
        sys.exit(5)

def needs(size):
    return nn.Linear(size, 2)

def nothing():
    return None

def lazy():
    return nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2))

plain = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
state = plain.state_dict()
"""
FILES = {
    "mine.py": MODELS,
    "broken.py": "def build(:\n",
    "lacking.py": "import surely_not_installed\n",
    "exits.py": "raise SystemExit(4)\n",
    "odd.py": "class Odd(Exception):\n    def __str__(self):\n        1 / 0\nraise Odd\n",
}
OWN = "layers mine:{} --input 4"
MODULE = "layers {}:build --input 4"
WORDS = "layers mine:Words --input 7 --integers"

MISTAKES = {
    MODULE.format("mien"): "there is no module 'mien', neither",
    MODULE.format("mien.py"): "there is no file mien.py",
    "layers mine.plain --input 4": "expected MODULE:FACTORY, got 'mine.plain'",
    **several(
        OWN,
        {
            "plian": "unknown name in mine, 'plian': did you mean 'plain'?",
            "state": "mine:state is of type OrderedDict",
            "needs": "mine:needs() raised TypeError: needs() missing 1 required",
            "nothing": "mine:nothing() returned NoneType",
            "lazy": "'0.weight' has no shape yet, as its module is lazy",
            "Leaving": "the model raised SystemExit...check --input, and --integers",
        },
    ),
    WORDS: "the model returns dict...output=",
    f"{WORDS} --output 0": "returns dict and 0 in it is no tensor",
    **several(
        MODULE,
        {
            "broken": "importing broken raised SyntaxError...correct",
            "exits": "importing exits raised SystemExit...correct",
            "odd": "importing odd raised Odd...correct",
            "lacking": "importing lacking raised ModuleNotFoundError...install or correct",
        },
    ),
}
