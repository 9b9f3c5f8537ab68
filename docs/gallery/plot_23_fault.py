"""
Whose change was it?
====================

A network learns five tasks, each with all digits so far. Then ``conv2`` gets fresh
weights.
"""

from collections import OrderedDict
from copy import deepcopy
from tempfile import TemporaryDirectory

import pandas as pd
import torch
from sklearn.datasets import load_digits
from torch import nn

import probe

images, labels = load_digits(return_X_y=True)
x, y = torch.tensor(images / 16).float().view(-1, 1, 8, 8), torch.tensor(labels)
train, test = probe.Examples(x[:1400], y[:1400]), probe.Examples(x[1400:], y[1400:])
tasks = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
by_task = [(task.x, task.y) for task in map(test.of_classes, tasks)]


def build():
    sizes = {"conv1": (1, 8), "conv2": (8, 16), "conv3": (16, 32)}
    convs = {
        name: nn.Sequential(nn.Conv2d(*n, 3), nn.ReLU()) for name, n in sizes.items()
    }
    return nn.Sequential(
        OrderedDict(**convs, flat=nn.Flatten(), output=nn.Linear(128, 10))
    )


layers, folder = ["conv1", "conv2", "conv3"], TemporaryDirectory()
as_trained, with_fault = {}, {}  # by seed, then by the number of tasks learned
for seed in range(3):
    torch.manual_seed(seed)
    model, networks = build(), {}
    for k in range(1, 6):
        data, optimizer = (
            train.of_classes(range(2 * k)),
            torch.optim.Adam(model.parameters(), 2e-3),
        )
        for rows in [
            rows for _ in range(6) for rows in torch.randperm(len(data)).split(32)
        ]:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()
        networks[k] = deepcopy(model)
    as_trained[seed] = deepcopy(networks)
    networks[5].conv2.load_state_dict(build().conv2.state_dict())  # the fault
    with_fault[seed] = networks
    for k, network in networks.items():
        torch.save(network.state_dict(), f"{folder.name}/seed{seed}-task{k}.pt")
models = probe.Model(f"{folder.name}/seed{{seed}}-task{{task}}.pt", fresh=build)
result = probe.analyze(models, train, test, tasks, layers, readouts=["linear"])
folder.cleanup()
causes = {
    name: probe.causes(models, by_task, features=layers).set_index("feature")
    for name, models in (("as trained", as_trained), ("with the fault", with_fault))
}
for name, table in causes.items():
    print(name, table.round(3).to_string(), sep="\n")
shares = pd.DataFrame({name: table["share"] for name, table in causes.items()})
rows = result.layers().query("quantity == 'forgotten' and task_position.isna()")
shares["readout, with the fault"] = rows.set_index("feature")["value"]
(100 * shares).plot.bar(xlabel="", ylabel="Points on tasks 1 to 4", rot=0)
print(result)
# %%
# A readout of ``conv2`` finds as much as before; rewinding names ``conv2``. As
# trained, no layer costs.

fault, control = causes["with the fault"], causes["as trained"]
assert fault["share"].idxmax() == "conv2"
assert fault.loc["conv2", "verdict"] == "costs"
assert "costs" not in set(control["verdict"])
