"""Bad inputs, one for each place that refuses, by the kind of what is given.

Each module has FILES, contents by path, and MISTAKES: command lines, and fragments of the sentence
that each must end in, with `...` between two of them.
"""

from importlib import import_module

NAMES = "command_line toml_keys data matrices features models own_networks checkpoints runs"
MODULES = [import_module(f"tests.bad_input.{name}") for name in NAMES.split()]
FILES = {name: content for module in MODULES for name, content in module.FILES.items()}
MISTAKES = {line: said for module in MODULES for line, said in module.MISTAKES.items()}
