"""What handlers are made from."""

import msgspec

from coordinator.config.settings import Config
from coordinator.server.data_plane import DataPlane
from coordinator.server.group_parts import GroupParts
from coordinator.server.handlers.certificate_reload import CertificateReload
from coordinator.server.node_loop import NodeLoop
from coordinator.server.storage import Storage
from coordinator.server.throttling import Throttling


class HandlerParts(msgspec.Struct, frozen=True, kw_only=True):
    """All that handlers may need; each is given what it uses."""

    config: Config
    loop: NodeLoop
    storage: Storage
    groups: GroupParts
    data_plane: DataPlane | None
    throttling: Throttling
    certificates: CertificateReload
