"""The command line: one module for each command of `probe`, and shared modules.

`main` starts and ends the process, `app` lists the commands with their flags. A module
named after a command does its work: `run`, `model`, `init`, `status`, `figures`,
`metrics`, `layers`, `redundancy`, and `listing` for `probe list`. The others are
shared: `parsing` reads the command line, and `screen` has printing, signals and the
output of a run.

Commands contain no other logic: they read the command line, call the package and print.
A user's mistake gives one sentence with the remedy, and exit code 2.
"""
