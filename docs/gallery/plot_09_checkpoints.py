"""
How do I probe checkpoints that are on disk?
============================================

One command needs a function that builds the network, one that loads the data, and the
pattern of the file names.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

import figures
import probe

# %%
# ``mynet.py`` does not use forgetting-probe.

MYNET = """
import torch
from sklearn.datasets import load_digits
from torch import nn

def build():
    return nn.Sequential(
        nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )

def load():  # (train, test)
    x, y = load_digits(return_X_y=True)
    x, y = torch.tensor(x / 16).float(), torch.tensor(y)
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])

def learn(model, x, y):
    optimizer = torch.optim.Adam(model.parameters())
    for rows in [rows for _ in range(10) for rows in torch.randperm(len(y)).split(32)]:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()

if __name__ == "__main__":
    (x, y), _ = load()
    for seed in range(3):
        torch.manual_seed(seed)
        model, offline = build(), build()
        for k in range(5):
            own = y // 2 == k
            learn(model, x[own], y[own])
            torch.save(model.state_dict(), f"seed{seed}-task{k + 1}.pt")
        learn(offline, x, y)
        torch.save(offline.state_dict(), f"offline-{seed}.pt")
"""

# %%
# In a shell, this is ``probe model ...``.

with TemporaryDirectory() as folder:
    (Path(folder) / "mynet.py").write_text(MYNET)
    subprocess.run([sys.executable, "mynet.py"], cwd=folder, check=True)
    command = (
        "-m probe model mynet:build --checkpoints seed{seed}-task{task}.pt "
        "--offline offline-{seed}.pt --data mynet:load --tasks 0-1,2-3,4-5,6-7,8-9 "
        "--readouts linear --features 1,3 --workers 1 --out run"
    )
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    result = probe.load(Path(folder) / "run")
print(done.stdout)

# %%
# The run directory has tables, figures and a page.

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
figures.layers(result, ax=ax)

# %%
# Without ``--offline`` there is no joint network, so nothing is called missing. Only
# networks after earlier tasks separate forgotten from never learned.
