"""
I have an accuracy matrix. Which metrics does it give?
======================================================

All of the literature's. Two methods end at the same average accuracy: one forgot, the
other never learned well.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np

from probe import AccuracyMatrix, metrics

forgets = AccuracyMatrix.square(
    [[0.98, 0.0, 0.0], [0.6, 0.98, 0.0], [0.34, 0.48, 0.98]]
)
stiff = AccuracyMatrix.square([[0.98, 0.0, 0.0], [0.96, 0.5, 0.0], [0.95, 0.49, 0.36]])

# %%
# With forgetting a column fades, with rigidity the diagonal.

fig, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for ax, title, R in zip(axes, ["forgets", "stiff"], [forgets, stiff], strict=True):
    ax.imshow(R.values[1:], vmin=0, vmax=1, cmap="Blues")
    for i, j in np.ndindex(3, 3):
        value = R.values[i + 1, j]
        color = "white" if value > 0.6 else "black"
        ax.text(j, i, f"{100 * value:.0f}", ha="center", va="center", color=color)
    ax.set(title=title, xlabel="Task", ylabel="Tasks learned")
    ax.set_xticks(range(3), [1, 2, 3])
    ax.set_yticks(range(3), [1, 2, 3])

# %%

print(f"{'':32}{'forgets':>9}{'stiff':>9}")
for name in (
    "average_accuracy",
    "forgetting",
    "gem_bwt",
    "diaz_bwt",
    "rem",
    "omega_new",
):
    metric = getattr(metrics, name)
    print(f"{name:32}{metric(forgets):9.3f}{metric(stiff):9.3f}")

# %%
# ``probe metrics R.csv`` prints all metrics. If cells do not determine a metric, it
# says so and never prints 0.

with TemporaryDirectory() as folder:
    path = Path(folder) / "R.csv"
    np.savetxt(path, forgets.values[1:], delimiter=",")
    command = [sys.executable, "-m", "probe", "metrics", str(path)]
    print(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

# %%
# No metric of R tells *where* in the network a task was lost.
