"""Output of commands: tables of results, progress, and safe use of the terminal."""
