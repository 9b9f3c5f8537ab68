"""Checks for a machine with a GPU: `python -m tests.gpu.check [--device cuda:0] [--small]`.

Prints a line for each check, PASS, FAIL or SKIP, and exits with 1 if any failed.
Without a GPU it runs small ones on the CPU, which shows that the checks themselves
work. On an H100 all take under six minutes.
"""

import argparse
import math
import os
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

import probe
from probe.analysis.similarity import Compared
from probe.analysis.units import effective_rank
from probe.readouts.linear import fit_linear
from probe.training.fresh_weights import initialize
from probe.values.allocation import CacheSettings

TASKS = [[0, 1], [2, 3], [4, 5]]
READOUTS = ["retrain", "linear", "linear-task", "ncm", "knn"]


@dataclass(frozen=True)
class Settings:
    """The device, and whether to run small checks."""

    device: torch.device
    small: bool

    @property
    def on_gpu(self):
        """Whether the device is a GPU."""
        return self.device.type == "cuda"

    def to_device(self, network):
        """Return a copy of a network on the device."""
        return deepcopy(network).to(self.device)

    def peak(self):
        """Return the most gigabytes that were allocated on the GPU, NaN without one."""
        if not self.on_gpu:
            return math.nan
        return torch.cuda.max_memory_allocated() / 1e9

    def seconds(self, action):
        """Return the wall time of an action, with all that it started on the GPU."""
        begin = time.perf_counter()
        action()
        if self.on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - begin


def images(examples, size, seed=0):
    """Return noisy patterns of six classes in [0, 1], (N, 3, size, size), and their labels."""
    noise = torch.Generator().manual_seed(seed)
    labels = torch.arange(examples) % 6
    patterns = torch.rand(
        6, 3, size // 8, size // 8, generator=torch.Generator().manual_seed(9)
    )
    x = nn.functional.interpolate(patterns, size=size)[labels]
    return (x + torch.rand(examples, 3, size, size, generator=noise)) / 2, labels


def cnn():
    """Return a small network with batch norm and dropout."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 6),
    )


def trained(network, data, classes, steps, device):
    """Return a copy of a network, trained on the examples of some classes."""
    network = deepcopy(network).to(device).train()
    (x, labels) = data
    examples = torch.isin(labels, torch.tensor(classes)).nonzero()[:, 0]
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    draw = torch.Generator().manual_seed(1)
    for _ in range(steps):
        batch = examples[torch.randint(len(examples), (32,), generator=draw)]
        optimizer.zero_grad()
        logits = network(x[batch].to(device))
        nn.functional.cross_entropy(logits, labels[batch].to(device)).backward()
        optimizer.step()
    return network.eval()


def setting(examples=600):
    """Return an untrained network, training data and test data."""
    torch.manual_seed(0)
    return cnn(), images(examples, 32), images(examples // 2, 32, seed=1)


def analysis(device):
    """Return an analysis, by all readouts, of networks that were trained on the CPU."""
    network, train, test = setting()
    cpu = torch.device("cpu")
    networks = {
        t: trained(network, train, TASKS[t - 1], 60, cpu).to(device) for t in (1, 2, 3)
    }  # fmt: skip
    return probe.analyze(
        networks, train, test, TASKS, ["2", "4"], untrained=deepcopy(network).to(device),
        offline=trained(network, train, range(6), 120, cpu).to(device), readouts=READOUTS,
        recipe=probe.Recipe(epochs=2, batch_size=32),
    )  # fmt: skip


def linear(models, train, test, **settings):
    """Measure a layer by the linear readout."""
    readouts = ["linear"]
    probe.analyze(models, train, test, TASKS, ["2"], readouts=readouts, **settings)


def name_device(settings):
    """Name the device."""
    if not settings.on_gpu:
        return f"cpu, torch {torch.__version__}"
    free = torch.cuda.mem_get_info()[0] / 1e9
    bf16 = torch.cuda.is_bf16_supported(False)
    return (
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, bf16 {bf16}, "
        f"{free:.0f} GB"
    )


def compare_with_cpu(settings):
    """All readouts give the CPU's accuracies but for 3 points, retraining but for 15.

    Retraining starts from the same weights; its dropout draws on the device.
    """
    here = analysis(settings.device)
    cpu = analysis(torch.device("cpu"))
    largest = {readout: difference(here, cpu, readout) for readout in READOUTS}
    for name, value in largest.items():
        assert value <= (0.15 if name == "retrain" else 0.03), largest
    return f"largest differences {largest}"


def difference(one, other, readout):
    """Return the largest difference of two analyses in an accuracy."""
    changes = []
    for feature in one.features:
        values = one.matrix(feature, readout).values
        changes.append(values - other.matrix(feature, readout).values)
    return round(float(np.nanmax(np.abs(changes))), 3)


def draw_weights(settings):
    """A seed gives the same fresh weights on every device."""
    networks = [settings.to_device(cnn()), cnn()]
    for network in networks:
        initialize(network, "torch", torch.Generator().manual_seed(3))
    here, cpu = (list(network.state_dict().values()) for network in networks)
    assert all(map(torch.equal, (x.cpu() for x in here), cpu))
    return "bit for bit the CPU's"


def repeat(settings):
    """The same call gives the same tables, on a GPU but for the last digits."""
    same = str(analysis(settings.device)) == str(analysis(settings.device))
    assert same or settings.on_gpu
    return "the same" if same else "printed tables differ in last digits"


def mix_devices(settings):
    """Data on the device are taken; networks on two devices are refused."""
    network, (x, y), test = setting(120)
    data = (x.to(settings.device), y.to(settings.device))
    models = {3: settings.to_device(network)}
    linear(models, data, test, untrained=settings.to_device(network))
    if not settings.on_gpu:
        return "data on the device"
    try:
        models = {1: network, 3: settings.to_device(network)}
        linear(models, (x, y), test)
    except probe.errors.InputError as error:
        return f"refused: {error}"
    raise AssertionError("networks on two devices were not refused")


def use_precisions(settings):
    """Retraining runs in each precision."""
    network, train, test = setting(120)
    accuracy = {}
    for precision in ("fp32", "tf32", "bf16", "auto"):
        result = probe.analyze(
            {3: settings.to_device(network)}, train, test, TASKS, ["2"],
            untrained=settings.to_device(network), readouts=["retrain"],
            recipe=probe.Recipe(epochs=2, batch_size=32, precision=precision),
        )  # fmt: skip
        values = result.matrix("2", "retrain").values
        accuracy[precision] = round(float(np.nanmax(values)), 3)
    return str(accuracy)


def use_caches(settings):
    """Values in memory, mapped and recomputed give the same, on a GPU but for the last digits."""
    network, train, test = setting(120)
    with TemporaryDirectory() as folder:
        mapped = CacheSettings(budget=0, scratch=Path(folder))
        texts = {
            str(
                probe.partial_retrain(
                    settings.to_device(network), ["2", "4"], train, test, TASKS,
                    probe.Recipe(epochs=2), cache=cache,
                )
            )
            for cache in (None, mapped, CacheSettings(budget=0))
        }  # fmt: skip
    assert len(texts) == 1 or settings.on_gpu, texts
    return "the same" if len(texts) == 1 else f"differ: {texts}"


def copy_batches(settings):
    """Data that stay in the CPU's memory give the same, on a GPU but for the last digits."""
    here = analysis(settings.device)
    with (
        patch("probe.examples._LARGE", 0),
        patch("probe.examples.free_memory", return_value=0),
    ):
        elsewhere = analysis(settings.device)
    largest = difference(here, elsewhere, "linear")
    assert largest <= (0.03 if settings.on_gpu else 0), largest
    return f"largest difference {largest}"


def count_waits(settings):
    """Count where a training waits for the GPU."""
    if not settings.on_gpu:
        return "no GPU"
    network, train, test = setting()
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        recipe = probe.Recipe(epochs=5, batch_size=32)
        probe.partial_retrain(
            settings.to_device(network), ["2"], train, test, TASKS, recipe
        )
    torch.cuda.set_sync_debug_mode("default")
    places = Counter(f"{Path(w.filename).name}:{w.lineno}" for w in caught)
    return f"95 steps: {places.total()} waits, {places.most_common(8)}"


def measure_memory(settings):
    """Measure how many copies of the data are on the device."""
    size = 32 if settings.small else 224
    (x, y) = images(60 if settings.small else 6000, size)
    test = images(60, size, seed=1)
    x = (x * 255).to(torch.uint8)
    test = ((test[0] * 255).to(torch.uint8), test[1])
    torch.manual_seed(0)
    network = cnn()
    model = probe.Model(
        {3: settings.to_device(network)},
        call=lambda model, z: model(z.float() / 255),
        fresh=cnn,
    )
    linear(model, (x, y), test, untrained=settings.to_device(network))
    return (
        f"data {x.nbytes / 1e9:.3f} GB, peak {settings.peak() / (x.nbytes / 1e9):.1f} "
        "times that"
    )


def fit_and_compare(settings):
    """A linear fit, CKA and rank run on the device."""
    n, width, classes = (500, 64, 10) if settings.small else (50_000, 512, 1000)
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(n) % classes
    centers = 0.4 * torch.randn(classes, width, generator=draw)
    x = (torch.randn(n, width, generator=draw) + centers[labels]).to(settings.device)
    few = x[:10_000]
    labels = labels.to(settings.device)
    assert fit_linear(x, labels, classes).weight.device.type == settings.device.type
    seconds = {
        "fit": settings.seconds(lambda: fit_linear(x, labels, classes)),
        "cka": settings.seconds(lambda: Compared(few).cka(few.flip(1))),
        "rank": settings.seconds(lambda: effective_rank(few)),
    }
    return f"{n} x {width}, {classes} classes, seconds {seconds}"


def probe_network(settings, build, features, size):
    """Measure a network of torchvision by the linear readout and by retraining."""
    torch.manual_seed(0)
    examples = 12 if settings.small else 1000
    network = build().eval()
    train = images(examples, size)
    test = images(max(12, examples // 5), size, seed=1)
    steps = 2 if settings.small else 40
    networks = {
        t: trained(network, train, TASKS[t - 1], steps, settings.device) for t in (1, 3)
    }
    result = probe.analyze(
        probe.Model(networks, fresh=build),
        train,
        test,
        TASKS,
        features,
        untrained=settings.to_device(network),
        readouts=["linear", "retrain"],
        recipe=probe.Recipe(epochs=1, batch_size=32, precision="auto"),
    )
    ends = {}
    for name in result.features:
        ends[name] = float(result.matrix(name, "linear").values[-1].mean())
    return f"{examples} images of {size}: {ends}"


def probe_resnet(settings):
    """Measure layers of resnet18."""
    import torchvision.models as networks

    features = ["layer1", "layer3", "layer4"]
    size = 64 if settings.small else 224
    return probe_network(
        settings, lambda: networks.resnet18(num_classes=6), features, size
    )


def probe_transformer(settings):
    """Measure the last block of a vision transformer."""
    import torchvision.models as networks

    def build():
        if settings.small:  # the same code, a network for a CPU
            return networks.VisionTransformer(32, 8, 3, 2, 16, 32, num_classes=6)
        return networks.vit_b_16(num_classes=6)

    features = [f"encoder.layers.encoder_layer_{1 if settings.small else 10}"]
    return probe_network(settings, build, features, 32 if settings.small else 224)


STUDY = """\
orders = "none"
seeds = 1
scenario = { data = "digits", classes_per_task = 2 }
network = { name = "cnn3" }
training = { epochs = 2, batch_size = 32, precision = "auto" }
learners = { finetune = {}, er = { memory_per_class = 10 }, gem = { memory_per_class = 10 }, \
ewc = {}, offline = {} }
"""


def run_study(*options):
    """Run a small study by the command line."""
    with TemporaryDirectory() as folder:
        Path(folder, "study.toml").write_text(STUDY)
        command = ["-m", "probe", "run", "study.toml", "--out", "out", *options]
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=300, cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(probe.__file__).parents[1])}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr)[-600:]
        return f"{len(list(Path(folder, 'out').glob('*.csv')))} tables"


def run_two_workers(settings):
    """Two workers share one device."""
    return run_study("--device", str(settings.device), "--workers", "2")


def run_ray(settings):
    """Ray's jobs take a share of a GPU."""
    try:
        import ray  # noqa: F401
    except ImportError:
        return "ray is not installed"
    share = ["--gpus-per-job", "0.5"] if settings.on_gpu else []
    return run_study("--device", settings.device.type, "--executor", "ray", *share)


def read_checkpoints(settings):
    """Checkpoints of the device are read on the CPU; a recorder takes networks on the device."""
    network, train, test = setting(120)
    with TemporaryDirectory() as folder:
        for t in (1, 2, 3):
            torch.save(
                settings.to_device(network).state_dict(), f"{folder}/seed0-task{t}.pt"
            )
        files = probe.Model(f"{folder}/seed{{seed}}-task{{task}}.pt", fresh=cnn)
        linear(files, train, test, untrained=None)
        recorder = probe.Recorder(
            f"{folder}/recording", settings.to_device(network), test, TASKS, train=train
        )
        for t in (1, 2, 3):
            recorder.after_task(t)
        assert recorder.R.values.shape == (4, 3)
    return "both ways"


def compare_two(settings):
    """Networks are compared, trained and watched with data on the device and elsewhere."""
    network, train, test = setting(120)
    later = deepcopy(network)
    later[-1].weight.data.neg_()
    networks = settings.to_device(network), settings.to_device(later)
    tables = []
    for device in (settings.device, torch.device("cpu")):
        (x, y), (stored_x, stored_y) = [
            (x.to(device), y.to(device)) for x, y in (test, train)
        ]
        old, new = (x[:30], y[:30]), (x[30:], y[30:])
        result = probe.diff(*networks, old, new, train=(stored_x, stored_y))
        tables.append(result.remedies)
        with TemporaryDirectory() as folder:
            recorder = probe.Recorder(
                folder,
                networks[0],
                (x, y),
                TASKS,
                train=(stored_x, stored_y),
                layers=["2"],
                every=1,
            )
            recorder.after_step()
    return "the same" if tables[0].equals(tables[1]) else "differ in last digits"


CHECKS = (
    name_device,
    draw_weights,
    compare_with_cpu,
    repeat,
    mix_devices,
    use_precisions,
    use_caches,
    copy_batches,
    count_waits,
    measure_memory,
    fit_and_compare,
    probe_resnet,
    probe_transformer,
    run_two_workers,
    read_checkpoints,
    compare_two,
    run_ray,
)


def run(check, settings):
    """Run a check and print its line; return whether it passed."""
    if settings.on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    result = "PASS"
    try:
        text = check(settings)
    # A check may fail by anything; the others go on.
    except Exception as error:
        result = "FAIL"
        (*_, last) = traceback.extract_tb(error.__traceback__)
        text = (
            f"{type(error).__name__}: {str(error)[:300]} "
            f"({last.filename}:{last.lineno})"
        )
    seconds = time.perf_counter() - begin
    text = f"{text}; {seconds:.1f} s, peak {settings.peak():.2f} GB"
    print(f"{result} {check.__name__}: {text}", flush=True)
    return result == "PASS"


def main():
    """Run the checks, and return how many failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    on_gpu = torch.cuda.is_available()
    parser.add_argument("--device", default="cuda:0" if on_gpu else "cpu")
    parser.add_argument("--small", action="store_true", default=not on_gpu)
    parser.add_argument(
        "--only", default="", help="a part of the names of the checks to run"
    )
    parser.add_argument(
        "--limit", type=float, default=330, help="no check begins after so many s"
    )
    options = parser.parse_args()
    settings = Settings(torch.device(options.device), options.small)
    if not settings.on_gpu:  # two threads on two busy cores can take many times as long
        torch.set_num_threads(1)
    begin = time.perf_counter()
    failed = []
    for check in CHECKS:
        if options.only not in check.__name__:
            continue
        if time.perf_counter() - begin > options.limit:
            print(f"SKIP {check.__name__}: time is up")
        elif not run(check, settings):
            failed.append(check.__name__)
    print(f"{len(failed)} failed: {failed}; {time.perf_counter() - begin:.0f} s in all")
    return len(failed)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
