"""What would be misleading in silence is noted, case by case; of a sound model nothing is."""

import pytest
import torch
from torch.nn import functional

from probe import Examples, Recipe, partial_retrain
from probe.errors import InputError
from probe.notes import of_classes
from probe.seeding import global_stream, stream
from tests.laws.zoo.written import ABC, Written

TASKS = [[0, 1], [2]]
RECIPE = Recipe(epochs=80, batch_size=16, learning_rate=0.02)


Y = torch.arange(96) % 3
DATA = Examples(
    functional.one_hot(Y, 6) * 3 + torch.randn(96, 6, generator=stream(0)), Y
)
"""Three clouds that any network tells apart."""


def made(run, layers=ABC):
    """Make a network of that forward pass, the same at every call."""
    with global_stream(stream(0)):
        return Written(run, layers)


def retrained(model, *features, **given):
    asked = {"train": DATA, "test": DATA, "tasks": TASKS, "recipe": RECIPE, **given}
    return partial_retrain(model, features, **asked)


def plain(m, x):
    return m.c(m.b(m.a(x).relu()).relu())


def partly_without_grad(m, x):
    h = m.a(x).relu()
    with torch.no_grad():
        h = m.b(h).relu()
    return m.c(h)


def test_parameters_that_got_no_gradient_are_named_and_no_others():
    result = retrained(made(partly_without_grad), "a", "b")
    [note] = result.notes
    assert note.startswith(
        "a: its training left b.weight, b.bias as re-initialized: no gradient"
    )
    assert str(result).splitlines()[-1] == f"note: {note}"


def test_a_model_that_draws_at_random_behind_the_feature():
    """In eval mode too, and so rarely that two passes do not show it.

    Before the feature, nothing could be held fixed: it is refused.
    """

    def noisy(m, x):
        return m.c(
            m.b(
                functional.dropout(
                    m.a(x).relu(),
                    1e-9,
                    training=True,
                )
            ).relu()
        )

    [note] = retrained(made(noisy), "a").notes
    assert note.startswith("a: the model downstream of it is random in eval mode too")
    with pytest.raises(
        InputError, match="cannot cut at 'b': its value is drawn at random"
    ):
        retrained(made(noisy), "b")


def prototypes(m, x):
    """Nearest class mean: the means are a buffer, which no training moves."""
    return -torch.cdist(m.b(m.a(x).relu()), m.means)


def test_a_head_that_nothing_trains_is_noted_downstream_of_the_last_feature_alone():
    layers = {
        "a": (6, 6),
        "b": (6, 6),
        "means": lambda: torch.eye(3, 6),
    }
    result = retrained(made(prototypes, layers), "a", "b")
    [note] = [
        note for note in result.notes if "nothing downstream of it is trained" in note
    ]
    assert note.startswith("b: ")
    assert "its score is that of the model as it is" in note


def test_a_class_that_a_task_tests_but_does_not_train():
    """Classes that are missing in both are no fault of the data."""
    one, other = (torch.tensor(labels) for labels in ([0, 1], [1, 2]))
    assert of_classes([(one, one), (other, other)], 3) == []
    assert "class 2 has no training examples" in of_classes([(one, other)], 3)[0]
    [note] = of_classes([(one, one), (other, one)], 3)[1:]
    assert note == "class 0 has test examples in task 2, but none to train on"


def test_a_path_that_few_batches_take_leaves_what_comes_before_it_cached():
    def forked(m, x):
        h = m.a(x)
        if (rare := x[:, 0] > 9).any():
            h = torch.where(rare[:, None], h.sin(), h)
        return m.c(m.b(h).relu())

    data = Examples(DATA.x.clone(), DATA.y)
    data.x[50, 0] = 10
    [note] = retrained(made(forked), "a", "b", train=data).notes
    assert note.startswith("b: the whole model is run for it")
    assert "takes a different path" in note


def test_a_model_that_is_run_whole_says_why():
    def repeating(m, x):
        h = torch.repeat_interleave(
            m.a(x),
            (x[0] * 0 + 1).long(),
            1,
        )
        return m.c(m.b(h).relu())

    [note] = retrained(made(repeating), "b").notes
    assert note.startswith(
        "b: the whole model is run for it, which is slower but equally exact: "
    )
    assert len(note.rpartition(": ")[2]) > 10


def test_code_around_a_feature_is_noted_by_what_it_does_in_training_mode():
    """A copy for the gradients' strides, as in diffusers' blocks, does not change the feature."""

    def block(m, x):
        h = m.a(x).relu()
        return m.c((m.shortcut(h.contiguous() if m.training else h) + m.b(h)).relu())

    [note] = retrained(made(block, {**ABC, "shortcut": (6, 6)}), "shortcut").notes
    assert note.endswith(
        "otherwise its value is computed in another way in training mode"
    )


def test_a_model_that_draws_from_a_generator_of_its_own_is_noted():
    def noisy(m, x):
        h = m.a(x).relu()
        noise = torch.randn(h.shape, generator=m.own)
        return m.c(m.b(h + 1e-7 * noise).relu())

    model = made(noisy, {**ABC, "own": lambda: torch.Generator().manual_seed(0)})
    notes = retrained(model, "a").notes
    assert any("by a generator or a state of its own" in note for note in notes)
    with pytest.raises(InputError, match="its value differs for the same input"):
        retrained(model, "b")
