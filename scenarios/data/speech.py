"""Spoken digits as images of a fixed size: the power of mel bands over time.

Each recording, of any length and loudness, becomes an image of 24 bands of frequency x
24 parts of time, in [0, 1]: the second modality of multi-modal studies, beside images
of digits. All steps use numpy and scipy without random numbers, so that the images are
the same everywhere.
"""

from pathlib import Path

import numpy as np
import torch
from scipy import fft, signal

from probe.arrays import Array, Arrays
from probe.errors import InputError
from probe.examples import Examples
from scenarios.data.npz import read_arrays

RATE = 8000  # samples per second
WINDOW = 256  # samples: 32 ms
HOP = 80  # samples from one frame to the next: 10 ms
BANDS = 24
PARTS = 24
RANGE = 60
"""The range of power in dB: what is fainter than this below the loudest is 0 in the image."""

TEST_TAKES = 5
"""Of every speaker and digit, the takes 0 .. TEST_TAKES - 1 are the test data."""

_AT_ONCE = 4096  # frames transformed at a time, which stay in the cache


def spoken_digits(path: Path) -> tuple[Examples, Examples]:
    """Return training and test data of the Free Spoken Digit Dataset: images (N, 1, 24, 24).

    Takes 0 to 4 of every speaker and digit are the test data (300 of 3,000 recordings),
    as in its authors' split; `log_mel` makes the images, and the labels are the digits.
    The file has these arrays:

    - `audio`: int16 samples of all recordings, one after the other;
    - `offsets` (N + 1,): the start of each recording, and the end of the last;
    - `label` (N,): the digit, 0 to 9; `index` (N,): the number of the take;
    - `sample_rate`: 8000.

    Args:
        path: The .npz file.

    Returns:
        The training data and the test data.

    Raises:
        InputError: The file is missing, or its arrays differ from these.
    """
    if not path.is_file():
        raise InputError(
            f"there is no {path}: put the Free Spoken Digit Dataset there as one file"
        )
    arrays = read_arrays(path, ("audio", "offsets", "label", "index", "sample_rate"))
    if wrong := _wrong(arrays):
        raise InputError(
            f"{path} is not the Free Spoken Digit Dataset ({wrong}): replace it"
        )
    images = log_mel(arrays["audio"], arrays["offsets"].astype(np.int64))
    x = torch.from_numpy(images).unsqueeze(1)
    y = torch.from_numpy(arrays["label"].astype(np.int64))
    is_test = torch.from_numpy(arrays["index"] < TEST_TAKES)
    return Examples(x[~is_test], y[~is_test]), Examples(x[is_test], y[is_test])


def log_mel(audio: Array, offsets: Array) -> Array:
    """Return the log-mel features (N, 24, 24) of N recordings, float32: bands x parts of time.

    The power spectra of frames of 256 samples under a Hann window, 80 samples apart,
    are summed in the 24 bands of `mel_bank` (the lowest first), in dB below the
    recording's loudest band and frame: 0 dB becomes 1; -60 dB and less, or silence,
    becomes 0; it is linear in between. The frames are averaged over 24 equally long
    parts of the recording, where a frame in two parts counts in each by its share, so
    that loudness and length do not matter. Deviation from common practice: the time is
    stretched, not padded; there is no pre-emphasis.

    Args:
        audio: The samples of all recordings, 8,000 per second.
        offsets: The start of each recording and the end of the last, (N + 1,).

    Returns:
        The features.
    """
    # Frames of each recording, the first of them among all frames, and their places.
    counts = 1 + (np.diff(offsets) - WINDOW) // HOP
    firsts = np.cumsum(counts) - counts
    within = np.arange(counts.sum()) - np.repeat(firsts, counts)
    powers = _powers(audio, np.repeat(offsets[:-1], counts) + HOP * within)
    loudest = np.maximum.reduceat(powers.max(1), firsts)
    # Silence, whose loudest is 0, stays 0.
    reference = np.repeat(np.maximum(loudest, np.finfo(np.float32).tiny), counts)
    faintest = 10 ** (-RANGE / 10)
    decibel = 10 * np.log10(np.maximum(powers / reference[:, None], faintest))
    parts = _average(1 + decibel / RANGE, firsts, counts)
    images = parts.transpose(0, 2, 1).clip(0, 1)
    return np.ascontiguousarray(images, dtype=np.float32)


def mel_bank() -> Array:
    """Return the weights (129, 24) of the frequencies 0, 31.25 .. 4000 Hz in each mel band.

    Bands are triangles of height 1, each from the center of the previous band to that
    of the next; centers are equally far apart from 0 to 4000 Hz in mel = 2595 log10(1 +
    Hz / 700).

    >>> mel_bank().shape
    (129, 24)
    """
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, BANDS + 2) / 2595) - 1)
    low = edges[:-2]
    center = edges[1:-1]
    high = edges[2:]
    hertz = fft.rfftfreq(WINDOW, 1 / RATE)[:, None]
    rising = (hertz - low) / (center - low)
    falling = (high - hertz) / (high - center)
    return np.asarray(np.maximum(np.minimum(rising, falling), 0))


def _powers(audio: Array, starts: Array) -> Array:
    """Return the power (F, 24) of each band in the frames that start at `starts` (F,)."""
    frames = np.lib.stride_tricks.sliding_window_view(audio, WINDOW)
    # float32 holds every int16 sample exactly, in half the memory of float64.
    window = signal.get_window("hann", WINDOW).astype(np.float32)
    bank = mel_bank().astype(np.float32)
    powers = []
    for block in np.split(starts, range(_AT_ONCE, len(starts), _AT_ONCE)):
        spectra = fft.rfft(frames[block] * window)
        powers.append(np.abs(spectra) ** 2 @ bank)
    return np.concatenate(powers)


def _average(values: Array, firsts: Array, counts: Array) -> Array:
    """Return the means (N, 24 parts, 24) of each recording's frames over its 24 parts.

    Args:
        values: The values of the bands in all frames, (F, 24).
        firsts: The first frame of each recording, (N,).
        counts: The number of frames of each recording, (N,).
    """
    # The running sum gives the integral up to any moment, interpolated between frames.
    sums = np.cumsum(values, 0, dtype=np.float64)
    sums = np.concatenate([np.zeros((1, BANDS)), sums])
    # The borders of the parts (N, 25), in frames; a part may begin and end within one.
    moments = firsts[:, None] + np.linspace(0, counts, PARTS + 1, axis=1)
    frames = np.minimum(moments.astype(np.int64), len(values) - 1)
    shares = (moments - frames)[:, :, None]
    integral = (1 - shares) * sums[frames] + shares * sums[frames + 1]
    return np.asarray(np.diff(integral, axis=1) * (PARTS / counts)[:, None, None])


def _wrong(arrays: Arrays) -> str:
    """Describe how the arrays differ from the documentation, "" if they do not."""
    audio = arrays["audio"]
    offsets = arrays["offsets"]
    label = arrays["label"]
    index = arrays["index"]
    if audio.ndim != 1 or audio.dtype != np.int16:
        return f"audio is {audio.dtype} of shape {audio.shape}, expected int16 samples"
    vectors = all(a.ndim == 1 and a.dtype.kind in "iu" for a in (offsets, label, index))
    if not vectors or not 0 < len(label) == len(index) == len(offsets) - 1:
        return "label and index have one whole number per recording, offsets one more"
    # Unsigned differences would hide offsets that go back.
    short = (np.diff(offsets.astype(np.int64)) < WINDOW).any()
    if short or offsets[0] != 0 or offsets[-1] != len(audio):
        return (
            f"offsets go from 0 to the number of samples, by {WINDOW} samples or more"
        )
    if arrays["sample_rate"].shape != () or arrays["sample_rate"] != RATE:
        return f"sample_rate is {arrays['sample_rate']}, expected {RATE}"
    return ""
