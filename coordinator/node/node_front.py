"""Building of what takes requests from connections, within the limits for clients."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from coordinator.config.server_keys import AUTO_CREATE_TOPICS_ENABLE, NODE_ID
from coordinator.config.settings import Config
from coordinator.front.authorization import ALLOW_ALL
from coordinator.front.denial_log import DenialLog
from coordinator.front.group_parts import GroupParts
from coordinator.front.host import Host
from coordinator.front.limits import ConnectionLimits
from coordinator.front.listener import Listener, parse_listeners
from coordinator.front.listener_tls import TlsParts, make_tls
from coordinator.front.listeners import Listeners
from coordinator.front.node_loop import NodeLoop
from coordinator.front.old_clients import OldClients
from coordinator.front.rejection_log import RejectionLog
from coordinator.front.request_chain import RequestChain, Step
from coordinator.front.request_dispatcher import RequestDispatcher
from coordinator.front.request_runner import RequestRunner
from coordinator.front.slow_peers import SlowPeers
from coordinator.front.throttling import Throttling
from coordinator.groups.sessions import SessionTable
from coordinator.node.api_table import dispatch_table
from coordinator.node.data_plane import DataPlane
from coordinator.node.failed_writes import FailedWrites
from coordinator.node.handler_parts import HandlerParts
from coordinator.node.handlers.certificate_reload import CertificateReload
from coordinator.node.storage import Storage

if TYPE_CHECKING:
    from coordinator.metrics.node_metrics import NodeMetrics
    from coordinator.node.sasl_parts import SaslParts


class Front(msgspec.Struct, frozen=True, kw_only=True):
    """The listeners of a node, and the way of requests from them to the handlers."""

    runner: RequestRunner
    chain: RequestChain
    dispatcher: RequestDispatcher
    rejections: RejectionLog
    denials: DenialLog
    listeners: Listeners


def make_front(
    config: Config,
    host: Host,
    loop: NodeLoop,
    storage: Storage,
    groups: GroupParts,
    *,
    data_plane: DataPlane | None,
    metrics: "NodeMetrics | None",
) -> Front:
    """Make the table of routes and the listeners, which are opened later. Without a `data_plane`, its APIs are missing.

    Raises:
        ConfigError: the listeners or the advertised listeners are invalid, or what one of them needs cannot be used: a
            key, a certificate, the users or the keys of a login.
    """
    scheduler, now_ms = loop.scheduler, loop.now_ms
    throttling = Throttling(config, lambda: storage.image.quotas, scheduler, now_ms)
    limits = ConnectionLimits(config, scheduler)
    rejections = RejectionLog(scheduler, now_ms)
    described = parse_listeners(config)
    tls = make_tls(config, described, TlsParts(scheduler, loop.slices, now_ms, limits, rejections))
    runner = RequestRunner(loop.slices, FailedWrites(loop.fail).answered)
    table = dispatch_table(
        HandlerParts(
            config=config,
            loop=loop,
            storage=storage,
            groups=groups,
            data_plane=data_plane,
            throttling=throttling,
            certificates=CertificateReload(tls),
        )
    )
    denials = DenialLog(
        storage.authorizer,
        scheduler,
        loop.slices,
        now_ms,
        report=lambda event: groups.coordinator.report(event, everywhere=False),
        node_id=config[NODE_ID],
        coordinator_epoch=groups.coordinator_epoch,
    )
    authorization = _authorization_step(config, storage, denials, groups.sessions)
    chain = RequestChain(table, groups.sessions, throttling, authorization)
    slow_peers = SlowPeers(config, scheduler, now_ms)
    old_clients = OldClients(groups.coordinator, scheduler, loop.slices, now_ms)
    for due in (limits.due, slow_peers.due, rejections.due, denials.due, throttling.due, old_clients.due):
        scheduler.on_due(due)
    dispatcher = RequestDispatcher(
        chain,
        runner,
        throttling,
        pending=groups.pending,
        limits=limits,
        slow_peers=slow_peers,
        rejections=rejections,
        environment=groups.environment,
        slices=loop.slices,
        fire_due=scheduler.fire_due,
        old_clients=old_clients,
    )
    listeners = Listeners(
        config,
        described,
        dispatcher,
        limits,
        groups.sessions,
        now_ms,
        rejections=rejections,
        sasl=_sasl_parts(config, described, storage, dispatcher, loop, metrics),
        tls=tls,
        metrics=metrics,
        descriptors=host.descriptors,
        inherited=host.inherited,
    )
    return Front(
        runner=runner,
        chain=chain,
        dispatcher=dispatcher,
        rejections=rejections,
        denials=denials,
        listeners=listeners,
    )


def _authorization_step(config: Config, storage: Storage, denials: DenialLog, sessions: SessionTable) -> Step | None:
    """None without an authorizer: then what becomes of denied requests is not imported either."""
    if storage.authorizer is ALLOW_ALL:
        return None
    from coordinator.front.authorization_step import AuthorizationStep

    storage.authorizer.on_change(sessions.take_back_authorizations)
    from coordinator.node.partial_denials import rows_of

    image = storage.image
    creates = config[AUTO_CREATE_TOPICS_ENABLE]
    return AuthorizationStep(
        storage.authorizer,
        denials,
        sessions,
        rows_of(image),
        topic_name=image.topic_name,
        creates_topic=lambda name: creates and name not in image.topics,
    )


def _sasl_parts(
    config: Config,
    listeners: Sequence[Listener],
    storage: Storage,
    dispatcher: RequestDispatcher,
    loop: NodeLoop,
    metrics: "NodeMetrics | None",
) -> "SaslParts | None":
    """None if no listener has a login: then nothing of logins is imported."""
    if not any(listener.security_protocol.has_sasl for listener in listeners):
        return None
    from coordinator.node.sasl_parts import SaslParts

    return SaslParts(config, storage.image, dispatcher, loop, metrics)
