"""Fine-tune the speech encoder of resemblyzer: it told three speakers, and learns three others.

An LSTM of three layers with the weights that the package ships, and a head for six
speakers. First the head is trained on three, and the encoder is as it was shipped. Then
all of it learns the other three alone. The data are the Free Spoken Digit Dataset in
one file, fsdd.npz.

    pip install resemblyzer python docs/examples/pair_speech.py --data FOLDER --seed 0
    # two minutes on one core
"""

import argparse
from copy import deepcopy
from pathlib import Path

import librosa
import numpy as np
import torch
from resemblyzer import VoiceEncoder, audio
from torch import nn

import probe

SPEAKERS = 6
FRAMES = 64  # 0.64 seconds: of 7 % of the recordings the end is cut off
BLOCKS = {
    "lstm 1": "*lstm.*_l0",
    "lstm 2": "*lstm.*_l1",
    "lstm 3": "*lstm.*_l2",
    "embedding": "*linear.*",
    "head": "1.*",
}


def spectrogram(wave):
    """Return what the encoder reads of a recording at 8 kHz, (FRAMES, 40)."""
    wave = librosa.resample(wave / 32768, orig_sr=8000, target_sr=16_000)
    wave = audio.normalize_volume(wave, -30, increase_only=True)
    frames = torch.tensor(audio.wav_to_mel_spectrogram(wave))[:FRAMES]
    return nn.functional.pad(frames, (0, 0, 0, FRAMES - len(frames)))


def recordings(folder):
    """Return spectrograms, speakers, and which recordings are for tests."""
    data = np.load(Path(folder) / "fsdd.npz")
    waves = np.split(data["audio"], data["offsets"][1:-1])
    x = torch.stack([spectrogram(wave) for wave in waves])
    return x, torch.tensor(data["speaker"]).long(), torch.tensor(data["index"] < 10)


def learn(model, x, y, epochs, learning_rate):
    """Train all parameters, clipped as the encoder was trained."""
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 3.0)
            optimizer.step()


def pair(seed, folder):
    """Return the networks before and after, old and new tests, and examples to train on."""
    x, speaker, is_test = recordings(folder)
    is_old = speaker < SPEAKERS // 2
    old = (x[is_test & is_old], speaker[is_test & is_old])
    new = (x[is_test & ~is_old], speaker[is_test & ~is_old])
    old_train = (x[~is_test & is_old], speaker[~is_test & is_old])
    new_train = (x[~is_test & ~is_old], speaker[~is_test & ~is_old])
    torch.manual_seed(seed)
    encoder = VoiceEncoder("cpu", verbose=False)
    head = nn.Linear(256, SPEAKERS)
    with torch.no_grad():
        embeddings = encoder(old_train[0])
    learn(head, embeddings, old_train[1], epochs=30, learning_rate=3e-3)
    before = nn.Sequential(encoder, head)
    after = deepcopy(before)
    learn(after, *new_train, epochs=10, learning_rate=1e-4)
    return before.eval(), after.eval(), old, new, {"old": old_train, "new": new_train}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=".")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    before, after, old, new, train = pair(arguments.seed, arguments.data)
    print(probe.diff(before, after, old, new, train=train, blocks=BLOCKS))
