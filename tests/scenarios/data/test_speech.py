"""Spoken digits: what a mel image shows of sounds that are known, and that digits differ."""

import numpy as np
import pytest
from scipy import signal

from scenarios.data.datasets import Location, load
from scenarios.data.speech import log_mel, mel_bank

RANDOM = np.random.default_rng(0)


def images(*recordings):
    """Return the images of some recordings, as one file would hold them."""
    offsets = np.cumsum([0, *map(len, recordings)])
    return log_mel(np.concatenate(recordings).astype(np.int16), offsets)


def plain(recording):
    """Return the image of one recording, by scipy's own transform and loops over frames."""
    spectrum = signal.stft(
        recording,
        8000,
        "hann",
        256,
        176,
        boundary=None,
        padded=False,
    )[2]
    power = mel_bank().T @ np.abs(spectrum) ** 2
    decibel = 10 * np.log10(power / power.max() + 1e-300)
    value = np.clip(1 + decibel / 60, 0, 1)
    count = value.shape[1]
    image = np.zeros((24, 24))
    for part in range(24):
        start = part * count / 24
        end = (part + 1) * count / 24
        for frame in range(count):
            share = max(0, min(end, frame + 1) - max(start, frame))
            image[:, part] += value[:, frame] * share / (end - start)
    return image


@pytest.mark.parametrize("samples", [256, 335, 336, 2096, 5000])
def test_the_image_is_that_of_a_plain_computation_beside_any_others(samples):
    recording = (
        RANDOM.normal(0, 1000, samples) * np.linspace(0, 1, samples) ** 3
    ).round()
    beside = RANDOM.normal(0, 9000, 700)
    got = images(beside, recording, beside)[1]
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, plain(recording), atol=2e-5)


def file_of(folder, **changes):
    """Write 20 recordings, a take 0 and a take 5 of every digit."""
    arrays = {
        "audio": RANDOM.integers(-99, 99, 6000).astype(np.int16),
        "offsets": np.arange(21) * 300,
        "label": np.arange(10, dtype=np.uint8).repeat(2),
        "index": np.tile(np.array([0, 5], np.uint8), 10),
        "sample_rate": np.array(8000),
    }
    np.savez(
        folder / "fsdd.npz",
        **{
            **arrays,
            **changes,
        },
    )
    return Location(folder)


def test_takes_0_to_4_are_the_test_data(tmp_path):
    takes = np.arange(20, dtype=np.uint8) % 10
    data = load("spoken_digits", file_of(tmp_path, index=takes))
    labels = np.arange(10).repeat(2)
    assert data.test.y.tolist() == labels[takes < 5].tolist()
    assert data.train.y.tolist() == labels[takes >= 5].tolist()
