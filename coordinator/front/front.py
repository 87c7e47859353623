"""Building of what takes requests from connections, within the limits for clients."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from coordinator.config.network_keys import SOCKET_REQUEST_MAX_ELEMENTS
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.front.authorization import Authorizer
from coordinator.front.denial_log import DenialLog
from coordinator.front.dispatch import DispatchTable
from coordinator.front.group_parts import GroupParts
from coordinator.front.host import Host
from coordinator.front.limits import ConnectionLimits
from coordinator.front.listener import Listener
from coordinator.front.listener_tls import TlsParts, make_tls
from coordinator.front.listeners import ListenerLogins, Listeners
from coordinator.front.node_loop import NodeLoop
from coordinator.front.old_clients import OldClients
from coordinator.front.rejection_log import RejectionLog
from coordinator.front.repeated_answers import RepeatedAnswers
from coordinator.front.request_chain import RequestChain, Step
from coordinator.front.request_context import RequestContext
from coordinator.front.request_dispatcher import PassesOn, PeerWatch, RequestDispatcher, RequestPath
from coordinator.front.request_runner import RequestRunner
from coordinator.front.slow_peers import SlowPeers
from coordinator.front.throttling import Throttling, no_quotas
from coordinator.front.unsteady_commits import ELEMENTS_MAX, UnsteadyCommits
from coordinator.groups.steady_commits import SteadyCommits
from coordinator.groups.steady_fetches import SteadyFetches
from coordinator.quotas.usage import Quotas

if TYPE_CHECKING:
    from coordinator.front.tls_listeners import TlsListeners
    from coordinator.metrics.node_metrics import NodeMetrics


class FrontHome(msgspec.Struct, frozen=True, kw_only=True):
    """What a front has of its home: a node with logs of its own, or one in front of a cluster."""

    listeners: Sequence[Listener]
    """As the settings have them."""
    served: Sequence[Listener]
    """The same, without the logins that others decide about."""
    table: "Callable[[Throttling, TlsListeners | None], DispatchTable]"
    """Makes the table of what is answered here."""
    authorizer: Authorizer
    authorization: Callable[[DenialLog], Step | None]
    """Makes the step that asks the authorizer; None: everything is allowed."""
    logins: Callable[[RequestDispatcher], ListenerLogins | None]
    """Makes what listeners with a login need; None: there are none."""
    quotas: Callable[[], Quotas] = no_quotas
    answered_failure: Callable[[RequestContext, Exception], bool] | None = None
    """Does what an exception of the handlers' own calls for."""
    fire_due: Callable[[], None]
    """Lets the timers fire that are due, before a request is read."""
    passes_on: PassesOn | None = None
    answers_version: Callable[[], int] | None = None
    """A number that is another one whenever an answer may be another one of which a handler said that it is repeatable;
    None: all requests go to their handlers."""
    names_old_clients: bool = True
    """Whether the groups of clients are looked for that are too old for what is served."""


class Front(msgspec.Struct, frozen=True, kw_only=True):
    """The listeners of a node, and the way of requests from them to the handlers."""

    path: RequestPath
    peers: PeerWatch
    dispatcher: RequestDispatcher
    denials: DenialLog
    listeners: Listeners


def make_front(
    config: Config, host: Host, loop: NodeLoop, groups: GroupParts, home: FrontHome, metrics: "NodeMetrics | None"
) -> Front:
    """Make the way of requests and the listeners, which are opened later.

    Raises:
        ConfigError: what a listener needs cannot be used: a key, a certificate, the users or the keys of a login.
    """
    scheduler, now_ms, sessions = loop.scheduler, loop.now_ms, groups.sessions
    throttling = Throttling(config, home.quotas, scheduler, now_ms, groups.environment.throttled)
    limits, rejections = ConnectionLimits(config, scheduler), RejectionLog(scheduler, now_ms)
    tls = make_tls(config, home.listeners, TlsParts(scheduler, loop.slices, now_ms, limits, rejections))
    denials = _denial_log(config, loop, groups, home)
    peers = _peer_watch(config, loop, groups, home, limits, rejections)
    chain = RequestChain(home.table(throttling, tls), sessions, throttling, home.authorization(denials))
    path = RequestPath(chain=chain, runner=RequestRunner(loop.slices, home.answered_failure), throttling=throttling)
    for due in (limits.due, rejections.due, denials.due, throttling.due):
        scheduler.on_due(due)
    if home.passes_on is None:
        _answer_steady_requests(config, loop, groups, chain)
    if home.answers_version is not None:
        sessions.answers = RepeatedAnswers(sessions, home.answers_version)
    dispatcher = _dispatcher(path, peers, loop, groups, home)
    listeners = Listeners(
        config,
        home.served,
        dispatcher,
        limits,
        sessions,
        now_ms,
        rejections=rejections,
        logins=home.logins(dispatcher),
        tls=tls,
        metrics=metrics,
        descriptors=host.descriptors,
        inherited=host.inherited,
    )
    return Front(path=path, peers=peers, dispatcher=dispatcher, denials=denials, listeners=listeners)


def _dispatcher(
    path: RequestPath, peers: PeerWatch, loop: NodeLoop, groups: GroupParts, home: FrontHome
) -> RequestDispatcher:
    return RequestDispatcher(
        path,
        peers,
        pending=groups.pending,
        environment=groups.environment,
        slices=loop.slices,
        fire_due=home.fire_due,
        passes_on=home.passes_on,
    )


def _answer_steady_requests(config: Config, loop: NodeLoop, groups: GroupParts, chain: RequestChain) -> None:
    """Have commits and fetches of live sessions answered without message objects (decisions/053)."""
    sessions = groups.sessions
    sessions.commits = SteadyCommits(
        sessions,
        groups.environment,
        groups.coordinator,
        UnsteadyCommits(chain, groups.pending, groups.environment).operation,
        min(ELEMENTS_MAX, config[SOCKET_REQUEST_MAX_ELEMENTS]),
        None if groups.drain_meter is not None else loop.scheduler,
        loop.now_ms,
    )
    sessions.fetches = SteadyFetches(sessions, sessions.commits, groups.coordinator)


def _denial_log(config: Config, loop: NodeLoop, groups: GroupParts, home: FrontHome) -> DenialLog:
    return DenialLog(
        home.authorizer,
        loop.scheduler,
        loop.slices,
        loop.now_ms,
        report=lambda event: groups.coordinator.report(event, everywhere=False),
        node_id=config[NODE_ID],
        coordinator_epoch=groups.coordinator_epoch,
    )


def _peer_watch(
    config: Config,
    loop: NodeLoop,
    groups: GroupParts,
    home: FrontHome,
    limits: ConnectionLimits,
    rejections: RejectionLog,
) -> PeerWatch:
    scheduler, now_ms = loop.scheduler, loop.now_ms
    slow_peers, old_clients = SlowPeers(config, scheduler, now_ms), None
    scheduler.on_due(slow_peers.due)
    if home.names_old_clients:
        old_clients = OldClients(groups.coordinator, scheduler, loop.slices, now_ms)
        scheduler.on_due(old_clients.due)
    return PeerWatch(limits=limits, slow_peers=slow_peers, rejections=rejections, old_clients=old_clients)
