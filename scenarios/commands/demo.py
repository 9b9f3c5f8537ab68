"""`probe demo`: a pair of networks in seconds, then a study in a minute, on handwritten digits."""

from copy import deepcopy
from pathlib import Path

from torch import nn

import probe
from probe.errors import printable
from probe.examples import Examples
from probe.seeding import global_stream, stream
from probe.training.loop import fit
from scenarios.commands.run import run_study
from scenarios.commands.screen.terminal import show_line
from scenarios.data.datasets import load
from scenarios.networks import narrow
from scenarios.options import RunOptions

_STUDY = "digits"
_RECIPE = probe.Recipe(epochs=15, batch_size=32)


def show_demo(out: Path) -> bool:
    """Show what a fine-tuned network lost, then run the study `digits`.

    Args:
        out: The run directory of the study.

    Returns:
        Whether no job of the study failed.
    """
    show_line("A network was trained on digits, then fine-tuned on turned digits.")
    show_line("probe.diff(before, after, old, new):")
    print(printable(str(compare_turned()), "\n"))
    show_line("")
    show_line("Two methods on five tasks, each of two digits: probe run digits")
    options = RunOptions(out=out, device="cpu")
    return run_study(_STUDY, options, f"probe run digits --device cpu --out '{out}'")


def compare_turned() -> "probe.Diff":
    """Compare a network of digits with itself after fine-tuning on digits turned by 90 degrees."""
    data = load(_STUDY)
    train = data.train
    test = data.test
    with global_stream(stream(0, "demo")):
        untrained = narrow((1, 8, 8), 10)
    before = _train_copy(untrained, train)
    after = _train_copy(before, _turn(train))
    stored = {"old": train, "new": _turn(train)}
    return probe.diff(before, after, test, _turn(test), train=stored)


def _train_copy(network: nn.Module, examples: Examples) -> nn.Module:
    """Return a copy of a network that is trained on examples."""
    copy = deepcopy(network)
    fit(copy, examples, _RECIPE, stream(0, "demo training"))
    return copy.eval()


def _turn(examples: Examples) -> Examples:
    """Return images that are turned by 90 degrees."""
    return examples.changed(x=examples.x.rot90(1, (2, 3)))
