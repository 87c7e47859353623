"""The line that says which extra of this package installs what is missing."""

from typing import Final

EXTRAS: Final = {
    "pyspark": "spark",
    "delta": "spark",
    "py4j": "spark",
    "deltalake": "tables",
    "pyarrow": "tables",
    "rich": "tables",
    "kafka": "kafka-python",
    "scramp": "security",
    "joserfc": "security",
    "cryptography": "security",
    "prometheus_client": "admin",
    "starlette": "admin",
    "uvicorn": "admin",
}
"""Top-level module → the extra of this package that installs it (pyproject.toml)."""


NOT_ON_WINDOWS: Final = frozenset({"fcntl", "resource", "uvloop"})
"""What a server and its files are built on, and Windows lacks."""


def needs(what: str, missing: ModuleNotFoundError, extra: str = "") -> str:
    """What needs a module that is missing, and how to get it. Without an `extra` it is that of the package.

    Raises `missing` if no extra installs it: then the installation is damaged, and the traceback says where.
    """
    module = (missing.name or "").partition(".")[0]
    if module in NOT_ON_WINDOWS:
        return (
            f"{what} does not run here: it needs Linux, or another system with POSIX (the module {module} is missing)"
        )
    if module not in EXTRAS:
        raise missing
    return f"{what} needs the package {module}: pip install 'kafka-group-coordinator[{extra or EXTRAS[module]}]'"
