"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Return the version, or that it is not installed, as in a checkout on PYTHONPATH."""
    try:
        return version("forgetting-probe")
    except PackageNotFoundError:
        return "not installed"
