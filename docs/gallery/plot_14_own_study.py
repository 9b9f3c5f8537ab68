"""
Can I add my method, network and metric to a study?
===================================================

Decorators in a Python file register them. A TOML file then names them like built-in
ones.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt

import figures
import probe

MINE = """
from collections import OrderedDict
import torch
from torch import nn
import probe
from scenarios.learners.continual import ContinualLearner, ContinualSettings

@probe.network("small", features=["layer1", "layer2"])
def build():
    layer1 = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU())
    layer2 = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
    return nn.Sequential(OrderedDict(layer1=layer1, layer2=layer2, output=nn.Linear(64, 10)))

class AverageSettings(ContinualSettings):
    share: float = 0.5  # of the old weights

@probe.learner("average")
class Average(ContinualLearner):
    settings_class = AverageSettings

    def begin(self, task):
        super().begin(task)
        self.before = [p.detach().clone() for p in self.model.parameters()]

    def end(self, task):  # go back some of the way that a task has moved the weights
        if self.learned > 1:
            with torch.no_grad():
                for parameter, old in zip(self.model.parameters(), self.before):
                    parameter.lerp_(old, self.settings.share)
        super().end(task)

@probe.metric("newest_task")
def newest(R):  # the diagonal: each task right after it was learned
    return float(R.values[1:].diagonal().mean())
"""

STUDY = """
name = "mine"
orders = "none"
seeds = 3
scenario = { data = "digits", classes_per_task = 2 }
network = { name = "small" }
training = { epochs = 20, batch_size = 32 }
learners = { finetune = {}, average = { share = 0.5 }, offline = {} }
probing = { readouts.linear = "all" }
"""

# %%
# In a shell: ``probe run study.toml --load mine.py``.

with TemporaryDirectory() as folder:
    (Path(folder) / "mine.py").write_text(MINE)
    (Path(folder) / "study.toml").write_text(STUDY)
    command = "-m probe run study.toml --load mine.py --workers 1 --out run"
    done = subprocess.run(
        [sys.executable, *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    result = probe.load(Path(folder) / "run")

print(done.stdout.partition("run/measurements.csv")[0])

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for panel, ax in enumerate(axes, 1):
    figures.layers(result, ax=ax, panel=panel, readouts=["linear"])

# %%
# ``metrics.csv`` has the metric beside those of the literature.

metrics = result.to_pandas("metrics").query("feature == ''")
print(
    metrics[metrics.metric.isin(["newest_task", "average_accuracy[5]"])].to_string(
        index=False
    )
)

# %%
# Averaging forgets less at the output, but also learns less. A method that learns
# nothing forgets nothing.

forgotten = result.layers().query(
    "quantity == 'forgotten' and feature == 'output' and task_position.isna()"
)
forgotten = forgotten.set_index("learner")["value"]
assert forgotten["average"] < forgotten["finetune"]
