"""`probe init`: a first study file that explains every key and runs unchanged.

`--own` adds a Python file with a network and data to replace.
"""

import json
import shlex
import tomllib
from importlib.resources import files
from pathlib import Path

from probe.errors import InputError
from scenarios.commands.screen.terminal import show_line
from scenarios.data.datasets import Dataset, load
from scenarios.data.names import BUNDLED
from scenarios.options import InitOptions, names
from scenarios.study.study_file import check_study, choose_learners

_TEMPLATES = files("scenarios.commands") / "templates"
OWN_FILE = "mynets.py"  # the Python file that `--own` writes

_TASKS = 5  # the number of tasks that is aimed at


def show_written(file: Path, options: InitOptions) -> None:
    """Write a study file, and with `--own` the Python file that it names; print the next command.

    Args:
        file: The study file.
        options: The flags of `probe init`.

    Raises:
        InputError: A name is unknown, or a file exists; nothing is written.
        OSError: A file cannot be written.
    """
    if file.suffix != ".toml":
        raise InputError(
            f"a study file ends in .toml, got {file}: name it {file.name}.toml"
        )
    if options.own and (options.data or options.network):
        raise InputError(
            "--own writes a network and data: leave out --data and --network"
        )
    words = ["probe", "run", str(file)]
    if options.own:
        words += ["--load", str(file.with_name(OWN_FILE))]
    command = shlex.join(words)
    text = _study_file(command, options)
    texts = {file: text}
    if options.own:
        texts[file.with_name(OWN_FILE)] = (_TEMPLATES / "mynets.txt").read_text("utf-8")
    else:
        check_study({"name": file.stem, **tomllib.loads(text)}, str(file))
    if existing := [str(path) for path in texts if path.exists()]:
        raise InputError(f"{existing[0]} exists already: name another file")
    for path, content in texts.items():
        # Mode x: a file that was created since the check is not overwritten.
        with path.open("x", encoding="utf-8") as stream:
            stream.write(content)
        show_line(f"wrote {path}")
    show_line(f"next: {command}")


def _study_file(command: str, options: InitOptions) -> str:
    """Return the text of the study file; `command` runs it."""
    name = options.data or "digits"
    data = None
    # Other data are not loaded here: they may have to be downloaded.
    if not options.own and (name.endswith(".npz") or name in BUNDLED):
        data = load(name)
    tasks = _tasks(name, data)
    # A network for vectors, or for images of any size of 8 x 8 or more.
    network = "mlp" if data is not None and data.train.x.ndim < 4 else "cnn3"
    network = options.network or network
    if options.own:
        name = "mydata"
        tasks = "tasks = [[0, 1], [2, 3]]"
        network = "mynet"
    learners = choose_learners(names(options.learners or "finetune,er,offline"), {})
    tables = [f"[learners.{kind}]\n{_ABOUT.get(kind, '')}" for kind in learners]
    template = (_TEMPLATES / "study.toml").read_text("utf-8")
    return template.format(
        command=command,
        data=json.dumps(name, ensure_ascii=False),
        tasks=tasks,
        network=json.dumps(network, ensure_ascii=False),
        learners="\n".join(tables),
    )


def _tasks(name: str, data: Dataset | None) -> str:
    """Return the file's line that divides the classes into tasks, if the data do not."""
    if data is not None and data.has_tasks:
        return "# tasks = those of the data"
    classes = data.classes if data else 100 if name == "cifar100" else 10
    if classes <= _TASKS:
        return "classes_per_task = 1"
    if sizes := [size for size in range(2, classes) if classes % size == 0]:
        size = min(sizes, key=lambda size: abs(classes / size - _TASKS))
        return f"classes_per_task = {size}"
    # A prime number of classes: tasks of two, the last of three.
    tasks = [[first, first + 1] for first in range(0, classes - 1, 2)]
    tasks[-1] = list(range(classes - 3, classes))
    return f"tasks = {tasks}"


_ABOUT = {
    "er": "memory_per_class = 10       # examples of each class to store and replay\n",
    "offline": "# It learns all tasks at once: what is still there is compared with it.\n",
}
