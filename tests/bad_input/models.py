"""Models of the user's own that `probe layers` cannot look into."""

from tests.bad_input.refused import each

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

class Deep(nn.Module):
    def forward(self, x):
        return self(x)

class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Wordless(nn.Module):
    def forward(self, x):
        raise Odd

def odd():
    raise Odd

def needs(size):
    return nn.Linear(size, 2)

def leaves():
    sys.exit(3)

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
    "latin.py": b"x = '\xe9'\n",
    "nul.py": b"x = 1\x00\n",
    "lacking.py": "import surely_not_installed\n",
    "exits.py": "raise SystemExit(4)\n",
    "odd.py": "class Odd(Exception):\n    def __str__(self):\n        1 / 0\nraise Odd\n",
    "circular.py": "import circular_too\nx = circular_too.y\n",
    "circular_too.py": "import circular\ny = circular.x\n",
    "package/__init__.py": "",
    "forever.py": "def f():\n    f()\nf()\n",
}
OWN = "layers mine:{} --input 4"
MODULE = "layers {}:build --input 4"
WORDS = "layers mine:Words --input 7 --integers"

MISTAKES = {
    **each(MODULE, "there is no module '{}', neither", "mien", "./mine", "..mine", "mine."),
    MODULE.format("mien.py"): "there is no file mien.py",
    **each("layers {} --input 4", "expected MODULE:FACTORY, got '{}'", "mine.plain", ":plain"),
    OWN.format("plian"): "unknown name in mine, 'plian': did you mean 'plain'?",
    MODULE.format("package"): "unknown name in package, 'build': (known: none)",
    OWN.format("state"): "mine:state is of type OrderedDict",
    **{
        OWN.format(name): f"mine:{name}() raised {said}"
        for name, said in (
            ("odd", "Odd: "),
            ("needs", "TypeError: needs() missing 1 required"),
            ("leaves", "SystemExit: 3: "),
        )
    },
    OWN.format("nothing"): "mine:nothing() returned NoneType",
    OWN.format("lazy"): "'0.weight' has no shape yet, as its module is lazy",
    **{
        OWN.format(name): f"the model raised {error}...check --input, and --integers"
        for name, error in (("Leaving", "SystemExit"), ("Deep", ""), ("Wordless", "Odd"))
    },
    "layers mine:plain --input 5": "the model raised RuntimeError...check --input",
    WORDS: "the model returns dict...output=",
    f"{WORDS} --output __class__": "returns dict and '__class__' in it is no tensor",
    f"{WORDS} --output 0": "returns dict and 0 in it is no tensor",
    **{
        MODULE.format(module): f"importing {module} raised {error}...correct"
        for module, error in (
            ("broken", "SyntaxError"),
            ("latin", "SyntaxError"),
            ("nul", "SyntaxError"),
            ("exits", "SystemExit"),
            ("odd", "Odd"),
            ("circular", "AttributeError"),
            ("forever", "RecursionError"),
            ("lacking", "ModuleNotFoundError"),
        )
    },
}
