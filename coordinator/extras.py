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


def needs(what: str, missing: ModuleNotFoundError, extra: str = "") -> str:
    """What needs a package that is missing, and how to install it. Without an `extra` it is that of the package.

    Raises `missing` if no extra installs it: then the installation is damaged, and the traceback says where.
    """
    module = (missing.name or "").partition(".")[0]
    if module not in EXTRAS:
        raise missing
    return f"{what} needs the package {module}: pip install 'kafka-group-coordinator[{extra or EXTRAS[module]}]'"
