"""The words of the kind: what would be `coordinator/explain/protocols/epochs.py`."""

from typing import Final

import msgspec

from coordinator.explain.protocols.consumer import CONSUMER
from coordinator.explain.protocols.protocol import Protocol
from tests.groups.epochs.kind import NAME

EPOCHS: Final[Protocol] = msgspec.structs.replace(
    CONSUMER,
    name=NAME,
    generation_name="epoch",
    session_timeout="epochs.session.timeout.ms of the group",
    in_progress=lambda claim, names: "It waits for the end of time.",
)
