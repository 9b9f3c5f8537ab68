"""Studies in files that are no TOML."""

from tests.bad_input.making import TINY, TRAP, gzipped

CASES = {
    "broken.toml": ("seeds = [", "is not valid TOML (", "correct the file"),
    "latin.toml": (b"name = '\xe9'", "is not valid TOML (it is no UTF-8 text): correct the file"),
    "utf16.toml": (
        TINY.encode("utf-16"),
        "is not valid TOML (it is no UTF-8 text): correct the file",
    ),
    "nul.toml": (TINY.encode() + b"\x00", "is not valid TOML (", "correct the file"),
    "twice.toml": ("seeds = 1\nseeds = 2\n" + TINY, "is not valid TOML (", "correct the file"),
    "table-twice.toml": (
        TINY + "[network]\nname = 'mlp'\n",
        "is not valid TOML (",
        "correct the file",
    ),
    "redefined.toml": (
        TINY + "[training.epochs]\nx = 1\n",
        "is not valid TOML (",
        "correct the file",
    ),
    "deep.toml": (
        "seeds = " + "[" * 20000 + "]" * 20000 + TINY,
        "is not valid TOML (it is nested too deeply): correct the file",
    ),
    "deep-table.toml": (
        "seeds = " + "{a = " * 5000 + "1" + "}" * 5000 + TINY,
        "is not valid TOML (it is nested too deeply): correct the file",
    ),
    "deep-key.toml": (
        ".".join("a" * 3000) + " = 1\n" + TINY,
        "a: there is no such key, correct or remove it",
    ),
    "digits.toml": ("seeds = " + "9" * 6000 + TINY, "is not valid TOML (", "correct the file"),
    "pickle.toml": (TRAP, "is not valid TOML (it is no UTF-8 text): correct the file"),
    "gzip.toml": (
        gzipped(TINY.encode()),
        "is not valid TOML (it is no UTF-8 text): correct the file",
    ),
    "empty.toml": (
        "",
        "scenario: this key is needed; network: this key is needed;",
        "this key is needed",
    ),
    "folder.toml/x": (
        "",
        "cannot read the study folder.toml (Is a directory)",
        "give the path of a TOML file, or a preset of `probe list`",
    ),
    "wrong.json": (
        "{}",
        "is neither a preset nor a TOML file",
        "name the file NAME.toml, or a preset of `probe list`",
    ),
}
FILES = {name: content for name, (content, *_) in CASES.items()}
MISTAKES = {
    f"run {name.partition('/')[0]}": [name.partition("/")[0], *said]
    for name, (_, *said) in CASES.items()
}
