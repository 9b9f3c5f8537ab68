"""Nothing here is a test or holds one, and what is imported here is an extra."""

collect_ignore_glob = ["*.py"]
