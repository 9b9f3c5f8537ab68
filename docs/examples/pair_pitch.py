"""Fine-tune the pitch network of torchcrepe: another instrument, in a higher range.

Six convolutions with batch norm, 360 bins of pitch, and the weights that the package
ships. Old tones have 100 to 400 Hz and all their harmonics; new ones have 400 to 1600
Hz and no fundamental, as from a small loudspeaker. Both are made here from a seed.

    pip install torchcrepe
    python docs/examples/pair_pitch.py --seed 0    # a minute on one core
"""

import argparse
import math
from copy import deepcopy
from pathlib import Path

import torch
import torchcrepe
from torch import nn

import probe

HARMONICS = 12
RATE = 16_000
BINS = torch.arange(torchcrepe.PITCH_BINS)
LAYERS = ["conv1", "conv2", "conv3", "conv4", "conv5", "conv6"]
BLOCKS = {name: [f"{name}.*", f"{name}_BN.*"] for name in LAYERS} | {
    "classifier": "classifier.*"
}


def tones(n, low, high, first_harmonic, generator):
    """Return n tones in noise, (n, 1024), and the bins of their pitch, (n,)."""
    frequency = low * (high / low) ** torch.rand(n, 1, 1, generator=generator)
    harmonic = torch.arange(first_harmonic, HARMONICS + 1)[:, None]
    phase = 2 * math.pi * torch.rand(n, len(harmonic), 1, generator=generator)
    loudness = torch.rand(n, len(harmonic), 1, generator=generator) / harmonic
    loudness = loudness * (frequency * harmonic < RATE / 2)
    seconds = torch.arange(torchcrepe.WINDOW_SIZE) / RATE
    partials = torch.sin(2 * math.pi * frequency * harmonic * seconds + phase)
    waves = (loudness * partials).sum(1)
    noise = torch.randn(waves.shape, generator=generator)
    waves = waves + 0.05 * waves.std(1, keepdim=True) * noise
    waves = (waves - waves.mean(1, keepdim=True)) / waves.std(1, keepdim=True)
    bins = torchcrepe.convert.frequency_to_bins(frequency.flatten(), torch.round)
    return waves, bins.long()


def shipped():
    """Return the network with the weights of the package."""
    model = torchcrepe.Crepe("tiny")
    path = Path(torchcrepe.__file__).parent / "assets" / "tiny.pth"
    model.load_state_dict(torch.load(path, weights_only=True))
    return model.eval()


def learn(model, x, y):
    """Fine-tune as the network was trained: targets are bins blurred by 25 cents."""
    targets = torch.exp(-((BINS - y[:, None]) ** 2) / (2 * 1.25**2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(5):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy(model(x[rows]), targets[rows]).backward()
            optimizer.step()
    model.eval()


def within_50_cents(model, x, y):
    """Return 1 where the loudest bin is within 50 cents of the pitch, else 0: a bin has 20."""
    return ((model(x).argmax(1) - y).abs() <= 2.5).double()


@torch.no_grad()
def statistics_of_new_tones(before, after):
    """Estimate the norm statistics again: the package's momentum of 0 keeps the shipped ones."""
    for module in after.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()
            module.momentum = None
    waves, _ = tones(2000, 400, 1600, 2, torch.Generator().manual_seed(100))
    after.train()(waves)
    return after.eval()


def pair(seed):
    """Return the networks before and after, and old and new tests."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    before = shipped()
    after = deepcopy(before)
    learn(after, *tones(2000, 400, 1600, 2, generator))
    old = tones(300, 100, 400, 1, generator)
    new = tones(300, 400, 1600, 2, generator)
    return before, after, old, new


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    before, after, old, new = pair(arguments.seed)
    remedies = {"statistics of new tones": statistics_of_new_tones}
    how = {"blocks": BLOCKS, "score": within_50_cents, "remedies": remedies}
    print(probe.diff(before, after, old, new, **how))
