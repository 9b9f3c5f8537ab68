"""What is typed wrongly is one sentence, for every command and every flag that there is."""

from inspect import signature

import pytest
import typer

from probe.errors import InputError
from scenarios.commands.app import app
from scenarios.commands.main import main
from scenarios.commands.parsing import call

COMMANDS = typer.main.get_command(app).commands


def kind_of(callback, name):
    """Return the type of what a flag takes."""
    hint = signature(callback, eval_str=True).parameters[name].annotation
    return getattr(hint, "__origin__", hint)


OPTIONS = [
    (name, option.opts[0], option.is_flag, kind_of(command.callback, option.name))
    for name, command in COMMANDS.items()
    for option in command.params
    if option.param_type_name == "option" and option.opts[0] != "--help"
]
VALUED = [(name, flag) for name, flag, switch, _ in OPTIONS if not switch]
SWITCHES = [(name, flag) for name, flag, switch, _ in OPTIONS if switch]
KINDS = {int: "whole number", int | None: "whole number", float: "number", float | None: "number"}
NUMBERS = [(name, flag, KINDS[hint]) for name, flag, _, hint in OPTIONS if hint in KINDS]


def refused(*arguments):
    """Return the sentence for what was typed."""
    with pytest.raises(InputError) as error:
        call(app, arguments)
    sentence = str(error.value)
    assert "\n" not in sentence
    assert sentence[0].islower()
    assert "`probe" in sentence.rpartition(": see ")[2]
    return sentence


def test_there_are_flags_of_every_kind():
    assert len(COMMANDS) >= 8
    assert len(VALUED) >= 20
    assert len(NUMBERS) >= 6
    assert len(SWITCHES) >= 4


@pytest.mark.parametrize(("command", "flag"), VALUED)
def test_a_flag_without_its_value(command, flag):
    assert f"'{flag}' requires an argument" in refused(command, flag)


@pytest.mark.parametrize(("command", "flag"), SWITCHES)
def test_a_switch_with_a_value(command, flag):
    assert f"'{flag}' does not take a value" in refused(command, f"{flag}=yes")


@pytest.mark.parametrize(("command", "flag", "kind"), NUMBERS)
@pytest.mark.parametrize("value", ["x", "", "1,5", "--"])
def test_a_flag_with_no_number(command, flag, kind, value):
    said = refused(command, f"{flag}={value}", "x")
    assert f"'{flag}': expected a {kind}: see `probe {command} --help`" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_flag(command):
    assert "no such option: --nonsense" in refused(command, "x", "--nonsense")


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"redundancy"}))
def test_an_argument_too_many(command):
    needed = {"layers": ["--input", "4"], "features": ["--network", "n", "--out", "o"]}
    said = refused(command, "x", "y", *needed.get(command, []))
    assert "unexpected extra argument" in said


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"list", "init"}))
def test_a_missing_argument(command):
    assert refused(command).startswith("missing argument ")


def test_an_unknown_command_and_one_like_it():
    assert refused("rnu") == "no such command 'rnu' (near: 'run'): see `probe --help`"
    assert refused("zzz") == "no such command 'zzz': see `probe --help`"


def test_help_is_no_mistake(capsys):
    assert call(app, ["--help"]) == 0
    assert call(app, ["run", "--help"]) == 0
    assert "--learners" in capsys.readouterr().out


def test_nothing_typed_shows_the_help_and_is_a_mistake(capsys):
    assert call(app, []) == 2
    out, err = capsys.readouterr()
    assert "redundancy" in out + err


def test_what_a_command_returns_and_raises_goes_through():
    own = typer.Typer()

    @own.command()
    def stop(how: str) -> None:
        if how == "exit":
            raise typer.Exit(7)
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "input":
            raise InputError("as it was said")
        if how == "other":
            raise ZeroDivisionError

    assert call(own, ["on"]) == 0
    assert call(own, ["exit"]) == 7
    assert call(own, ["interrupt"]) == 130
    with pytest.raises(InputError, match=r"^as it was said$"):
        call(own, ["input"])
    with pytest.raises(ZeroDivisionError):
        call(own, ["other"])


def test_too_little_memory_is_one_sentence(probe, monkeypatch):
    def take_all(app):
        raise MemoryError

    monkeypatch.setattr("scenarios.commands.parsing.call", take_all)
    code, out, err = probe("list")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("error: there is not enough memory")


def test_a_broken_installation_is_no_full_disk(monkeypatch):
    def import_torch(app):
        raise OSError("libtorch.so: cannot open shared object file")

    monkeypatch.setattr("scenarios.commands.parsing.call", import_torch)
    monkeypatch.setattr("sys.argv", ["probe", "list"])
    with pytest.raises(OSError, match=r"libtorch\.so"):
        main()
