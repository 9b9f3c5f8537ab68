"""A recorder of continual training: after each task, the network's weights and its accuracies."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from operator import index
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from probe.batch import tensor_hash
from probe.cut.model_call import Call, Output, explained
from probe.errors import InputError
from probe.examples import Examples, alike
from probe.files import alone_in, make_folder, replacing
from probe.metrics.counts import Counts, margins
from probe.metrics.matrix import AccuracyMatrix
from probe.metrics.task_counts import TaskCounts
from probe.model import Head, Model
from probe.modules import check_model, kept_buffers, mode, unwrapped
from probe.numbered import Data, Tasks, examples_of, numbered
from probe.record import runs
from probe.record.checkpoints import FOLDER_NAME, Run
from probe.record.data import Reference, keep_data
from probe.record.state_files import keep_tensors, load_state, plain_state, write_tensors
from probe.seeding import every_global_stream, stream
from probe.tables.rows import CONTROLS
from probe.told import told
from probe.training.evaluation import predict_each

_FEW = 2  # examples on which a model is tried before it is trained


class Recorder:
    """A recorder of networks and their accuracy matrix, called from within a training loop.

    >>> import probe, torch
    >>> from tempfile import TemporaryDirectory
    >>> model = torch.nn.Linear(4, 2)
    >>> test = torch.randn(8, 4), torch.arange(8) % 2
    >>> with TemporaryDirectory() as folder:
    ...     rec = probe.Recorder(folder, model, test, tasks=[[0], [1]])
    ...     for learned in (1, 2):  # after the training of each task
    ...         rec.after_task(learned)
    >>> rec.R.values.shape
    (3, 2)

    - folder: of the recording; several runs, of other learners, orders and seeds, may share it,
      also at the same time, from several processes;
    - model: the network that is trained, or its wrapper; its weights, mode and gradients and
      all global generators are left unchanged, bit for bit;
    - test: the data of all tasks: `Examples`, a pair (x, y) of tensors or arrays, a Dataset or a
      DataLoader; or a list of these, one for each task; class labels 0..K-1;
    - tasks: the executed order of these numbers, None = as they are; or, for examples without, the
      classes of each of T tasks in executed order, each class in exactly one;
    - seed, order, learner: identify the run; order: the name of its task order;
    - train: the examples of all tasks, which are saved in the folder, with `test`, for the
      retraining; None = neither is; data: the name of what gives both, as `probe model --data`
      takes it (`mydata:load`): it is saved with a hash instead of a copy. The data are then given
      to the analysis once more, which compares them;
    - call, output, head: the way to call the model, to find its logits, and the outputs that
      compete, as in `probe.Model`, but None = all of them; batch_size: of the
      evaluation, None = a size that is fast on the device.

    A run that is recorded again, after a restart, continues: a row replaces the earlier one, and
    where its network differs, later rows are dropped. From its first row on a recorder has the run
    alone, until it is deleted or its process ends; in one process the last one made goes on. Raises
    InputError before any training for data, tasks and names that do not fit each other, the model,
    or the folder, and NotWritten.
    """

    def __init__(
        self,
        folder: str | Path,
        model: nn.Module,
        test: Data,
        tasks: Tasks = None,
        *,
        seed: int = 0,
        order: str | int = "0",
        learner: str = "model",
        train: Data | None = None,
        data: str | None = None,
        call: Call | None = None,
        output: Output = None,
        head: Head | None = None,
        batch_size: int | None = None,
    ) -> None:
        run = _run(learner, order, seed)
        if data is not None and train is None:
            raise InputError("data= names what gives train= and test=: give train=, too")
        check_model(model)
        self.folder, self.model = Path(folder), unwrapped(model)
        self._batch_size = _whole(batch_size, "batch_size", 1) if batch_size is not None else None
        halves = {"test": test} if train is None else {"test": test, "train": train}
        read = {name: examples_of(each, name) for name, each in halves.items()}
        called = Model(model, call=call, output=output, head=head)
        others = [other for other in runs.read_runs(self.folder) if other.run != run]
        orders = [run.order, *(other.run.order for other in others)]
        called, self._given = told(called, given := numbered(read, tasks), lambda: model, orders)
        self._ask = called.model_call
        for number, (task, size) in enumerate(
            zip(given.classes, given.sizes("test"), strict=True), 1
        ):
            if size < 2:
                raise InputError(
                    f"test has {size or 'no'} examples of task {number}, classes {list(task)}: "
                    f"give 2 or more"
                )
        self._record = runs.RunRecord(
            run=run,
            tasks=given.classes,
            numbers=given.order,
            output=output,
            head=head,
            called=call is not None,
            rows={},
            hashes={},
        )
        self._lock: ExitStack | None = None
        runs.check_tasks_of(self._record, others)
        self._resume()
        # What fails on a few examples now would fail after hours of training. A model without
        # shapes yet would get them here, and with them its weights.
        if not any(map(is_lazy, plain_state(self.model).values())):
            self._predicted(self._given.halves["test"].take(torch.arange(_FEW)), 0)
        make_folder(runs.run_folder(self.folder, run))
        if train is not None:
            self._keep_data(data, *alike(read["train"], read["test"]))

    def _keep_data(self, name: str | None, train: Examples[Any], test: Examples[Any]) -> None:
        """Save examples, or their name and hash; raises InputError beside others."""
        kept, named = self.folder / runs.DATA, self.folder / runs.REFERENCE
        if known := Reference.read(named):
            known.check(train, test)
        elif name and not kept.exists():
            Reference.to(name, train, test).keep(named)
        else:
            keep_data(kept, train, test)

    @property
    def run(self) -> Run:
        """The learner, order and seed of this run."""
        return self._record.run

    @property
    def tasks(self) -> tuple[tuple[int, ...], ...]:
        """The classes of each task, in executed order."""
        return self._record.tasks

    @property
    def R(self) -> AccuracyMatrix:  # noqa: N802 - as papers have it
        """The accuracy matrix so far; NaN in rows that are not recorded.

        All outputs compete or, told the task, those of the task's classes.
        """
        return self._record.matrix()

    @property
    def counts(self) -> Mapping[int, Counts]:
        """The confusion counts (K, K) so far, by tasks learned."""
        return {learned: own.total for learned, own in self._record.rows.items()}

    def after_task(self, learned: int) -> None:
        """Save the network as it is now, then test it; learned: number of tasks, 0..T.

        Raises InputError for another number, while another recorder has this run, and for a model
        that fails on the test data, whose weights are kept all the same; NotWritten if the disk is
        full.
        """
        row = _whole(learned, "tasks learned", 0)
        if row > len(self.tasks):
            raise InputError(f"there are {len(self.tasks)} tasks, and {row} cannot be learned")
        self._take_run()
        path = runs.network_file(self.folder, self.run, row)
        with replacing(path) as new:
            write_tensors(plain_state(self.model), new)
            hashes = {**self._record.hashes, row: tensor_hash(load_state(new))}
            if path.exists() and not filecmp.cmp(new, path, shallow=False):
                # What comes after another network than this one is of no use beside it. Before that
                # is replaced: a process that is killed here leaves no accuracy of another network.
                self._keep({k: v for k, v in self._record.rows.items() if k < row}, hashes)
        predicted = self._predicted(self._given.halves["test"], row)
        self._keep({**self._record.rows, row: self._given.counted(predicted)}, hashes)

    def offline(self, model: nn.Module) -> None:
        """Save a network that was trained on all tasks at once, the ceiling of this seed's runs."""
        path = runs.offline_file(self.folder, self.run.seed)
        check_model(model)
        make_folder(path.parent)
        with alone_in(path.parent):
            keep_tensors(plain_state(unwrapped(model)), path)

    def __getstate__(self) -> dict[str, Any]:
        # A copy, as some frameworks make of their plugins, has no run of its own.
        return {**self.__dict__, "_lock": None}

    def _take_run(self) -> None:
        """Take the run for this recorder alone; raises InputError if another has recorded it."""
        folder = runs.run_folder(self.folder, self.run)
        with ExitStack() as lock:
            # Only now: of the processes of one training, each of which has a recorder, one records.
            # In one process the last one made goes on, as a notebook keeps those of failed cells.
            held = self._lock or lock.enter_context(alone_in(folder, timeout=0, process=True))
            found = runs.read_run(folder)
            if not held or (found.hashes if found else {}) != self._record.hashes:
                raise InputError(
                    f"another recorder has recorded {folder} since this one was made: give each "
                    f"run its own seed=, order= or learner=, or end the other and make a new one"
                )
            self._lock = self._lock or lock.pop_all()

    def _keep(self, rows: Mapping[int, TaskCounts], hashes: Mapping[int, str]) -> None:
        """Set the rows, in the file first."""
        hashes = {learned: own for learned, own in hashes.items() if learned in rows}
        record = replace(self._record, rows=rows, hashes=hashes)
        record.write(self.folder)
        self._record = record

    def _predicted(self, test: Examples[Any], row: int) -> Tensor:
        """Return the model's predictions, leaving it unchanged."""
        model, known = self.model, self._given.known
        device = next((p.device for p in model.parameters()), test.y.device)
        # It may draw at random, in eval mode too.
        chance = every_global_stream(stream(self.run.seed, "record", row))
        with mode(model, training=False), kept_buffers(model), chance, explained(test.x):
            scores = partial(self._ask, model)
            predicted, _ = predict_each(
                scores, test.to(device), known, {"": None}, self._batch_size
            )
            return predicted[""]

    def _resume(self) -> None:
        """Resume from the rows that an earlier process has recorded of this run."""
        folder = runs.run_folder(self.folder, self.run)
        found = runs.read_run(folder)
        if found is None:
            return
        runs.check_tasks_of(self._record, [found])
        # Each example counted as predicted right: as many of each class in each task.
        expected = self._given.counted(self._given.halves["test"].y).tables
        totals = margins(expected)[0]
        each = (margins(own.tables)[0] for own in found.rows.values())
        if not all(np.array_equal(own, totals) for own in each):
            raise InputError(
                f"{folder} was recorded with other test examples: give the same ones, or choose "
                f"another folder"
            )
        self._record = replace(self._record, rows=found.rows, hashes=found.hashes)


def _run(learner: str, order: str | int, seed: int) -> Run:
    run = Run(learner, str(order), _whole(seed, "seed", 0))
    for kind, name in zip(("learner", "order"), run[:2], strict=True):
        if not isinstance(name, str) or name in CONTROLS or not re.fullmatch(FOLDER_NAME, name):
            raise InputError(
                f"{kind} is a name of 80 letters, digits, _ and - at most, not that of a control, "
                f"got {name!r:.60}: choose another"
            )
    return run


def _whole(value: object, name: str, least: int) -> int:
    """Return a whole number; raises InputError for another value, or one below the least."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InputError(f"{name} must be a whole number, {least} or more, got {value!r:.60}")
    return number
