"""What the front of a node with logs of its own has of it."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from coordinator.config.server_keys import AUTO_CREATE_TOPICS_ENABLE
from coordinator.config.settings import Config
from coordinator.front.authorization import ALLOW_ALL
from coordinator.front.denial_log import DenialLog
from coordinator.front.dispatch import DispatchTable
from coordinator.front.front import FrontHome
from coordinator.front.group_parts import GroupParts
from coordinator.front.listener import Listener, parse_listeners
from coordinator.front.listeners import ListenerLogins
from coordinator.front.node_loop import NodeLoop
from coordinator.front.request_chain import Step
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.front.throttling import Throttling
from coordinator.groups.sessions import SessionTable
from coordinator.node.api_table import dispatch_table
from coordinator.node.data_plane import DataPlane
from coordinator.node.failed_writes import FailedWrites
from coordinator.node.handler_parts import HandlerParts
from coordinator.node.handlers.certificate_reload import CertificateReload
from coordinator.node.share_states import ShareParts
from coordinator.node.storage import Storage

if TYPE_CHECKING:
    from coordinator.front.tls_listeners import TlsListeners
    from coordinator.metrics.node_metrics import NodeMetrics


def front_home(
    config: Config,
    loop: NodeLoop,
    storage: Storage,
    groups: GroupParts,
    shares: ShareParts,
    data_plane: DataPlane | None,
    metrics: "NodeMetrics | None",
) -> FrontHome:
    """All APIs. Without a `data_plane`, its APIs are missing.

    Raises:
        ConfigError: the listeners or the advertised listeners are invalid.
    """

    def table(throttling: Throttling, tls: "TlsListeners | None") -> DispatchTable:
        return dispatch_table(
            HandlerParts(
                config=config,
                loop=loop,
                storage=storage,
                groups=groups,
                shares=shares,
                data_plane=data_plane,
                throttling=throttling,
                certificates=CertificateReload(tls),
            )
        )

    listeners = parse_listeners(config)
    return FrontHome(
        listeners=listeners,
        served=listeners,
        table=table,
        authorizer=storage.authorizer,
        authorization=partial(_authorization, config, storage, groups.sessions),
        logins=partial(_logins, config, listeners, storage, loop, metrics),
        quotas=lambda: storage.image.quotas,
        answered_failure=FailedWrites(loop.fail).answered,
        fire_due=loop.scheduler.fire_due,
        answers_version=lambda: storage.image.version + storage.leadership.version,
    )


def _authorization(config: Config, storage: Storage, sessions: SessionTable, denials: DenialLog) -> Step | None:
    """None without an authorizer: then what becomes of denied requests is not imported either."""
    if storage.authorizer is ALLOW_ALL:
        return None
    from coordinator.front.authorization_step import AuthorizationStep
    from coordinator.node.partial_denials import rows_of

    image = storage.image
    creates = config[AUTO_CREATE_TOPICS_ENABLE]
    storage.authorizer.on_change(sessions.revoke_authorizations)
    return AuthorizationStep(
        storage.authorizer,
        denials,
        sessions,
        rows_of(image),
        topic_name=image.topic_name,
        creates_topic=lambda name: creates and name not in image.topics,
    )


def _logins(
    config: Config,
    listeners: Sequence[Listener],
    storage: Storage,
    loop: NodeLoop,
    metrics: "NodeMetrics | None",
    dispatcher: RequestDispatcher,
) -> ListenerLogins | None:
    """None if no listener has a login: then nothing of logins is imported."""
    with_login = [listener for listener in listeners if listener.security_protocol.has_sasl]
    if not with_login:
        return None
    from coordinator.node.sasl_parts import make_logins

    return make_logins(config, with_login, storage.image, dispatcher, loop, metrics)
