"""`python -m scenarios` is the command line, `probe`."""

from scenarios.cli import main

main()
