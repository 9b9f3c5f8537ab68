"""Networks of libraries hold no test, and their libraries are an extra."""

collect_ignore_glob = ["t*_nets.py", "__main__.py"]
