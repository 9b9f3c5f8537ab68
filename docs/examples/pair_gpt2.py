"""Fine-tune a small GPT-2: the English of Python's documentation, then Python's code.

The network is made from its configuration and reads bytes. It is trained here on the
docstrings of the standard library first, then on the code of the same modules without
docstrings and comments.

    pip install transformers
    python docs/examples/pair_gpt2.py --seed 0    # two minutes on one core
"""

import argparse
import ast
import sysconfig
from copy import deepcopy
from pathlib import Path

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel

import probe

LENGTH = 64
SIZES = {
    "vocab_size": 256,
    "n_positions": LENGTH,
    "n_embd": 64,
    "n_layer": 4,
    "n_head": 4,
}
PLAIN = {
    "resid_pdrop": 0,
    "embd_pdrop": 0,
    "attn_pdrop": 0,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def documentation_and_code(path):
    """Return the docstrings of a module, and its code without them and without comments."""
    module = ast.parse(path.read_bytes())
    docstrings = []
    for node in ast.walk(module):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            docstrings.append(ast.get_docstring(node))
            node.body = node.body[1:] or [ast.Pass()]
    return "\n".join(docstrings), ast.unparse(module)


def sequences(texts):
    """Cut texts into sequences of bytes, and the bytes that follow them: two of (N, LENGTH)."""
    ids = torch.tensor(list("\n".join(texts).encode()))
    n = (len(ids) - 1) // LENGTH
    return ids[: n * LENGTH].view(n, LENGTH), ids[1 : n * LENGTH + 1].view(n, LENGTH)


def corpora(is_test):
    """Return documentation and code to test on, those of every tenth module, or to train on."""
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    chosen = [path for i, path in enumerate(paths) if (i % 10 == 0) == is_test]
    documentation, code = zip(*map(documentation_and_code, chosen), strict=True)
    return sequences(documentation), sequences(code)


def drawn(data, n):
    """Draw n sequences, the same in every call."""
    x, y = data
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:n]
    return x[rows], y[rows]


def logits(model, x):
    """Return the scores of the next bytes, (N, LENGTH, 256)."""
    return model(input_ids=x).logits


def learn(model, data, steps):
    """Train everything on sequences drawn at random."""
    x, y = data
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(steps):
        rows = torch.randint(len(x), (64,))
        optimizer.zero_grad()
        scores = logits(model, x[rows]).flatten(0, 1)
        nn.functional.cross_entropy(scores, y[rows].flatten()).backward()
        optimizer.step()
    model.eval()


def pair(seed):
    """Return the networks before and after, old and new tests, and examples to train on."""
    documentation, code = corpora(is_test=False)
    documentation_test, code_test = corpora(is_test=True)
    torch.manual_seed(seed)
    before = GPT2LMHeadModel(GPT2Config(**SIZES, **PLAIN))
    learn(before, documentation, steps=800)
    after = deepcopy(before)
    learn(after, code, steps=400)
    train = {"old": drawn(documentation, 1000), "new": drawn(code, 1000)}
    return before, after, drawn(documentation_test, 300), drawn(code_test, 300), train


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    before, after, old, new, train = pair(arguments.seed)
    print(probe.diff(before, after, old, new, train=train, score="loss", call=logits))
