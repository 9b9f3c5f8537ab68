"""Mistakes of usage are one sentence, for every command and every flag that there is."""

from inspect import signature

import pytest
import typer

from probe.errors import InputError
from scenarios.commands.app import app
from scenarios.commands.main import main
from scenarios.commands.parsing import call

COMMANDS = typer.main.get_command(app).commands
KINDS = {int: "whole number", int | None: "whole number", float: "number", float | None: "number"}


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
                assert f"'{flag}': expected a {kind}: see `probe {command} --help`" in said


def test_unknown_commands_and_help(capsys):
    assert refused("zzz") == "no such command 'zzz': see `probe --help`"
    assert call(app, ["run", "--help"]) == 0
    assert "--learners" in capsys.readouterr().out
    assert call(app, []) == 2
    assert "redundancy" in "".join(capsys.readouterr())


def test_too_little_memory_is_one_sentence_and_a_broken_installation_no_full_disk(
    probe, monkeypatch
):
    errors = [OSError("libtorch.so: cannot open shared object file"), MemoryError()]

    def fail(app):
        raise errors.pop()

    monkeypatch.setattr("scenarios.commands.parsing.call", fail)
    code, out, err = probe("list")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: there is not enough memory")
    monkeypatch.setattr("sys.argv", ["probe", "list"])
    with pytest.raises(OSError, match=r"libtorch\.so"):
        main()
