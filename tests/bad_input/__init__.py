"""Bad inputs by what they are given as: each module has FILES and, by what is typed, MISTAKES."""

from tests.bad_input import (
    checkpoints,
    command_line,
    data,
    features,
    flags_of_run,
    huge,
    matrices,
    models,
    runs,
    toml_learners,
    toml_scenario,
    toml_syntax,
    toml_training,
)

MODULES = (
    command_line,
    flags_of_run,
    toml_syntax,
    toml_scenario,
    toml_training,
    toml_learners,
    huge,
    data,
    matrices,
    features,
    models,
    checkpoints,
    runs,
)
FILES = {name: content for module in MODULES for name, content in module.FILES.items()}
MISTAKES = {line: said for module in MODULES for line, said in module.MISTAKES.items()}
