"""By how much a claim may differ from what happened, in ms, and why."""

import os
from typing import Final

from tests.world.history import ConsumerSetup
from tests.world.network import DELAY_MS

OF_REAL_CLIENTS: Final = "WORLD_OF_REAL_CLIENTS" in os.environ
"""Processes, sockets and a machine that others use, too: see `tests.world.real`."""

NETWORK_MS: Final = 1_500 if OF_REAL_CLIENTS else 2 * DELAY_MS[1] + 2
"""A request on its way and its answer: what a process does is known to the coordinator that much later."""
INSTANT_MS: Final = 100 if OF_REAL_CLIENTS else 2
"""What the coordinator does and tells itself: the ms in which it is written down may be the next one."""
BEAT_MS: Final = (1_000 if OF_REAL_CLIENTS else ConsumerSetup().heartbeat_ms) + NETWORK_MS
"""A process may have lived that long after its last request: its next one comes then, as no interval is longer."""
IDLE_MS: Final = -1 if OF_REAL_CLIENTS else 0
"""What nobody processed for longer than that was without an owner; what real clients report is not so exact."""
SYNC_MS: Final = NETWORK_MS
"""A member sends SyncGroup at once when it has the answer to its JoinGroup."""
EXPIRY_MS: Final = 1_000 if OF_REAL_CLIENTS else 50
"""Timers of sessions are not more exact than the wheel."""
WORTH_TELLING_MS: Final = 1_000
"""A shorter time without an owner need not be told."""
