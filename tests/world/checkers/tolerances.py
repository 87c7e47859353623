"""By how much a claim may differ from what happened, in ms, and why."""

from typing import Final

from tests.world.history import ConsumerSetup
from tests.world.network import DELAY_MS

NETWORK_MS: Final = 2 * DELAY_MS[1] + 2
"""A request on its way and its answer: what a process does is known to the coordinator that much later."""
INSTANT_MS: Final = 2
"""What the coordinator does and tells itself: the ms in which it is written down may be the next one."""
BEAT_MS: Final = ConsumerSetup().heartbeat_ms + NETWORK_MS
"""A process may have lived that long after its last request: its next one comes then, as no interval is longer."""
SYNC_MS: Final = NETWORK_MS
"""A member sends SyncGroup at once when it has the answer to its JoinGroup."""
EXPIRY_MS: Final = 50
"""Timers of sessions are not more exact than the wheel."""
WORTH_TELLING_MS: Final = 1_000
"""A shorter time without an owner need not be told."""
