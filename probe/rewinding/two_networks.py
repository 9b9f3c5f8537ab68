"""Two networks: the last one with sets of its blocks put back to those of an earlier one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial

from torch import nn

from probe.immutable import immutable
from probe.modules import named_state
from probe.rewinding.blocks import Changed, Earlier, changed_blocks, rewound
from probe.rewinding.correspondence import Comparison, unrelated
from probe.rewinding.estimates import Position
from probe.rewinding.hybrids import Rewinding, rewind
from probe.rewinding.pairs import deficit_doubt, law_failure, position_of
from probe.rewinding.parts import Parts
from probe.rewinding.scoring import Tests
from probe.rewinding.shapley import EXACT, Coalitions, Floats
from probe.rewinding.sharing import SharedPasses


@immutable(eq=False)
class TwoNetworks:
    """The scores of a network with sets of its blocks put back to an earlier one's.

    Attributes:
        earlier: The earlier network, in eval mode.
        last: The last network, in eval mode, which is as before afterwards.
        parts: The blocks.
        tests: The test examples and the score.
        task: The number of tasks that the earlier network has learned, from 1.
        hybrids: The number of sets of blocks up to which all are tested.
        everywhere: Whether each set is tested on the examples of all tasks.
        progress: Function that wraps the sets, as `tqdm` does.
    """

    earlier: nn.Module
    last: nn.Module
    parts: Parts
    tests: Tests
    task: int = 1
    hybrids: int = EXACT
    everywhere: bool = False
    progress: Callable[[Sequence[int]], Iterable[int]] = iter

    @cached_property
    def before(self) -> Earlier:
        """The earlier network, as it is put back."""
        return Earlier.of(self.earlier, self.last)

    @cached_property
    def changed(self) -> Mapping[str, Changed]:
        """The blocks that have changed."""
        return changed_blocks(self.parts.blocks, self.before, self.last)

    @cached_property
    def rewinding(self) -> Rewinding:
        """The scores by set of blocks put back."""
        shared = self._shared_passes()
        if shared and shared.are_right():
            masks = Coalitions(players=len(self.changed), limit=self.hybrids).masks
            sets = [
                tuple(name for k, name in enumerate(self.changed) if mask >> k & 1)
                for mask in masks
            ]
            task = None if self.everywhere else self.task
            scores = shared.scores(sets, task, self.progress)
        else:
            scores = rewind(
                self.last,
                self.before,
                self.parts.blocks,
                partial(self._scores, self.last),
                self.hybrids,
                progress=self.progress,
            )
        of_task = self.tests.task_of == self.task - 1
        return Rewinding(scores=scores, of_task=of_task, limit=self.hybrids)

    def _shared_passes(self) -> SharedPasses | None:
        """Return passes that share their beginnings; None if a score or a change forbids it."""
        starts = self.parts.starts
        has_attributes = any(block.attributes for block in self.changed.values())
        if starts is None or callable(self.tests.score) or has_attributes:
            return None
        return SharedPasses(
            model=self.last,
            before=self.before,
            changed=self.changed,
            tests=self.tests,
            starts=starts,
        )

    @cached_property
    def saved(self) -> Floats:
        """The score of the earlier network on each example, (N,), called as it was saved."""
        return self._scores(self.earlier)

    @cached_property
    def outputs(self) -> tuple[int, int]:
        """The numbers of outputs of both networks."""
        earlier = self.tests.logits(self.earlier, self.task)
        last = self.tests.logits(self.last, self.task)
        return earlier.shape[-1], last.shape[-1]

    @cached_property
    def position(self) -> Position:
        """The quantities of every test example, as far as they are known."""
        chance = 1 / self.outputs[1] if self.tests.is_accuracy else None
        return position_of(
            self.rewinding,
            tuple(self.parts.blocks),
            self.saved,
            self._broken_law(),
            self._unrelated() or deficit_doubt(self.rewinding, chance),
        )

    def put_back(self, *blocks: str) -> Floats:
        """Return the score of each example with some of the changed blocks put back, (N,)."""
        return self.rewinding.scores[blocks]

    def _scores(self, network: nn.Module, everywhere: bool = False) -> Floats:
        all_tasks = everywhere or self.everywhere
        return self.tests.scores(network, None if all_tasks else self.task)

    def _broken_law(self) -> str:
        """Return why the law of rewinding fails, empty if it holds."""
        put_back = self.put_back(*self.rewinding.blocks)
        state = named_state(self.last)
        earlier = self.before.state.items()
        grown = any(tensor.shape != state[name].shape for name, tensor in earlier)
        if grown and self.outputs[0] != self.outputs[1]:
            # Outputs that have come since compete in a hybrid, and not in the network
            # as saved.
            with rewound(self.last, self.changed.values(), self.before, grown=False):
                put_back = self.tests.scores(self.last, self.task)
        of_task = self.rewinding.of_task
        others = self.before.others
        return law_failure(self.saved[of_task], put_back[of_task], others)

    def _unrelated(self) -> str:
        """Return why the units of two networks do not correspond, empty if they do."""
        if not self.parts.facts:
            return ""
        changed = changed_blocks(self.parts.by_feature, self.before, self.last)
        comparison = Comparison(
            model=self.last,
            earlier=self.earlier,
            before=self.before,
            changed=changed,
            facts=self.parts.facts,
            run=partial(self.tests.logits, position=self.task),
        )
        hidden = [name for name in self.parts.facts if name in changed]
        return unrelated(comparison.relations(), hidden)
