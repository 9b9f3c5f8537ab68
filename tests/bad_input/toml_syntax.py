"""Studies in files that are no TOML, or no study at all."""

from tests.bad_input.making import TINY, TRAP, gzipped
from tests.bad_input.refused import grouped

NAME_IT = (
    "is neither a preset nor a TOML file...name the file NAME.toml, or a preset of `probe list`"
)

CASES = {
    "is not valid TOML (...correct the file": {
        "broken.toml": "seeds = [",
        "nul.toml": TINY.encode() + b"\x00",
        "key-twice.toml": f"seeds = 1\nseeds = 2\n{TINY}",
        "table-twice.toml": f"[network]\nname = 'mlp'\n[network]\n{TINY}",
        "redefined.toml": f"training.epochs = 1\n{TINY}",
        "digits.toml": f"seeds = {'9' * 6000}\n{TINY}",
    },
    "is not valid TOML (it is no UTF-8 text): correct the file": {
        "latin.toml": b"name = '\xe9'",
        "utf16.toml": TINY.encode("utf-16"),
        "pickle.toml": TRAP,
        "gzip.toml": gzipped(TINY.encode()),
    },
    "is not valid TOML (it is nested too deeply): correct the file": {
        "deep.toml": f"seeds = {'[' * 20000}{']' * 20000}\n{TINY}",
        "deep-table.toml": f"seeds = {'{a = ' * 5000}1{'}' * 5000}\n{TINY}",
    },
    "a: unknown key: correct or remove it": {
        "deep-key.toml": f"{'.'.join('a' * 1000)} = 1\n{TINY}"
    },
    "scenario: this key is needed; network: this key is needed;": {"empty.toml": ""},
    "(Is a directory)...give the path of a TOML file, or a preset of `probe list`": {
        "folder.toml/x": ""
    },
    NAME_IT: {"wrong.json": "{}"},
}
FILES = {name: content for files in CASES.values() for name, content in files.items()}
MISTAKES = grouped("run {}", CASES) | {
    f"run {name}": f"{name} {NAME_IT}" for name in (".", ".toml", "../digits")
}
