"""The measurements of a comparison, in order."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from probe.before_after.answering import Evidence
from probe.before_after.changes import block_changes
from probe.before_after.content import Content, contents
from probe.before_after.data import Pair, Stored, halves
from probe.before_after.ranking import measure
from probe.before_after.remedies import UserRemedy, Workshop
from probe.before_after.result import Diff
from probe.before_after.setting import Setting
from probe.errors import InputError
from probe.progress import tracked
from probe.rewinding.parts import Parts

if TYPE_CHECKING:
    import pandas as pd


def compare(
    setting: Setting,
    parts: Parts,
    by_depth: Parts,
    examples: Stored | None,
    user: Mapping[str, UserRemedy],
    seed: int,
) -> Diff:
    """Compare two networks.

    Args:
        setting: The networks and test examples.
        parts: The blocks.
        by_depth: The blocks of suggested features, of which the last is the head.
        examples: Stored examples, None if there are none.
        user: The user's remedies by name.
        seed: The seed of halves, draws, and trainings.
    """
    models = setting.models
    put_back = setting.put_back(parts)
    two = put_back.two
    highest = max(int(y.max()) for y in setting.labels)
    if setting.tests.score == "accuracy" and highest >= two.outputs:
        raise InputError(
            f"got the label {highest}, but the network has {two.outputs} outputs"
        )
    is_fitted = halves([len(y) for y in setting.labels], seed)
    workshop = Workshop(
        before=models.before,
        after=models.after,
        tests=setting.tests,
        compared=two,
        is_fitted=is_fitted,
        guilty=put_back.guilty,
        head=_head(setting, by_depth),
        stored=examples,
        seed=seed,
    )

    def open_block(block: str) -> "pd.DataFrame":
        if two.position.withheld:
            raise InputError(f"nothing is said of blocks: {two.position.withheld}")
        return setting.opened(parts, block).causes

    remedies = list(tracked(workshop.remedies(user), "remedies"))
    evidence = Evidence(
        setting=setting,
        put_back=put_back,
        inside=setting.opened(parts, put_back.opened) if put_back.opened else None,
        changes=block_changes(models.after, two.before, parts.blocks, two.changed),
        measured=measure(remedies, setting.is_old, is_fitted, setting.is_accuracy),
        readouts=_readouts(setting, parts, examples),
    )
    return Diff(
        answer=evidence.answer,
        causes=put_back.causes,
        block_changes=evidence.changes,
        measured=evidence.measured,
        readouts=evidence.readouts,
        open_block=open_block,
    )


def _head(setting: Setting, parts: Parts) -> tuple[str, ...]:
    """Return the parameters of the last block that has any, empty without a matrix."""
    parameters = dict(setting.models.after.named_parameters())
    head: list[str] = []
    for names in parts.blocks.values():
        head = [name for name in names if name in parameters] or head
    return tuple(head) if any(parameters[name].ndim > 1 for name in head) else ()


def _readouts(
    setting: Setting, parts: Parts, examples: Stored | None
) -> Sequence[Content]:
    """Read out the features of both networks, if there are stored examples with classes."""
    features = [name for name, facts in parts.facts.items() if facts.value]
    if examples is None or not (
        setting.has_classes and examples.has_classes and features
    ):
        return []
    pairs = cast("Sequence[Pair]", setting.tests.data)
    tests = dict(zip(("old", "new"), pairs, strict=False))
    models = setting.models
    return list(
        contents(models.before, models.after, models.model, features, examples, tests)
    )
