"""Fine-tune a small network with all weights and by LoRA, and compare what each layer forgot.

The network is pretrained on scikit-learn's digits, then learns them turned by 90, 180
and 270 degrees; docs/lora.md reads what this prints.

    python docs/examples/lora.py    # twelve seconds on one core
    probe compare runs/full runs/lora
"""

from copy import deepcopy
from tempfile import TemporaryDirectory

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import probe

LAYERS = ["1", "3", "5"]
images, labels = load_digits(return_X_y=True)
halves = train_test_split(
    images / 16, labels, test_size=0.4, stratify=labels, random_state=0
)
x, x_test, y, y_test = (torch.tensor(half) for half in halves)


def turned(x, y, quarters):
    """Return digits turned by some quarters."""
    images = x.float().view(-1, 8, 8).rot90(quarters, (1, 2))
    return probe.Examples(images.flatten(1), y)


class LoRA(nn.Module):
    """W x + b + B A x: W and b stay, the product B A begins at 0."""

    def __init__(self, linear, rank=4):
        super().__init__()
        inputs, outputs = linear.in_features, linear.out_features
        self.linear = linear.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, inputs) / inputs**0.5)
        self.B = nn.Parameter(torch.zeros(outputs, rank))

    def forward(self, x):
        """Add the low-rank change to the layer."""
        return self.linear(x) + x @ self.A.T @ self.B.T

    def merged(self):
        """Return the plain layer with the change in its weights."""
        linear = deepcopy(self.linear)
        linear.weight.data += (self.B @ self.A).detach()
        return linear


def build():
    """Return a new network."""
    hidden = []
    for _ in range(3):
        hidden += [nn.Linear(64, 64), nn.ReLU()]
    return nn.Sequential(*hidden, nn.Linear(64, 10))


def adapted(model):
    """Return a copy of the network with adapters."""
    layers = deepcopy(model)
    return nn.Sequential(
        *(LoRA(layer) if isinstance(layer, nn.Linear) else layer for layer in layers)
    )


def merged(model):
    """Return the plain network of one with adapters."""
    return nn.Sequential(
        *(layer.merged() if isinstance(layer, LoRA) else layer for layer in model)
    )


def learn(model, data):
    """Train what is not frozen."""
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=4e-3)
    for _ in range(20):
        for rows in torch.randperm(len(data)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data.x[rows]), data.y[rows]).backward()
            optimizer.step()


train = [turned(x, y, quarters) for quarters in (1, 2, 3)]
test = [turned(x_test, y_test, quarters) for quarters in (1, 2, 3)]
together = probe.Examples(
    torch.cat([own.x for own in train]), torch.cat([own.y for own in train])
)
results = {}
with TemporaryDirectory() as folder:
    for seed in range(3):
        torch.manual_seed(seed)
        pretrained = build()
        learn(pretrained, turned(x, y, 0))
        joint = deepcopy(pretrained)
        learn(joint, together)
        torch.save(joint.state_dict(), f"{folder}/joint-{seed}.pt")
        for name in ("full", "lora"):
            model = deepcopy(pretrained) if name == "full" else adapted(pretrained)
            torch.save(pretrained.state_dict(), f"{folder}/{name}-{seed}-task0.pt")
            for k, own in enumerate(train, 1):
                learn(model, own)
                plain = merged(model).state_dict()
                torch.save(plain, f"{folder}/{name}-{seed}-task{k}.pt")
    for name in ("full", "lora"):
        result = probe.analyze(
            probe.Model(f"{folder}/{name}-{{seed}}-task{{task}}.pt", fresh=build),
            train,
            test,
            features=LAYERS,
            offline=f"{folder}/joint-{{seed}}.pt",
            readouts=["linear"],
        )
        result.save(f"runs/{name}")
        print(name, result, sep="\n")
        rows = result.layers().query("task_position.isna() and feature == '5'")
        results[name] = rows.set_index("quantity")["value"]

# LoRA never learned what full fine-tuning did, in the last hidden layer.
assert results["lora"]["never_learned"] > results["full"]["never_learned"]

# The last network with its adapters, and merged: one network in two forms.
forms = {
    "merged": probe.Model({0: pretrained, 3: merged(model)}),
    "wrapped": probe.Model({0: adapted(pretrained), 3: model}, trainable="as given"),
}
accuracies = {}
for name, models in forms.items():
    result = probe.analyze(models, train, test, features=LAYERS, readouts=["linear"])
    accuracies[name] = [
        result.matrix(layer, "linear").values[3].mean() for layer in result.features
    ]
    print(name, [f"{100 * accuracy:.1f}" for accuracy in accuracies[name]])
for one, other in zip(accuracies["merged"], accuracies["wrapped"], strict=True):
    assert abs(one - other) < 0.005
