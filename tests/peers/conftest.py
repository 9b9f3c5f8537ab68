"""Nothing here is a test: the scripts need a library that is not among our dependencies."""

collect_ignore_glob = ["*.py"]
