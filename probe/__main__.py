"""`python -m probe`: the command line, which lies in `scenarios`."""

from scenarios.__main__ import main

if __name__ == "__main__":
    main()
