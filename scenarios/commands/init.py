"""`probe init`: a first study file that explains every key and runs unchanged.

`--own` adds a Python file with a network and data to replace.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from probe.errors import InputError, unknown
from probe.files import not_written
from scenarios.commands.screen.terminal import printable
from scenarios.data.datasets import BUNDLED, LOADERS, Dataset, load
from scenarios.learners.catalog import MODULES
from scenarios.options import names
from scenarios.study.source import check_study

OWN_FILE = "mynets.py"
"""The Python file that `--own` writes."""

_LEARNERS = "finetune,er,offline"
_IMAGES = "cnn3"  # for images of any size of 8 x 8 or more
_ROWS = "mlp"
_TASKS = 5  # about as many


def show_written(
    file: Path, data: str | None, network: str | None, learners: str | None, own: bool
) -> None:
    """Write a study file, and with `own` the Python file that it names; print the next command.

    data: a data set's name or a feature file; learners: such as a,b. None = bundled digits, a
    network that suits the data, and three learners. Raises InputError, before anything is written,
    for unknown names, for existing files and where they cannot be written.
    """
    if file.suffix != ".toml":
        raise InputError(f"a study's file ends in .toml, got {file}: call it {file.name}.toml")
    if own and (data or network):
        raise InputError("--own brings a network and data of its own: leave out --data, --network")
    chosen = data or "digits"
    given = None if own else _known(chosen)
    suits = _ROWS if given is not None and given.train.x.ndim < 4 else _IMAGES
    command = f"probe run {file}" + (f" --load {file.with_name(OWN_FILE)}" if own else "")
    text = _TEXT.format(
        command=command,
        data='"mydata"' if own else json.dumps(chosen),
        tasks="tasks = [[0, 1], [2, 3]]" if own else _tasks(chosen, given),
        network="mynet" if own else network or suits,
        learners="\n".join(
            f"[learners.{name}]\n{_ABOUT.get(name, '')}"
            for name in _learners(learners or _LEARNERS)
        ),
    )
    text = "\n".join(map(_aligned, text.split("\n")))
    if not own:
        check_study({"name": file.stem, **tomllib.loads(text)}, str(file))
    texts = {file: text} | ({file.with_name(OWN_FILE): _OWN_CODE} if own else {})
    for path in texts:
        if path.exists():
            raise InputError(f"{path} exists already and is not overwritten: name another file")
    for path, content in texts.items():
        try:
            # Never overwrites a file created since the check.
            with path.open("x", encoding="utf-8") as stream:
                stream.write(content)
        except OSError as error:
            raise not_written(path, error) from None
        print(f"wrote {printable(str(path))}")
    print(f"next: {printable(command)}")


def _learners(text: str) -> list[str]:
    """Return the named learners; raises InputError for unknown ones."""
    chosen = names(text)
    # Given networks are for `probe model`.
    known = [name for name in MODULES if name not in ("checkpoints", "untrained")]
    for name in chosen:
        if name not in known:
            raise unknown("learner", name, known)
    if len(set(chosen)) < len(chosen):
        raise InputError(f"--learners expects different names a,b,c, got {text!r}")
    return chosen


def _known(data: str) -> Dataset | None:
    """Return the data if they are on disk, None if they are downloaded later."""
    if not data.endswith(".npz") and data not in LOADERS:
        raise unknown("data set", data, [*LOADERS, "NAME.npz"])
    return load(data) if data.endswith(".npz") or data in BUNDLED else None


def _tasks(name: str, data: Dataset | None) -> str:
    """Return the file's line that divides the classes into tasks."""
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


def _aligned(line: str) -> str:
    """Return a line of the file with the comment of its key in the common column."""
    code, mark, about = line.partition("  # ")
    return f"{code.rstrip():<28}# {about}" if mark and not line.startswith("#") else line


_ABOUT = {
    "er": "memory_per_class = 10  # examples of each class to store and replay\n",
    "offline": "# It learns all tasks jointly: without it there is no ceiling.\n",
}

_TEXT = """\
# A study: each learner learns one task after another. Then each layer of its network is frozen and
# the layers downstream are retrained on all tasks: accuracy that they cannot regain is forgotten.
#
#     {command} --dry-run    # jobs, training steps and memory
#     {command}
#
# You can stop it at any time: the same command resumes it. docs/studies.md lists all keys.

orders = "none"             # the given order; "rotate": every rotation; or "shuffle:5"
seeds = 2                   # for weights and batches: intervals need at least 2, better 5

[scenario]
data = {data}
{tasks}  # the classes of each task
# train_limit = 100         # training examples of each class; all by default
# validation = 50           # test on held-out training examples of each class, to tune settings

[network]
name = "{network}"  # see `probe list` for others
# features = [...]          # the layers to cut at; a good set by default

[training]                  # of every learner, and of the retraining
epochs = 5                  # over each task
batch_size = 32
optimizer = "adam"          # adam, adamw, nadam or sgd
learning_rate = 0.001
# weight_decay = 0.0
# schedule = "cosine"       # lowers the rate to 0; "constant" by default

# [retraining]              # if the retraining needs another recipe: the same keys
# epochs = 10

# The learners, each with its settings; see `probe list` for others.
{learners}
# The readouts downstream of a layer, and when they are trained: "ends": before the first and after
# the last task, "all": also after each other task, "last": only after the last.
[probing.readouts]
retrain = "ends"            # the layers of the network itself
linear = "all"              # logistic regression

[report]
heads = ["single"]          # "single": all classes seen compete; "multi": only those of the task
"""

_OWN_CODE = '''\
"""My network and my data: replace the bodies of the functions, and keep the lines with an @."""

import probe
import torch
from torch import nn


@probe.network("mynet")
def build():
    """The network, randomly initialized; the last layer has one output per class."""
    return nn.Sequential(
        nn.Linear(20, 32),
        nn.ReLU(),
        nn.Linear(32, 16),
        nn.ReLU(),
        nn.Linear(16, 4),
    )


@probe.data("mydata")
def load():
    """(train, test), each a pair (x, y), a Dataset, or probe.Examples; here four synthetic classes.

    y holds class numbers from 0.
    """
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(4, 20, generator=generator)

    def drawn(count):
        y = torch.arange(count) % 4
        return centres[y] + torch.randn(count, 20, generator=generator), y

    return drawn(400), drawn(200)
'''
