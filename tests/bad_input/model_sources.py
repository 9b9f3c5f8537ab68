"""Modules whose models `probe layers` cannot look into."""

MODELS = """
import sys
import torch
from torch import nn

class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, x):
        return {"logits": self.out(self.words(x).mean(1)), "state": x}

class Leaving(nn.Module):
    def forward(self, x):
        sys.exit(5)

class Interrupting(nn.Module):
    def forward(self, x):
        raise KeyboardInterrupt

class Raising(nn.Module):
    def forward(self, x):
        raise ValueError("line one\\nline two")

class Nothing(nn.Module):
    def forward(self, x):
        return None

class Deep(nn.Module):
    def forward(self, x):
        return self(x)

class Lazy(nn.Sequential):
    def __init__(self):
        super().__init__(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(2))

class Stopping(nn.Module):
    def forward(self, x):
        raise StopIteration

class Asserting(nn.Module):
    def forward(self, x):
        assert x.shape[1] == 99

class Huge(nn.Module):
    def forward(self, x):
        return torch.zeros(10**15)

class Generating(nn.Module):
    def forward(self, x):
        raise GeneratorExit

class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no words")

class Wordless(nn.Module):
    def forward(self, x):
        raise Odd

def fails():
    raise RuntimeError("no weights\\nfound")

def odd():
    raise Odd

def needs(size):
    return nn.Linear(size, 2)

def leaves():
    sys.exit(3)

def ends():
    raise GeneratorExit

def nothing():
    return None

def a_class():
    return nn.Linear

def forever():
    return forever()

plain = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
empty = nn.Sequential()
number = 3
state = plain.state_dict()
"""
SOURCES = {
    "mine.py": MODELS,
    "broken.py": "def build(:\n",
    "indented.py": "  x = 1\n y = 2\n",
    "latin.py": b"x = '\xe9'\n",
    "nul.py": b"x = 1\x00\n",
    "deep.py": "x = " + "(" * 5000 + ")" * 5000 + "\n",
    "lacking.py": "import surely_not_installed\n",
    "lacking_name.py": "from torch import surely_not_there\n",
    "raises.py": "raise ValueError('one\\ntwo')\n",
    "exits.py": "raise SystemExit(4)\n",
    "exits_well.py": "raise SystemExit\n",
    "ends.py": "raise GeneratorExit\n",
    "odd.py": "class Odd(Exception):\n    def __str__(self):\n        1 / 0\nraise Odd\n",
    "circular.py": "import circular_too\nx = circular_too.y\n",
    "circular_too.py": "import circular\ny = circular.x\n",
    "forever.py": "def f():\n    f()\nf()\n",
    "empty.py": "",
    "many.py": "".join(f"def build{n}(): ...\n" for n in range(50)),
    "package/__init__.py": "",
    "package/inner.py": "import package.missing\n",
    "data.txt": "x",
}
