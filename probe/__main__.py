"""Entry point of `python -m probe`; the command line itself is in `scenarios`."""

from scenarios.__main__ import main

if __name__ == "__main__":
    main()
