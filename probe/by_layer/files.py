"""An analysis of networks in files: several seeds and orders, resumable, in a run directory.

It is a study of networks that are given, which is another room's work (the entry point `measure`);
here is what it is asked for, and how its tables become an `Analysis`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch import Tensor, nn

from probe.by_layer.asked import OFFLINE, Step, networks_of
from probe.by_layer.load import load
from probe.by_layer.result import Analysis
from probe.cut.model_call import ModelCall
from probe.errors import InputError
from probe.examples import Examples
from probe.extensions import extension
from probe.files import make_folder
from probe.modules import copied, unwrapped
from probe.readouts.readout import Readout
from probe.record.checkpoints import Checkpoints, Run
from probe.record.recording import Recording, load_data, read_recording
from probe.record.state_files import keep_tensors, plain_state
from probe.training.fresh_weights import Fresh
from probe.training.recipe import Recipe
from probe.values.allocation import CacheSettings

Orders = str | Mapping[str, Sequence[int]] | None
"""A rule of orders, or what each is by name: tasks as they were learned, from 1."""

LEARNER = "model"
"""What tables call the learner of networks whose files name none."""

Build = Callable[[], nn.Module]
"""Makes the network anew, its weights drawn at random."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is measured of networks, see `probe.by_layer.analyze.analyze`; None = left open.

    features: None = a good set; train_offline: whether an offline network is trained by the recipe.
    """

    train: Examples[Any] | None
    test: Examples[Any] | None
    tasks: Sequence[Sequence[int]] | None
    features: Sequence[str] | None
    readouts: Mapping[str, Readout | None]
    recipe: Recipe
    model_call: ModelCall
    cache: CacheSettings | None
    orders: Orders = None
    train_offline: bool = False

    def once(
        self, seeds: int, fresh: Fresh | None, source: Source, outputs: Sequence[int] | None
    ) -> Asked:
        """Return what is asked where each run is retrained once, from its own seed.

        outputs: those of the model that stand for the classes, None = all. Raises InputError for
        several seeds, and for fresh weights that no function gives.
        """
        if seeds != 1:
            raise InputError(
                f"of files, or with out=, each run is retrained once, from its own seed; got "
                f"seeds={seeds!r}: give the networks of several seeds"
            )
        if fresh is not None and source.build is None:
            raise InputError("of files, or with out=, fresh weights come from build=, a function")
        if outputs is None:
            return self
        call = self.model_call

        def chosen(model: nn.Module, x: Any) -> Tensor:
            return call(model, x)[:, list(outputs)]

        return replace(self, model_call=ModelCall(call=chosen))


@dataclass(frozen=True, kw_only=True)
class GivenRun:
    """All that the entry point `measure` needs: networks in files, and what is asked of them.

    build: makes the network; draws: whether it draws fresh weights, or the recipe's rule does; out:
    the run directory; draw: whether figures are drawn there.
    """

    checkpoints: Checkpoints
    build: Build
    draws: bool
    asked: Asked
    out: Path
    draw: bool


@dataclass(frozen=True)
class Source:
    """Where the networks are: models by step, or files.

    models: as `analyze` takes them, or a pattern of file names, or a recorder's folder; untrained,
    offline: models, or for files a pattern, or `train`; build, orders: see `analyze`.
    """

    models: Mapping[int, nn.Module] | Mapping[int, str | Path] | str | Path
    untrained: nn.Module | None
    offline: nn.Module | str | Path | None
    build: Build | None
    orders: Orders

    @property
    def in_memory(self) -> bool:
        """Whether the networks are models, and no files."""
        given = self.models
        if isinstance(given, str | Path):
            return False
        values = given.values() if isinstance(given, Mapping) else ()
        return not any(isinstance(each, str | Path) for each in values)

    def recording(self) -> Recording | None:
        """Return the recording, None where models are anything but the folder of one."""
        if isinstance(self.models, str | Path) and Path(self.models).is_dir():
            return read_recording(self.models)
        return None

    def found(self, recording: Recording | None, folder: Path, tasks: int) -> Checkpoints:
        """Return the files of all networks; models in memory are written into `folder`."""
        if recording is not None:
            if self.offline not in (None, "train"):
                raise InputError("offline= is kept by rec.offline(model), or 'train': leave it out")
            return recording.checkpoints
        if self.in_memory:
            return self._written(folder, tasks)
        offline = None if self.offline == "train" else self.offline
        if self.untrained is not None or isinstance(offline, nn.Module):
            raise _mixed()
        if isinstance(self.models, str | Path):
            return Checkpoints.find(self.models, offline, LEARNER)
        run: dict[int, Path] = {}
        for step, path in self.models.items():
            if not isinstance(path, str | Path):
                raise _mixed()
            if not isinstance(step, int):
                raise InputError(
                    f"files are given by tasks learned, as {{{tasks}: 'task{tasks}.pt'}}, got one "
                    f"for {step!r}"
                )
            run[step] = Path(path)
        levels = {} if offline is None else {0: Path(offline)}
        return Checkpoints(runs={Run(LEARNER, "0", 0): run}, offline=levels)

    def _written(self, folder: Path, tasks: int) -> Checkpoints:
        """Write models to files, each whole or not at all."""
        offline = None if self.offline == "train" else self.offline
        each = networks_of(self.models, self.untrained, offline, tasks)
        make_folder(folder)
        paths: dict[Step, Path] = {step: folder / f"task-{step}.pt" for step in each}
        for step, model in each.items():
            keep_tensors(plain_state(model), paths[step])
        levels = {0: paths.pop(OFFLINE)} if OFFLINE in paths else {}
        run = {step: path for step, path in paths.items() if isinstance(step, int)}
        return Checkpoints(runs={Run(LEARNER, "0", 0): run}, offline=levels)

    def factory(self) -> tuple[Build, bool]:
        """Return what makes the network, and whether it draws fresh weights."""
        if self.build is not None:
            return self.build, True
        if not self.in_memory or not isinstance(self.models, Mapping):
            raise InputError(
                "networks in files need build=, a function that makes the network anew"
            )
        model = next(each for each in self.models.values() if isinstance(each, nn.Module))
        return partial(copied, unwrapped(model)), False


def _mixed() -> InputError:
    return InputError(
        "networks are files or models, got some of both: save all with torch.save, the untrained "
        "one as task 0"
    )


def analyze_files(source: Source, asked: Asked, out: str | Path | None) -> Analysis:
    """Measure networks in files and return what came out of it, its tables.

    out: the run directory, where the same call goes on if it was stopped; None = nothing is left.
    Raises InputError for whatever does not fit, before anything is measured.
    """
    recording = source.recording()
    if recording is not None:
        asked = _completed(asked, recording)
    tasks = asked.tasks
    if asked.train is None or asked.test is None or tasks is None:
        raise InputError(
            "train, test and tasks are needed: give them, or the folder of a recorder that has "
            "kept them by train="
        )
    build, draws = source.factory()
    orders = asked.orders if source.orders is None else source.orders
    asked = replace(asked, orders=orders, train_offline=source.offline == "train")
    # A run directory is told by what is in it: what is not the study's own lies elsewhere.
    with TemporaryDirectory() as scratch:
        root = Path(scratch) / "analysis" if out is None else Path(out)
        found = source.found(recording, Path(scratch) / "networks", len(tasks))
        run = GivenRun(
            checkpoints=found, build=build, draws=draws, asked=asked, out=root, draw=out is not None
        )
        extension("measure")(run)
        analysis = load(root)
    if not isinstance(analysis, Analysis):
        raise TypeError("a run directory holds an analysis")
    return analysis


def _completed(asked: Asked, recording: Recording) -> Asked:
    """Return what is asked, with what a recording says where it was left open."""
    train, test = asked.train, asked.test
    if train is None and test is None and recording.data:
        train, test = load_data(recording.data)
    orders = {name: [task + 1 for task in each] for name, each in recording.orders.items()}
    call = asked.model_call
    if recording.called and call.call is None:
        raise InputError(
            "the recorder gave the network its batches by a function: give it again, as call="
        )
    if call.output is None:
        call = replace(call, output=recording.output)
    return replace(
        asked,
        train=train,
        test=test,
        tasks=recording.tasks if asked.tasks is None else asked.tasks,
        orders=orders,
        model_call=call,
    )
