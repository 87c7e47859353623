"""Requests that are answered when changes of the metadata are durable."""

from typing import Any

from coordinator.metadata.store import MetadataStore
from coordinator.runtime.slices import Steps, awaited


def committed(metadata: MetadataStore) -> Steps[None]:
    """Wait until all changes of the metadata so far are durable and in the image."""
    return awaited(lambda answer: metadata.when_committed(lambda: answer(None)))


def answer_when_committed(metadata: MetadataStore, response: Any) -> Steps[Any]:
    """The response, when all changes of the metadata so far are durable.

    For whatever was found in the latest image, errors too: a client must not learn of what a crash may take back.
    """
    if metadata.is_pending:
        yield from committed(metadata)
        yield  # it is encoded when its client has its turn: many may have waited for the same flush
    return response
