"""The public surface: `dir(probe)`, its help and signatures, and its types in a user's program."""

import inspect
from pathlib import Path

import pytest

import probe

PROGRAM = Path(__file__).parents[1] / "user_program.py"


@pytest.mark.parametrize("name", probe.__all__)
def test_help_begins_with_a_sentence_and_has_an_example(name):
    sentence, *paragraphs = (inspect.getdoc(getattr(probe, name)) or "").split("\n\n")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert any(
        paragraph.lstrip("Example:\n ").startswith(">>> ") for paragraph in paragraphs
    )


@pytest.mark.parametrize("name", [name for name in probe.__all__ if name != "metrics"])
def test_a_signature_names_every_parameter_and_no_more(name):
    signature = inspect.signature(getattr(probe, name))
    assert not any(own.kind is own.VAR_KEYWORD for own in signature.parameters.values())
    assert len(str(signature)) < 700, "types by their names"


def test_the_program_that_mypy_checks_uses_every_public_name():
    text = PROGRAM.read_text("utf-8")
    assert [name for name in probe.__all__ if f"probe.{name}" not in text] == []
