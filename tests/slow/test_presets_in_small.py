"""Every preset runs from its data to its tables, in small, on data made from a seed."""

import numpy as np
import pandas as pd
import pytest
import torch
from torchvision.datasets import SVHN

from probe.examples import Examples
from scenarios.data import datasets
from scenarios.data.feature_files import write_features
from scenarios.study.study_file import check_study
from scenarios.study.study_toml import preset_names, read_study, variant_names
from tests.scenarios.data.test_datasets import write_svhn

pytestmark = pytest.mark.soak

SMALL = "--train-limit 40 --test-limit 40 --epochs 1 --seeds 1 --workers 1 --device cpu"
SHAPES = {  # classes, and the shape of an input
    "mnist": (10, (1, 28, 28)),
    "fashion_mnist": (10, (1, 28, 28)),
    "cifar10": (10, (3, 32, 32)),
    "svhn": (10, (3, 32, 32)),
    "cifar100": (100, (3, 32, 32)),
    "spoken_digits": (10, (1, 24, 24)),
    "cub200.npz": (200, (2048,)),
    "cifar100-features.npz": (100, (1024,)),
    "audioset.npz": (100, (1280,)),
}


def made(name, location):
    """Return noise around a center for each class, in the shape of a data set."""
    classes, shape = SHAPES[name]
    draw = torch.Generator().manual_seed(classes)
    centers = torch.rand(classes, *shape, generator=draw)

    def split(examples):
        y = torch.arange(classes).repeat(examples)
        return Examples(
            (centers[y] + torch.rand(len(y), *shape, generator=draw)) / 2, y
        )

    return datasets.Dataset(name=name, train=split(44), test=split(40), classes=classes)


def test_svhn_runs_from_torchvisions_files(probe, cwd, monkeypatch):
    labels = np.arange(20, dtype=np.uint8) % 10
    write_svhn(cwd, SVHN, monkeypatch, {"train": labels, "test": labels})
    code, _, err = probe(f"run murata-svhn {SMALL} --orders none --data . --out run")
    assert code == 0, err
    assert set(pd.read_csv(cwd / "run" / "measurements.csv").feature.dropna()) > {
        "stem",
        "layer4",
    }


PRESETS = []
for preset in preset_names():
    PRESETS += [(preset, variant) for variant in (None, *variant_names(preset))]


@pytest.mark.parametrize(("name", "variant"), PRESETS)
def test_a_preset_runs_in_small(name, variant, probe, cwd, monkeypatch):
    load = datasets.load

    def by_name(data, location=None):
        return (made if data in SHAPES else load)(data, location)

    monkeypatch.setattr(datasets, "load", by_name)
    study = check_study(read_study(name, variant), name)
    for file in study.scenario.data:
        if file.endswith(".npz"):
            data = made(file, None)
            write_features(cwd / file, data.train, data.test)
    flag = f"--variant {variant}" if variant else ""
    code, _, err = probe(f"run {name} {flag} {SMALL} --data . --out run")
    assert code == 0, err
    learners = set(pd.read_csv(cwd / "run" / "measurements.csv").learner)
    assert learners >= study.learners.keys()
