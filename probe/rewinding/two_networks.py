"""Two networks: the last one with sets of its blocks put back to those of an earlier one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from torch import nn

from probe.immutable import immutable
from probe.rewinding.blocks import Changed, Earlier, changed_blocks, rewound
from probe.rewinding.correspondence import Comparison, unrelated
from probe.rewinding.estimates import Position
from probe.rewinding.hybrids import Rewinding, rewind
from probe.rewinding.pairs import deficit_doubt, law_failure, position_of
from probe.rewinding.parts import Parts
from probe.rewinding.scoring import Tests
from probe.rewinding.shapley import EXACT, Floats


@immutable(eq=False)
class TwoNetworks:
    """The scores of a network with sets of its blocks put back.

    Attributes:
        before: The earlier network.
        saved: Its score on each example, (N,), called as it was saved.
        changed: The blocks that have changed.
        rewinding: The scores by set of blocks put back.
        position: The quantities of every test example, as far as they are known.
        outputs: The number of outputs of the last network.
    """

    before: Earlier
    saved: Floats
    changed: Mapping[str, Changed]
    rewinding: Rewinding
    position: Position
    outputs: int

    @classmethod
    def compare(
        cls,
        earlier: nn.Module,
        last: nn.Module,
        parts: Parts,
        tests: Tests,
        position: int = 1,
        hybrids: int = EXACT,
        everywhere: bool = False,
        progress: Callable[[Sequence[int]], Iterable[int]] = iter,
    ) -> "TwoNetworks":
        """Test the last network with sets of blocks of an earlier one.

        Args:
            earlier: The earlier network, in eval mode.
            last: The last network, in eval mode, which is as before afterwards.
            parts: The blocks.
            tests: The test examples and the score.
            position: The number of tasks that the earlier network has learned, from 1.
            hybrids: The number of sets up to which all are tested.
            everywhere: Whether each set is tested on the examples of all tasks.
            progress: Function that wraps the sets, as `tqdm` does.
        """
        before = Earlier.of(earlier, last)
        changed = changed_blocks(parts.blocks, before, last)
        rewinding = Rewinding(
            scores=rewind(
                last,
                before,
                parts.blocks,
                lambda few: tests.scores(last, position, few or everywhere),
                hybrids,
                progress=progress,
            ),
            of_task=tests.task_of == position - 1,
            limit=hybrids,
        )
        saved = tests.scores(earlier, position, everywhere)
        of_task = rewinding.of_task
        outputs = [
            tests.logits(network, position).shape[-1] for network in (earlier, last)
        ]
        put_back = rewinding.scores[rewinding.blocks]
        if outputs[0] != outputs[1]:
            # Outputs that have come since compete in a hybrid, and not in the network
            # as saved.
            with rewound(last, changed.values(), before, grown=False):
                put_back = tests.scores(last, position)
        broken_law = law_failure(saved[of_task], put_back[of_task], before.others)
        chance = 1 / outputs[1] if tests.score == "accuracy" else None
        doubt = _unrelated(earlier, last, before, parts, tests, position)
        doubt = doubt or deficit_doubt(rewinding, chance)
        return cls(
            before=before,
            saved=saved,
            changed=changed,
            rewinding=rewinding,
            outputs=outputs[1],
            position=position_of(
                rewinding, tuple(parts.blocks), saved, broken_law, doubt
            ),
        )

    def put_back(self, *blocks: str) -> Floats:
        """Return the score of each example with some of the changed blocks put back, (N,)."""
        return self.rewinding.scores[tuple(blocks)]


def _unrelated(
    earlier: nn.Module,
    last: nn.Module,
    before: Earlier,
    parts: Parts,
    tests: Tests,
    position: int,
) -> str:
    """Return why the units of two networks do not correspond, empty if they do."""
    changed = changed_blocks(parts.by_feature, before, last)
    comparison = Comparison(
        model=last,
        earlier=earlier,
        before=before,
        changed=changed,
        facts=parts.facts,
        run=partial(tests.logits, position=position),
    )
    hidden = [name for name in parts.facts if name in changed]
    return unrelated(comparison.relations(), hidden)
