"""What `coordinator serve` and `coordinator testing` share."""

from typing import Final

from coordinator.logger import logger

CANNOT_START: Final = 2
"""The exit code of a server that cannot start."""
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def log_open_files_limit(limit: int) -> None:
    """Log how many open files the process may have, and how they are shared out."""
    from coordinator.front.descriptors import files_of_the_logs, reserve_of

    if limit < 0:
        logger.info("file descriptors", limit="none")
    else:
        logger.info(
            "file descriptors", limit=limit, connections=limit - reserve_of(limit), files_of_logs=files_of_the_logs()
        )
