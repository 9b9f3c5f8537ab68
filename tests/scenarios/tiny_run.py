"""A tiny study of two tasks of digits, run within this process and without its figures.

It measures no more than the model at its end and one retrained downstream of `hidden1`;
see `PROBED`.
"""

import io
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from probe.by_layer.measurement import from_arrays, keys_of, to_arrays
from scenarios.options import RunOptions
from tests.scenarios.table_names import TABLES

TINY = """
orders = { there = [1, 2] }
[scenario]
data = "digits"
classes_per_task = 5
train_limit = 4
test_limit = 5
[network]
name = "mlp"
features = ["hidden1"]
[training]
epochs = 1
batch_size = 8
learning_rate = 0.01
[probing]
readouts = { retrain = "last" }
checkpoints = "all"
diagnostics = false
hybrids = 0
[learners.finetune]
[learners.offline]
"""

PLAIN = {
    "readouts": {"retrain": "last"},
    "checkpoints": "all",
    "diagnostics": False,
    "hybrids": 0,
}
"""The table `probing` of that study, for one that is no file."""

PROBED = TINY.replace(
    """readouts = { retrain = "last" }
checkpoints = "all"
diagnostics = false
hybrids = 0
""",
    "",
)
"""The same with everything that is measured by default: floor, ceiling and a linear readout."""


def probed(settings):
    """Return that study with lines in its table `probing`."""
    return PROBED.replace("[probing]\n", f"[probing]\n{settings}\n")


@dataclass(frozen=True)
class Tiny:
    """A study's file and its run directory, `run`, in one folder.

    It learns fast enough to predict more than one class, which would have to be noted.
    """

    folder: Path

    @property
    def root(self):
        return self.folder / "run"

    def run(self, toml=TINY, **flags):
        """Run the study, or go on with it, and return what was printed.

        Figures take longer than the study, and are drawn from the tables alone: they
        are left out.
        """
        with redirect_stdout(io.StringIO()) as said:
            self._run(toml, flags)
        return said.getvalue()

    def ran(self, toml=TINY, **flags):
        """Run the study without showing its results, which takes a quarter of it; return it."""
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
            patch.setattr(
                "scenarios.commands.screen.results.show_outcome", lambda *_, **__: None
            )
            self._run(toml, flags)
        return self

    def _run(self, toml, flags):
        # Only whoever runs it pays for the import of all that draws figures.
        from scenarios.commands.run import run_study

        file = self.folder / "tiny.toml"
        self.folder.mkdir(exist_ok=True)
        file.write_text(toml)
        options = RunOptions(
            **{"out": self.root, "executor": "inline", "tables": True, **flags}
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("scenarios.commands.run.build", lambda *_, **__: [])
            assert run_study(str(file), options)

    def tables(self):
        return {name: (self.root / name).read_bytes() for name in TABLES}

    def results(self):
        return contents(self.root / "jobs")


def contents(folder):
    """Return inode, time of change and bytes of every file below a folder, but locks."""
    files = {path: path.stat() for path in folder.rglob("*") if path.name != "lock"}
    return {
        str(path.relative_to(folder)): (
            stat.st_ino,
            stat.st_mtime_ns,
            path.read_bytes(),
        )
        for path, stat in files.items()
        if path.is_file()
    }


"""The content of measurements by job, fingerprint, name and digest of settings."""


def measured(root, job=""):
    """Return the measurements in a run directory, of all jobs or one, as they are stored.

    The seconds that each took are among its details: made again, it is another.
    """
    stored = {}
    for path in root.glob(f"jobs/{job or '*'}/*/predictions*.npz"):
        try:
            with np.load(path) as file:
                arrays = dict(file)
        except FileNotFoundError:  # merged meanwhile
            return measured(root, job)
        for i, key in enumerate(keys_of(arrays)):
            predicted = arrays["predicted"][arrays["measurement"] == i]
            content = arrays["details"][i], arrays["code"][i], predicted.tolist()
            stored[*path.parts[-3:-1], str(key), key.settings] = repr(content)
    return stored


def forget(path, *names):
    """Take measurements out of a file of predictions, as if they had never been made."""
    with np.load(path) as file:
        arrays = dict(file)
    kept = {key: m for key, m in from_arrays(arrays).items() if str(key) not in names}
    own = {name: arrays[name] for name in ("fingerprint", "record")}
    assert len(kept) == len(arrays["code"]) - len(names)
    np.savez_compressed(path, **own, **to_arrays(kept))
