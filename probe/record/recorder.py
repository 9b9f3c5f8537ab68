"""A recorder of continual training: after each task, the network's weights and its accuracies."""

from __future__ import annotations

import filecmp
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn
from torch.nn.parameter import is_lazy

from probe.arguments import checked
from probe.arrays import Array
from probe.batch import tensor_hash
from probe.cut.model_call import Call, Output
from probe.errors import InputError
from probe.examples import AnyExamples, match_inputs
from probe.files import make_folder, replacing
from probe.locks import Locked, lock
from probe.metrics.counts import Counts
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.task_predictions import TaskClasses
from probe.model import Head, Model
from probe.modules import (
    check_model,
    check_network,
    check_values,
    unwrapped,
)
from probe.record import recording
from probe.record.checkpoints import FOLDER_NAME, Run
from probe.record.course import COURSE, Course
from probe.record.data import DataReference, keep_data
from probe.record.recorded_network import RecordedNetwork
from probe.record.state_files import (
    keep_tensors,
    load_state,
    plain_state,
    write_tensors,
)
from probe.tables.schemas import CONTROLS
from probe.task_aware import make_task_aware
from probe.tasked_examples import (
    Data,
    TaskedExamples,
    Tasks,
    as_examples,
    assign_tasks,
)
from probe.validation import PositiveInt, WholeNumber

if TYPE_CHECKING:
    import pandas as pd

# Examples, perhaps some twice, on which a model is tried before it is trained.
_SOME = 16


@runtime_checkable
class Watcher(Protocol):
    """A comparison of the network in training with the network at the start."""

    def begin(self, model: Model, folder: Path) -> None:
        """Save the network as the one at the start, or take the one that an earlier process saved.

        Args:
            model: The network in training, and its call.
            folder: The folder of the run.
        """

    def restart(self) -> None:
        """Save the network, as it is now, as the one at the start."""

    def after_step(self, lock: Callable[[], None]) -> None:
        """Count a step of the training, and compare if it is time to.

        Args:
            lock: The function that is called before anything is written.
        """


class Recorder:
    """A recorder of networks and their accuracy matrix, called from within a training loop.

    >>> import probe, torch
    >>> from tempfile import TemporaryDirectory
    >>> model = torch.nn.Linear(4, 2)
    >>> test = torch.randn(8, 4), torch.arange(8) % 2
    >>> with TemporaryDirectory() as folder:
    ...     rec = probe.Recorder(folder, model, test, tasks=[[0], [1]])
    ...     for learned in (1, 2):  # after the training of each task
    ...         _ = model.bias.data.add_(learned)
    ...         rec.after_task(learned)
    >>> rec.R.values.shape
    (3, 2)

    A run that is recorded again after a restart continues: a new row replaces the
    earlier one, and if its network differs, later rows are dropped. Once a recorder has
    written a row, no other process can record the run until this recorder is deleted or
    its process ends; within one process, the recorder made last takes over.

    Attributes:
        run: The learner, order and seed of this run.

    Args:
        folder: The folder of the recording. Runs of other learners, orders and seeds
            may share it, also at the same time and from several processes.
        model: The network that is trained, or its wrapper; its weights, mode and
            gradients and all global generators are left unchanged, bit for bit.
        test: The data of all tasks: `Examples`, a pair (x, y) of tensors or arrays, a
            Dataset or a DataLoader; or a list of these, one for each task; class labels
            0..K-1.
        tasks: The executed order of the task numbers of `test`, None = ascending. If
            `test` has no task numbers: the classes of each of T tasks in executed
            order, each class in exactly one task.
        seed: The seed of the run; learner, order and seed together identify a run.
        order: The name of the run's task order.
        learner: The name of the run's learner.
        train: The training examples of all tasks, saved in the folder together with
            `test` for the retraining; None = save neither.
        data: The name of the source of both, as `probe model --data` takes it
            (`mydata:load`). It is saved with a hash instead of a copy. The data must
            then be given to the analysis again, which compares them with the hash.
        call: The way to call the model, as in `probe.Model`.
        output: The way to find the logits, as in `probe.Model`.
        head: The outputs that compete, as in `probe.Model`, but None = all of them.
        batch_size: Examples in a batch of the evaluation, None = a size that is fast on
            the device.
        every: The steps between two readings of `after_step`, None = it is not called.
        layers: The names of modules that `after_step` reads by the nearest class mean.
        grows: The name of the linear layer with a bias, or of the module around it,
            that gets outputs for new classes as it learns. It is saved with all K
            outputs: those to come are never predicted. None = the network has all
            outputs from the start.
        diff: A watch that compares the network with that at the start every few steps,
            and stops the training if too much is lost, see `probe.Watch`.

    Raises:
        InputError: Before any training: data, tasks and names do not fit each other,
            the model, or the folder.
        NotWritten: The folder cannot be written to.
    """

    _lock: ExitStack | None = None
    _course: Course | None = None

    @checked
    def __init__(
        self,
        folder: str | Path,
        model: nn.Module,
        test: Data,
        tasks: Tasks = None,
        *,
        seed: WholeNumber = 0,
        order: str | int = "0",
        learner: str = "model",
        train: Data | None = None,
        data: str | None = None,
        call: Call | None = None,
        output: Output = None,
        head: Head | None = None,
        batch_size: PositiveInt | None = None,
        every: PositiveInt | None = None,
        layers: Sequence[str] = (),
        grows: str | None = None,
        diff: Watcher | None = None,
    ) -> None:
        run = _run(learner, order, seed)
        check_model(model)
        self.folder = Path(folder)
        self.model = unwrapped(model)
        splits = _splits(test, train, data)
        examples = assign_tasks(splits, tasks)
        _check_sizes(examples.sizes("test"))
        called = Model(model, call=call, output=output, head=head)
        self._record = recording.RunRecord.of(run, examples, called)
        called, self._examples = self._make_task_aware(called, examples)
        self._network = RecordedNetwork(
            model=self.model,
            called=called,
            n_classes=examples.n_classes,
            grows=grows,
            batch_size=batch_size,
            seed=run.seed,
        )
        self._resume()
        self._course = self._new_course(every, layers)
        self._try_model()
        make_folder(self._run_folder)
        self._keep_data(data, splits)
        self._watch = self._begin_watch(diff, call, output)

    def _make_task_aware(
        self, called: Model, examples: TaskedExamples
    ) -> tuple[Model, TaskedExamples]:
        """Return model and examples, with the task in the inputs if the model takes it.

        Raises InputError if other runs have other tasks.
        """
        runs = recording.read_runs(self.folder)
        others = [other for other in runs if other.run != self.run]
        orders = [self.run.order, *(other.run.order for other in others)]
        aware = make_task_aware(called, examples, lambda: self.model, orders)
        recording.check_tasks_of(self._record, others)
        return aware

    def _begin_watch(
        self, watch: object, call: Call | None, output: Output
    ) -> Watcher | None:
        """Begin and return the watch, None without one; raises InputError for anything else."""
        if not isinstance(watch, Watcher | None):
            raise InputError(f"diff= must be a probe.Watch, got {type(watch).__name__}")
        if watch is not None:
            watch.begin(Model(self.model, call=call, output=output), self._run_folder)
        return watch

    def _try_model(self) -> None:
        """Try on a few examples what would otherwise fail after hours of training."""
        # A lazy model is not tried: a call would initialize it.
        if not any(map(is_lazy, plain_state(self.model).values())):
            self._network.state()
            test = self._examples.splits["test"]
            some = torch.linspace(0, len(test) - 1, _SOME, device="cpu").long()
            self._network.predict(test.take(some), 0)
            if self._course is not None:
                self._network.layer_predictions(self._course)

    def _keep_data(self, name: str | None, splits: Mapping[str, AnyExamples]) -> None:
        """Save the examples to train and test on, or only their hash if their source has a name.

        Nothing is saved without training examples. Raises InputError if the folder has
        others.
        """
        if "train" not in splits:
            return
        train, test = match_inputs(splits["train"], splits["test"])
        data_path = self.folder / recording.DATA
        reference_path = self.folder / recording.REFERENCE
        if reference := DataReference.read(reference_path):
            reference.check(train, test)
        elif name and not data_path.exists():
            DataReference.of(name, train, test).keep(reference_path)
        else:
            keep_data(data_path, train, test)

    @property
    def _run_folder(self) -> Path:
        """The folder of the run."""
        return recording.run_folder(self.folder, self.run)

    @property
    def run(self) -> Run:
        """The learner, order and seed of this run."""
        return self._record.run

    @property
    def tasks(self) -> TaskClasses:
        """The classes of each task, in executed order."""
        return self._record.tasks

    @property
    def R(self) -> AccuracyMatrix:  # noqa: N802 - as papers have it
        """The accuracy matrix so far; NaN in rows that are not recorded.

        All outputs compete; if the network is task-aware, only the outputs of the
        task's classes.
        """
        return self._record.matrix()

    @property
    def counts(self) -> Mapping[int, Counts]:
        """The confusion counts (K, K) so far, by tasks learned."""
        return {
            learned: self._record.predictions(learned).counts
            for learned in self._record.rows
        }

    @checked
    def after_task(self, learned: WholeNumber) -> None:
        """Save the network as it is now, then test it.

        Args:
            learned: The number of tasks learned, 0..T.

        Raises:
            InputError: The number is out of range, another recorder has this run, or
                the model fails on the test data; its weights are saved even then.
            NotWritten: The disk is full.
        """
        if learned > len(self.tasks):
            raise InputError(
                f"got {learned} tasks, expected up to {len(self.tasks)}: list all tasks"
            )
        check_values(self.model)
        self._lock_run()
        path = recording.network_file(self.folder, self.run, learned)
        with replacing(path) as new:
            write_tensors(self._network.state(), new)
            hashes = {**self._record.hashes, learned: tensor_hash(load_state(new))}
            if path.exists() and not filecmp.cmp(new, path, shallow=False):
                # Another network was recorded here: its row and later ones are dropped.
                # They are dropped before its file is replaced, at the end of the block:
                # a process that is killed here leaves no accuracy of another network.
                rows = self._record.rows
                self._write({k: rows[k] for k in rows if k < learned}, hashes)
        self._warn_of_equal(learned, hashes)
        predicted = self._network.predict(self._examples.splits["test"], learned)
        if self._course is not None:
            # Before the row: a course without the end of a recorded task cannot go on.
            self._course.go_to(learned)
            self._read(self._course)
        self._write({**self._record.rows, learned: predicted.cpu().numpy()}, hashes)
        if learned == 0 and self._watch is not None:
            self._watch.restart()

    def _new_course(self, every: int | None, layers: Sequence[str]) -> Course | None:
        """Return the course, None without `every`; raises InputError if layers cannot be read."""
        has_train = "train" in self._examples.splits
        if layers and (every is None or not has_train or isinstance(layers, str)):
            raise InputError(
                "layers=['conv1'] are read by training examples: give every=, train="
            )
        if every is None:
            return None
        return Course(
            self._run_folder / COURSE,
            every,
            layers,
            self._examples,
            max(self._record.rows, default=-1),
            self.run.seed,
        )

    @property
    def every(self) -> int | None:
        """The steps between two readings of the course, None without."""
        return self._course.every if self._course else None

    @property
    def counts_steps(self) -> bool:
        """Whether `after_step` is to be called."""
        return self._course is not None or self._watch is not None

    @property
    def course(self) -> pd.DataFrame:
        """The accuracies between tasks so far: step, tasks_seen, feature, task_position, accuracy.

        The feature "" is the network's own output; a layer is read by the nearest class
        mean, among the classes of the task if the network is task-aware. There is a
        reading after each task, too; that after task 0, of the untrained network, is
        the floor.
        """
        if self._course is None:
            raise InputError(
                "no steps are read: give every=100, the steps between two readings"
            )
        return self._course.table

    def after_step(self) -> None:
        """Count a step of the training; after each `every`-th, add to `course` and its file.

        With `diff=`, the network is also compared with that at the start, after each
        `every`-th step of the watch.

        The network is tested on at most 1,000 of the test examples, drawn by the seed
        class by class, and each of `layers` by the nearest class mean of as many
        training examples. Source: De Lange et al. 2023, who find that accuracy on
        earlier tasks falls and recovers within a task (the stability gap).

        Raises:
            InputError: The recorder was made without `every` and `diff`, another one
                has this run, or the model fails on the test data.
            NotWritten: The disk is full.
            TooMuchLost: More is lost than the watch tolerates.
        """
        course = self._course
        watch = self._watch
        if not self.counts_steps:
            raise InputError(
                "no steps are read: give every=100, the steps between two readings"
            )
        if course is not None:
            course.step += 1
            if course.step % course.every == 0:
                self._lock_run()
                self._read(course)
        if watch is not None:
            watch.after_step(self._lock_run)

    def _read(self, course: Course) -> None:
        """Add the present accuracies of the output ("") and of the layers to the course."""
        course.add(
            {
                "": self._network.predict(course.test, course.step),
                **self._network.layer_predictions(course),
            }
        )

    def offline(self, model: nn.Module) -> None:
        """Save a network that was trained on all tasks at once, the ceiling of this seed's runs."""
        check_network(model, "the joint network")
        path = recording.offline_file(self.folder, self.run.seed)
        make_folder(path.parent)
        with lock(path.parent, wait=True):
            keep_tensors(plain_state(unwrapped(model)), path)

    def __getstate__(self) -> dict[str, Any]:
        # A copy, as some frameworks make of their plugins, has no run of its own.
        return {**self.__dict__, "_lock": None}

    def _lock_run(self) -> None:
        """Lock the run for this recorder; raises InputError if another has recorded it."""
        folder = self._run_folder
        with ExitStack() as locks, suppress(Locked):
            # Locked only when something is recorded: each process of a distributed
            # training has a recorder, and one of them records. The lock is of the
            # process: in a notebook, the recorder made last takes over from older ones.
            if self._lock is None:
                locks.enter_context(lock(folder, process=True))
            stored = recording.read_run(folder)
            if (stored.hashes if stored else {}) == self._record.hashes:
                self._lock = self._lock or locks.pop_all()
                return
        raise InputError(
            f"another recorder has recorded {folder} since this was made: give each "
            "run its own seed=, order= or learner=, or make a new recorder here"
        )

    def _write(self, rows: Mapping[int, Array], hashes: Mapping[int, str]) -> None:
        """Replace the rows of the run, first in its file, then here; drop hashes of other rows."""
        hashes = {row: sha for row, sha in hashes.items() if row in rows}
        record = replace(self._record, rows=rows, hashes=hashes)
        record.write(self.folder)
        self._record = record

    def _warn_of_equal(self, row: int, hashes: Mapping[int, str]) -> None:
        """Warn if the network of a row is also that of another row, or of another seed."""
        sha = hashes[row]
        equal = [f"that at {t}" for t in hashes if t != row and hashes[t] == sha]
        # Before any training, the networks of several seeds may be equal.
        for other in recording.read_runs(self.folder) if row else ():
            # A run of the same learner and order, with another seed.
            run = other.run
            is_same = run._replace(seed=self.run.seed) == self.run
            if is_same and run != self.run and other.hashes.get(row) == sha:
                equal.append(f"that of seed {run.seed}")
        if equal:
            text = f"the network at tasks learned = {row} is {equal[0]}, bit for bit"
            warnings.warn(f"{text}: record the network that is trained", stacklevel=4)

    def _resume(self) -> None:
        """Resume from recorded rows of this run; InputError if they were measured otherwise."""
        if (stored := recording.read_run(self._run_folder)) is None:
            return
        recording.check_tasks_of(self._record, [stored])
        if stored.settings != self._record.settings:
            raise InputError(
                f"{self._run_folder} was recorded with {stored.settings}, got "
                f"{self._record.settings}: choose another folder"
            )
        for name, values in vars(self._record.test).items():
            if not np.array_equal(values, getattr(stored.test, name)):
                raise InputError(
                    f"{self._run_folder} has other test examples: choose another folder"
                )
        self._record = replace(self._record, rows=stored.rows, hashes=stored.hashes)


def _run(learner: str, order: str | int, seed: int) -> Run:
    """Return the run of these names and this seed; raises InputError if they suit no folder."""
    run = Run(learner, str(order), seed)
    for kind, name in (("learner", run.learner), ("order", run.order)):
        if (
            not isinstance(name, str)
            or name in CONTROLS
            or not re.fullmatch(FOLDER_NAME, name)
        ):
            raise InputError(
                f"{kind} must be up to 80 letters, digits, _ and -, and no reserved "
                f"name, got {name!r:.60}: choose another"
            )
    return run


def _splits(
    test: Data, train: Data | None, source: str | None
) -> dict[str, AnyExamples]:
    """Return the examples to test on, and to train on if there are any.

    Raises InputError for a source of the data without training examples.
    """
    if source is not None and train is None:
        raise InputError(
            "data='mydata:load' names the source of both: give train=, too"
        )
    splits = {"test": as_examples(test, "test")}
    if train is not None:
        splits["train"] = as_examples(train, "train")
    return splits


def _check_sizes(sizes: Sequence[int]) -> None:
    """Raise InputError for a task with fewer than two test examples."""
    if min(sizes) < 2:
        number = sizes.index(min(sizes)) + 1
        raise InputError(f"test has {min(sizes)} examples of task {number}: give more")
