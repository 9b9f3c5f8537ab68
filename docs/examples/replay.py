"""Example 2: avalanche-lib's Replay on SplitMNIST, recorded by the plugin.

Train three seeds, recorded in the folder `rec`, and measure them:

    python replay.py --data DIR         # DIR holds MNIST as torchvision lays it out
    python replay.py                    # scikit-learn's small digits, in seconds
    probe model rec --network replay:build --train-offline --epochs 2
"""

import argparse

import torch
from avalanche.benchmarks import nc_benchmark
from avalanche.benchmarks.utils import as_classification_dataset
from avalanche.training import Replay
from cnn import build, load
from torch.nn import CrossEntropyLoss
from torch.utils.data import TensorDataset

import probe
from probe.record.plugins.avalanche import ForgettingProbe, data_of


def benchmark():
    """Return five experiences of two classes."""
    halves = []
    for x, y in load():
        half = TensorDataset(x, y)
        half.targets = y.tolist()
        halves.append(as_classification_dataset(half))
    return nc_benchmark(
        *halves, 5, task_labels=False, fixed_class_order=list(range(10))
    )


def train(seeds, epochs, folder):
    """Train Replay on one experience after the other."""
    for seed in range(seeds):
        torch.manual_seed(seed)
        stream, model = benchmark(), build()
        data = data_of(stream)
        recorder = probe.Recorder(folder, model, data.test, train=data.train, seed=seed)
        strategy = Replay(
            model=model,
            optimizer=torch.optim.Adam(model.parameters()),
            criterion=CrossEntropyLoss(),
            mem_size=200,
            train_mb_size=64,
            train_epochs=epochs,
            plugins=[ForgettingProbe(recorder)],
            evaluator=None,
        )
        for experience in stream.train_stream:
            strategy.train(experience)
        print(recorder.R)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=2)
    given = parser.parse_args()
    if given.data:
        import os

        os.environ["MNIST"] = given.data
    train(given.seeds, given.epochs, "rec")
