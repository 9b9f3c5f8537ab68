"""Mistakes of usage are one sentence, for every command and every flag that there is."""

import unicodedata
from inspect import signature

import pytest
import typer
from hypothesis import given, strategies as st

from probe.errors import InputError, printable
from scenarios.commands.app import app
from scenarios.commands.parsing import call

COMMANDS = {n: c for n, c in typer.main.get_command(app).commands.items() if c.callback}
KINDS = {
    int: "valid integer",
    int | None: "valid integer",
    float: "valid number",
    float | None: "valid number",
}


def refused(*arguments):
    """Return the sentence for a command line."""
    with pytest.raises(InputError) as error:
        call(app, arguments)
    sentence = str(error.value)
    assert "\n" not in sentence
    assert sentence[0].islower()
    assert "`probe" in sentence.rpartition(": see ")[2]
    return sentence


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_takes_a_value_of_its_type_or_none(command):
    hints = signature(COMMANDS[command].callback, eval_str=True).parameters
    for option in COMMANDS[command].params:
        flag = option.opts[0]
        if option.param_type_name != "option" or option.is_flag:
            continue
        assert f"'{flag}' requires an argument" in refused(command, flag)
        hint = hints[option.name].annotation
        if kind := KINDS.get(getattr(hint, "__origin__", hint)):
            for value in ("x", ""):
                said = refused(command, f"{flag}={value}", "x")
                assert (
                    f"'{flag}': expected a {kind}: see `probe {command} --help`" in said
                )


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_is_printable_and_the_rest_is_left(text):
    shown = printable(text)
    assert shown.isprintable()
    kept = {c for c in text if unicodedata.category(c)[0] not in "CZ" or c == " "}
    assert printable("".join(sorted(kept))) == "".join(sorted(kept))
    assert (shown == text) == text.isprintable()
