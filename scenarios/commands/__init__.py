"""The command line: one module for each command of `probe`, and what they share.

`main` is where the process begins and ends, `app` lists the commands with their flags. A module
named after a command does its work: `run`, `status`, `figures`, `metrics`, `layers`, `redundancy`,
and `listing` for `probe list`. The others are shared: `terminal` and `stopping` for printing and
signals, `parsing` for what was typed, `progress`, `results` and `layers_found` for what a run
shows.

Commands hold no logic of their own: they read what was typed, call the package and print. A user's
mistake is one sentence that says what to do, and exit code 2.
"""
