"""The command line: one module for each command of `probe`, and what they share.

`main` is where the process begins and ends, `app` lists the commands with their flags. A module
named after a command does its work: `run`, `model`, `init`, `status`, `figures`, `metrics`,
`layers`, `redundancy`, and `listing` for `probe list`; `plan` is what `--dry-run` shows. The others
are shared: `parsing` for what was typed, and in `screen` printing, signals and what a run shows.

Commands hold no logic of their own: they read what was typed, call the package and print. A user's
mistake is one sentence that says what to do, and exit code 2.
"""
