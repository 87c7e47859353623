"""What handlers are made from."""

import msgspec

from coordinator.config.settings import Config
from coordinator.front.group_parts import GroupParts
from coordinator.front.node_loop import NodeLoop
from coordinator.front.throttling import Throttling
from coordinator.node.data_plane import DataPlane
from coordinator.node.handlers.certificate_reload import CertificateReload
from coordinator.node.share_states import ShareParts
from coordinator.node.storage import Storage


class HandlerParts(msgspec.Struct, frozen=True, kw_only=True):
    """All that handlers may need; each is given what it uses."""

    config: Config
    loop: NodeLoop
    storage: Storage
    groups: GroupParts
    shares: ShareParts
    data_plane: DataPlane | None
    throttling: Throttling
    certificates: CertificateReload
