"""`python -m scenarios` is the command line, `probe`."""

from scenarios.commands.main import main

main()
