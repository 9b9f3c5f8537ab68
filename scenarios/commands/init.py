"""`probe init`: a study's file to begin with, every key of it explained, that runs as it is.

With `--own` there is a file of Python beside it, with a network and data of one's own to replace.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from probe.errors import InputError, unknown
from probe.files import not_written
from scenarios.commands.screen.terminal import printable
from scenarios.data.datasets import BUNDLED, LOADERS, Dataset, load
from scenarios.learners.catalog import MODULES
from scenarios.options import names
from scenarios.study.source import check_study

OWN_FILE = "mynets.py"
"""The file of Python that `--own` writes."""

_LEARNERS = "finetune,er,offline"
_IMAGES = "cnn3"  # for images of any size of 8 x 8 or more
_ROWS = "mlp"
_TASKS = 5  # about as many


def write_study(
    file: Path, data: str | None, network: str | None, learners: str | None, own: bool
) -> list[Path]:
    """Write a study's file, and with `own` the Python that it names; return their paths.

    data: a data set's name or a feature file; learners: as a,b. None = bundled digits, a network
    that suits the data, and three learners. Raises InputError for names that are not known, for
    files that are there already, and where they cannot be written; then nothing is written.
    """
    if file.suffix != ".toml":
        raise InputError(f"a study's file ends in .toml, got {file}: call it {file.name}.toml")
    if own and (data or network):
        raise InputError("--own brings a network and data of its own: leave out --data, --network")
    named = _learners(learners or _LEARNERS)
    if own:
        text = _study(file, '"mydata"', "tasks = [[0, 1], [2, 3]]", "mynet", named, True)
    else:
        chosen = data or "digits"
        known = _known(chosen)
        suits = _ROWS if known is not None and known.train.x.ndim < 4 else _IMAGES
        text = _study(
            file, json.dumps(chosen), _tasks(chosen, known), network or suits, named, False
        )
        check_study({"name": file.stem, **tomllib.loads(text)}, str(file))
    texts = {file: text} | ({file.with_name(OWN_FILE): _OWN_CODE} if own else {})
    for path in texts:
        if path.exists():
            raise InputError(f"{path} is there already, and stays as it is: name another file")
    for path, content in texts.items():
        try:
            # Never over a file that was made since.
            with path.open("x", encoding="utf-8") as stream:
                stream.write(content)
        except OSError as error:
            raise not_written(path, error) from None
    return list(texts)


def show_written(
    file: Path, data: str | None, network: str | None, learners: str | None, own: bool
) -> None:
    """Write the files as `write_study` does; print their names and the command that comes next."""
    written = write_study(file, data, network, learners, own)
    for path in written:
        print(f"wrote {printable(str(path))}")
    print(f"next: {printable(_command(file, own))}")


def _command(file: Path, own: bool) -> str:
    return f"probe run {file}" + (f" --load {file.with_name(OWN_FILE)}" if own else "")


def _learners(text: str) -> list[str]:
    """Return the learners that are named; raises InputError for unknown ones."""
    chosen = names(text)
    # Networks that are given are those of `probe model`.
    known = [name for name in MODULES if name not in ("checkpoints", "untrained")]
    for name in chosen:
        if name not in known:
            raise unknown("learner", name, known)
    if len(set(chosen)) < len(chosen):
        raise InputError(f"--learners expects different names a,b,c, got {text!r}")
    return chosen


def _known(data: str) -> Dataset | None:
    """Return the data if they are at hand, None for what is fetched later."""
    if not data.endswith(".npz") and data not in LOADERS:
        raise unknown("data set", data, [*LOADERS, "NAME.npz"])
    return load(data) if data.endswith(".npz") or data in BUNDLED else None


def _tasks(name: str, data: Dataset | None) -> str:
    """Return how the classes become tasks, as a line of the file."""
    classes = data.classes if data else 100 if name == "cifar100" else 10
    if classes <= _TASKS:
        return "classes_per_task = 1"
    if sizes := [size for size in range(2, classes) if classes % size == 0]:
        size = min(sizes, key=lambda size: abs(classes / size - _TASKS))
        return f"classes_per_task = {size}"
    # A prime number of classes: tasks of two, and of three at last.
    cut = [list(range(at, min(at + 2, classes))) for at in range(0, classes - 1, 2)]
    cut[-1] = list(range(cut[-1][0], classes))
    return f"tasks = {cut}"


def _study(
    file: Path, data: str, tasks: str, network: str, learners: Sequence[str], own: bool
) -> str:
    """Return the text of a study's file."""
    text = _TEXT.format(
        command=_command(file, own),
        data=data,
        tasks=tasks,
        network=network,
        learners="\n".join(_table(learner) for learner in learners),
    )
    return "\n".join(map(_aligned, text.split("\n")))


def _aligned(line: str) -> str:
    """Return a line of the file with what it says of a key where that of all keys stands."""
    code, mark, about = line.partition("  # ")
    return f"{code.rstrip():<28}# {about}" if mark and not line.startswith("#") else line


def _table(learner: str) -> str:
    about = _ABOUT.get(learner)
    return f"[learners.{learner}]\n{about}" if about else f"[learners.{learner}]\n"


_ABOUT = {
    "er": "memory_per_class = 10  # examples of each class that are kept and replayed\n",
    "offline": "# It is trained on all tasks at once: without it there is no ceiling.\n",
}

_TEXT = """\
# A study: learners learn one task after another; then each layer of their networks is held fixed,
# what is behind it is trained anew on all tasks, and what it cannot reach any more was forgotten.
#
#     {command} --dry-run    # what would be done, and about how long
#     {command}
#
# Stop it whenever you like: the same command goes on. docs/studies.md has all keys.

orders = "none"             # the tasks as they are; "rotate": every rotation; or "shuffle:5"
seeds = 2                   # each seed draws other weights and batches: intervals need 2, better 5

[scenario]
data = {data}
{tasks}  # the classes of each task
# train_limit = 100         # training examples of each class; all without it
# validation = 50           # test on so many training examples per class, to choose settings by

[network]
name = "{network}"  # `probe list` has the others
# features = [...]          # the layers to look behind; all that make sense without it

[training]                  # of every learner, and of what is retrained
epochs = 5                  # over each task
batch_size = 32
optimizer = "adam"          # adam, adamw, nadam or sgd
learning_rate = 0.001
# weight_decay = 0.0
# schedule = "cosine"       # lowers the rate to 0; "constant" without it

# [retraining]              # where what is retrained needs another recipe: the same keys
# epochs = 10

# The learners, each with its settings; `probe list` has the others.
{learners}
# What is trained behind a layer, and after how many tasks: "ends": before any and after all,
# "all": after each task as well, "last": after all alone.
[probing.readouts]
retrain = "ends"            # the network's own layers behind it
linear = "all"              # logistic regression

[report]
heads = ["single"]          # "single": all classes seen compete; "multi": those of the task alone
"""

_OWN_CODE = '''\
"""My network and my data: replace what is in the functions, and keep the lines with an @."""

import probe
import torch
from torch import nn


@probe.network("mynet")
def build():
    """The network, with weights of chance; the last layer has an output for each class."""
    return nn.Sequential(
        nn.Linear(20, 32),
        nn.ReLU(),
        nn.Linear(32, 16),
        nn.ReLU(),
        nn.Linear(16, 4),
    )


@probe.data("mydata")
def load():
    """(train, test), each a pair (x, y), a Dataset, or probe.Examples; here four made-up classes.

    y are class numbers from 0.
    """
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(4, 20, generator=generator)

    def drawn(count):
        y = torch.arange(count) % 4
        return centres[y] + torch.randn(count, 20, generator=generator), y

    return drawn(400), drawn(200)
'''
