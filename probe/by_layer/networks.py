"""The interfaces of networks to the engine: `Source` gives the `Networks` of each job.

Both have two implementations: networks learned by a study (`scenarios.study.training`),
and networks trained elsewhere, in files or in memory (`probe.by_layer.network_source`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Protocol

import torch
from torch import Tensor, nn

from probe.arrays import Array
from probe.batch import Value
from probe.by_layer.head_predictions import Heads
from probe.by_layer.jobs import Job
from probe.by_layer.measurement import Measurement, TrainingCost
from probe.by_layer.plan import Plan
from probe.by_layer.report import Head
from probe.by_layer.store import Results
from probe.cut.cuts import Cuts
from probe.cut.interface import CutFacts
from probe.cut.model_call import ModelCall
from probe.extensions import ReadoutEntry
from probe.immutable import immutable
from probe.metrics.task_predictions import TaskPredictions
from probe.modules import mode
from probe.notes import of_outputs, of_recorded
from probe.rewinding.blocks import Change
from probe.rewinding.correspondence import Comparison, relation_values
from probe.rewinding.hybrids import Names, rewind, sets_of
from probe.rewinding.sharing import SharedPasses
from probe.stored_names import Peer, name_of_blocks
from probe.tasks import Scenario
from probe.training.evaluation import ByHead, Logits, check_outputs
from probe.training.fresh_weights import Fresh
from probe.training.memory_format import same_in_both_layouts, some

Tested = tuple[Array, Array]
"""Predictions and losses of the N test examples."""

_LARGEST = 65_504  # of float16


@immutable
class TrainedNetwork:
    """A network after some tasks, on the device of the data.

    Attributes:
        logits: Function that maps a batch to its logits.
        scenario: The tasks, as the network's learner sees them.
        classes_seen: The classes learned so far.
        task_aware: Whether the learner receives the task id.
        cost: Cost of the last task learned.
        recorded: Predictions of an earlier evaluation with the head `all`, or `multi`
            where the learner is task-aware.
        notes: Notes on its file.
    """

    model: nn.Module
    logits: Logits
    scenario: Scenario
    classes_seen: Sequence[int]
    task_aware: bool = False
    cost: TrainingCost | None = None
    recorded: TaskPredictions | None = None
    notes: Sequence[str] = ()

    def evaluate(self, head: Head | None = None, check: bool = True) -> Measurement:
        """Test the network on all tasks under every head, or under one head only.

        Args:
            head: The only head, None for all; one head leaves out loss and recorded
                accuracies.
            check: Whether to check that an output does not depend on the others of its
                batch.
        """
        scenario = self.scenario
        if check:
            with mode(self.model, training=False):
                check_outputs(self.logits, scenario.test)
        (by_head, losses), notes_on_outputs = self._predicted
        notes = {*self.notes, *notes_on_outputs}
        test = scenario.test_examples
        main = self._heads().main
        heads = [head] if head else list(by_head)
        predicted = {name: scenario.in_callers_order(by_head[name]) for name in heads}
        if self.recorded and not head:
            order, classes = zip(
                *((t.index - 1, t.classes) for t in scenario.tasks), strict=True
            )
            again = predicted["multi" if self.task_aware else "all"]
            notes.update(
                of_recorded(self.recorded, test.with_predictions(again, order, classes))
            )
        return Measurement(
            test=test,
            predicted=predicted,
            loss={} if head else {main: scenario.in_callers_order(losses.half())},
            cost=self.cost,
            notes=tuple(notes),
        )

    def test_hybrids(
        self,
        change: Change,
        facts: Mapping[str, CutFacts],
        run: Callable[[nn.Module], Tensor],
        position: int,
        limit: int,
        seed: int,
        shared: SharedPasses | None = None,
    ) -> Measurement:
        """Test the network with sets of its blocks put back to those of an earlier one.

        Args:
            change: The network, the one after the task at a position, and the blocks.
            facts: The facts on the cut at each hidden feature, by depth.
            run: Function that calls a network on examples of the earlier task.
            position: The position. The test data of other tasks are used only if at
                most one block is put back.
            limit: The number of sets up to which all are tested, see
                `probe.rewinding.shapley`.
            seed: The seed of random orders.
            shared: Passes that share work, None = whole passes.

        Returns:
            The predictions and losses under the main head, by set. Its values are the
            relations of units; its notes name what differs and cannot be put back.
        """
        changed = change.changed
        with mode(self.model, training=False), mode(change.earlier, training=False):
            tested = None
            if shared:
                sets = sets_of(changed, limit, seed)
                tested = shared.run_test(
                    lambda: self._tested_together(shared, sets, position),
                    [some(task.test) for task in self.scenario.tasks],
                )
            if tested is None:
                tested = rewind(
                    change,
                    lambda everywhere: self._tested(None if everywhere else position),
                    limit,
                    self._as_it_is,
                    seed,
                )
            comparison = Comparison(
                change=change,
                facts=facts,
                run=run,
            )
            with torch.no_grad():
                relations = comparison.relations()
        return Measurement(
            test=self.scenario.test_examples,
            predicted={
                name_of_blocks(names): predicted
                for names, (predicted, _) in tested.items()
            },
            loss={name_of_blocks(names): loss for names, (_, loss) in tested.items()},
            values=relation_values(relations),
            notes=change.before.others,
        )

    @cached_property
    def _predicted(self) -> tuple[ByHead, set[str]]:
        """The predictions on all tasks under every head, and notes on the outputs."""
        notes: set[str] = set()

        def logits_of(x: Value) -> Tensor:
            logits = self.logits(x)
            notes.update(of_outputs(logits))
            return logits

        with mode(self.model, training=False):
            return self._heads().predict(logits_of, check=True), notes

    @property
    def _as_it_is(self) -> Tested:
        """The predictions and losses of the network itself under the main head."""
        by_head, _ = self._predicted
        return self._of_main(by_head)

    @cached_property
    def _any_layout(self) -> bool:
        return same_in_both_layouts(self.logits, some(self.scenario.test))

    def finite_logits(self, x: Value) -> Tensor:
        """Return finite logits: a hybrid was never trained, and may give NaN or Inf."""
        return self.logits(x).nan_to_num()

    def _heads(self, position: int | None = None) -> Heads:
        return Heads(
            scenario=self.scenario,
            classes_seen=self.classes_seen,
            task_aware=self.task_aware,
            position=position,
        )

    def _tested(self, position: int | None) -> Tested:
        """Test it in eval mode under the main head, on the task at a position or on all tasks."""
        heads = self._heads(position)
        return self._of_main(heads.predict(self.finite_logits, self._any_layout))

    def _tested_together(
        self, shared: SharedPasses, sets: Sequence[Names], position: int
    ) -> dict[Names, Tested]:
        """Test it with sets of blocks put back, by passes that share work."""
        # Replaced for every set but the empty one.
        tested = dict.fromkeys(sets, self._as_it_is)
        # A single block on all tasks, several only on the task at the position.
        for is_one, where in ((True, None), (False, position)):
            chosen = [names for names in sets if names and (len(names) == 1) == is_one]
            chosen = shared.by_beginning(chosen)
            variants = self._heads(where).predict_variants(
                partial(shared.logits, sets=chosen), self._any_layout
            )
            tested |= zip(chosen, map(self._of_main, variants), strict=True)
        return tested

    def _of_main(self, predicted: ByHead) -> Tested:
        """Return predictions and losses under the main head, in the caller's order."""
        by_head, losses = predicted
        of_main = by_head[self._heads().main]
        in_order = self.scenario.in_callers_order
        return in_order(of_main), in_order(losses.clamp(max=_LARGEST).half())


class Networks(Protocol):
    """The networks of one run."""

    @property
    def scenario(self) -> Scenario:
        """The tasks in executed order, as the run's learner sees them."""

    @property
    def call(self) -> ModelCall:
        """The call that gives a network's logits."""

    @property
    def fresh(self) -> Fresh | None:
        """The source of fresh weights of a retrained tail, None = the recipe's rule."""

    @property
    def readouts(self) -> Mapping[str, ReadoutEntry]:
        """The readouts that the plan may name."""

    def after(self, tasks_seen: int) -> TrainedNetwork:
        """Return the network after a number of tasks."""

    def peer_network(self, peer: Peer) -> nn.Module:
        """Return the network of a peer, an earlier or the untrained one, see `jobs.peers_of`."""

    def cuts(self, model: nn.Module, features: Sequence[str], sample: Value) -> Cuts:
        """Return the cuts of the first network, which serve all others.

        Args:
            model: The network.
            features: The features to cut at.
            sample: Real inputs, on which the cuts are checked.

        Returns:
            The cuts.
        """


class Source(Protocol):
    """A source of the networks of all runs of a plan, with the data on the device."""

    @property
    def plan(self) -> Plan:
        """The plan of the networks' measurements."""

    def networks(self, job: Job, results: Results) -> Networks:
        """Return the networks of a job.

        Args:
            job: A job of the plan.
            results: The store of the job's results, which also keeps the networks
                trained for it.
        """
