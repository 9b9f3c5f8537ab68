"""Checks of networks that were trained elsewhere, before anything is measured."""

import re
from collections.abc import Iterable, Mapping, Sequence

from torch import nn

from probe.by_layer.plan import CONTROLS
from probe.by_layer.source_description import SourceDescription
from probe.cut.cuts import find_each
from probe.errors import InputError, located
from probe.metrics.murata import RETRAIN
from probe.record.checkpoints import FOLDER_NAME, Run
from probe.retrain import refuse_what_no_rule_writes
from probe.tasks import orders
from probe.training.fresh_weights import check_fresh, no_rule_for, without_rule


def check_names(runs: Iterable[Run]) -> None:
    """Raise InputError if a learner's or order's name cannot name a folder or job."""
    for run in runs:
        for name in (run.learner, run.order):
            if name in CONTROLS:
                raise InputError(
                    f"the learner {name!r} has the name of a control: rename it"
                )
            if not re.fullmatch(FOLDER_NAME, name):
                raise InputError(
                    f"{name[:20]!r} is not a name: use up to 80 letters, digits, _ "
                    "and -"
                )


def check_steps(last: int, tasks: int) -> None:
    """Raise InputError unless the last networks are those after all tasks."""
    if last > tasks:
        raise InputError(
            f"a network has learned {last} tasks, but {tasks} are given: add the rest"
        )
    if last < tasks:
        present = "there is only an untrained one"
        if last:
            present = f"the last is after task {last}"
        raise InputError(
            f"there is no network after all {tasks} tasks, which is needed; "
            f"{present}: add it, name fewer tasks, or write {{index}} for {{task}} if "
            "files count tasks from 0"
        )


def checked_orders(
    names: Sequence[str], listed: str | Mapping[str, Sequence[int]] | None, tasks: int
) -> dict[str, tuple[int, ...]]:
    """Return the orders of the networks by name, tasks from 0.

    Args:
        names: The names of the networks' orders.
        listed: A rule, or the tasks from 1 by name; None = only the base order.
        tasks: The number of tasks.

    Raises:
        InputError: An order has no tasks.
    """
    if listed is None:
        if len(names) > 1:
            raise InputError(
                f"orders {', '.join(names)} have no tasks: use --orders or "
                "Model(orders=)"
            )
        return {names[0]: tuple(range(tasks))}
    with located("orders"):
        order_by_name = orders(listed, tasks)
    if missing := [name for name in names if name not in order_by_name]:
        raise InputError(
            f"the order {missing[0]!r} is not among {', '.join(order_by_name)}: add it"
        )
    return {name: order_by_name[name] for name in names}


def check_fresh_weights(description: SourceDescription) -> list[str]:
    """Check that fresh weights can be drawn wherever they are needed.

    Args:
        description: The networks.

    Returns:
        The parameters for which the recipe's rule gives no weights.

    Raises:
        InputError: The offline training or a retraining needs weights of one of them.
    """
    blank = description.blank
    fresh = description.fresh
    check_fresh(fresh, blank)
    not_drawn = without_rule(blank, fresh) if isinstance(fresh, str) else []
    if not_drawn and description.train_offline:
        raise no_rule_for(not_drawn)
    if not_drawn and RETRAIN in description.probing.readouts:
        model = description.model
        cuts = find_each(
            blank,
            description.probed_features[:-1],
            description.sample,
            model.class_call,
            model.trainable,
        )
        refuse_what_no_rule_writes(blank, [cut.facts for cut in cuts], fresh)
    return not_drawn


def check_padded(
    description: SourceDescription, model: nn.Module, outputs: int
) -> None:
    """Check that a layer with fewer outputs in a file is the one that gives the classes.

    Args:
        description: The networks.
        model: The network, whose other outputs are never to be predicted.
        outputs: The number of outputs in the file.

    Raises:
        InputError: It is another layer.
    """
    logits = description.logits(model, description.model.class_call)
    in_file = logits[:, :outputs]
    others = logits[:, outputs:]
    if not others.numel() or others.max() >= in_file.min():
        raise InputError(
            f"its file has a layer with {outputs} outputs that does not give the "
            "classes: build the network that was saved"
        )
