"""What clients have used of their quotas (Kafka's ClientQuotaManager): in memory, and forgotten when it is not used."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Generic, Protocol, TypeVar

from coordinator.config.quota_keys import (
    CONTROLLER_QUOTA_WINDOW_NUM,
    CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS,
    QUOTA_WINDOW_NUM,
    QUOTA_WINDOW_SIZE_SECONDS,
)
from coordinator.config.settings import Config
from coordinator.metadata.image import QuotaEntity
from coordinator.quotas.keys import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from coordinator.quotas.limits import AddressLimits, Client, ClientLimits, Limit
from coordinator.quotas.rates import Rate, TokenBucket, Window

UNUSED_MS_MAX: Final = 3_600_000
"""After so long without use it is forgotten what a client has used (Kafka's InactiveSensorExpirationTimeSeconds)."""
CLIENTS_MAX: Final = 10_000
"""For how many clients the usage of one quota is kept. Clients choose their client ids, so there could be any number;
above the limit, the usage of the least recently active client is forgotten. Kafka has no such limit."""

Quotas = Mapping[QuotaEntity, Mapping[str, float]]
"""By entity and key."""

M = TypeVar("M")
C = TypeVar("C")
C_contra = TypeVar("C_contra", contravariant=True)


class Limits(Protocol[C_contra]):
    """The quotas of one key. It is false if there are none."""

    def __bool__(self) -> bool: ...
    def find(self, client: C_contra) -> Limit | None:
        """The quota of a client (a user with a client id, or an address); None if there is none."""


class Meters(Generic[M]):
    """One meter for each who shares a quota, the one used last at the end."""

    def __init__(self, make: Callable[[], M]) -> None:
        self._make = make
        self._meters: OrderedDict[tuple[str, str], tuple[M, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._meters)

    def get(self, shared_by: tuple[str, str], now_ms: int) -> M:
        found = self._meters.pop(shared_by, None)
        meter = self._make() if found is None else found[0]
        self._meters[shared_by] = meter, now_ms
        if len(self._meters) > CLIENTS_MAX:
            self._meters.popitem(last=False)
        return meter

    def expire(self, now_ms: int) -> None:
        """Forget the meters that were not used for UNUSED_MS_MAX."""
        while self._meters:
            shared_by, (_, used_ms) = next(iter(self._meters.items()))
            if now_ms - used_ms < UNUSED_MS_MAX:
                break
            del self._meters[shared_by]


class RateQuota(Generic[C]):
    """One quota that is a rate. `throttle_ms_max` bounds the throttle time; None: no bound."""

    def __init__(self, window: Window, throttle_ms_max: int | None, limits: Limits[C]) -> None:
        self._window = window
        self._throttle_ms_max = throttle_ms_max
        self.limits = limits
        self.meters = Meters(lambda: Rate(window))

    def record(self, client: C, value: float, now_ms: int) -> int:
        """Record what a client has used; return the throttle time in ms, 0 if it is within its quota."""
        limit = self.limits.find(client)
        if limit is None:
            return 0
        rate = self.meters.get(limit.shared_by, now_ms)
        rate.record(value, now_ms)
        throttle_ms = rate.throttle_time_ms(limit.value, now_ms)
        return throttle_ms if self._throttle_ms_max is None else min(throttle_ms, self._throttle_ms_max)

    def unrecord(self, client: C, value: float, now_ms: int) -> None:
        """Take back what was recorded at this time."""
        limit = self.limits.find(client)
        if limit is not None:
            self.meters.get(limit.shared_by, now_ms).record(-value, now_ms)

    def value_max(self, client: C) -> float | None:
        """The most that can be recorded at once without being throttled for certain; None: there is no quota."""
        limit = self.limits.find(client)
        if limit is None:
            return None
        return limit.value * (self._window.samples - 1) * self._window.sample_ms / 1000


class MutationQuota:
    """`controller_mutation_rate` (KIP-599): partitions that are created and deleted."""

    def __init__(self, window: Window, limits: ClientLimits) -> None:
        self.limits = limits
        self.meters = Meters(lambda: TokenBucket(window))

    def consume(self, client: Client, partitions: int, is_strict: bool, now_ms: int) -> tuple[bool, int]:
        """Return whether the partitions may be created or deleted, and the throttle time in ms.

        A strict quota allows any number of partitions while it is not exceeded, and none while it is: a client that
        creates more than the quota at once has to wait afterwards. A quota that is not strict allows everything.
        """
        limit = self.limits.find(client)
        if limit is None:
            return True, 0
        bucket = self.meters.get(limit.shared_by, now_ms)
        if is_strict:
            throttle_ms = bucket.throttle_time_ms(limit.value, now_ms)
            if throttle_ms:
                return False, throttle_ms
            bucket.consume(partitions, limit.value, now_ms)
            return True, 0
        bucket.consume(partitions, limit.value, now_ms)
        return True, bucket.throttle_time_ms(limit.value, now_ms)


class QuotaUsage:
    """All quotas, and what was used of them. Nothing is measured for which there is no quota."""

    def __init__(self, config: Config) -> None:
        window_ms = config[QUOTA_WINDOW_SIZE_SECONDS] * 1000
        self._window = Window(config[QUOTA_WINDOW_NUM], window_ms)
        self._mutation_window = Window(
            config[CONTROLLER_QUOTA_WINDOW_NUM], config[CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS] * 1000
        )
        none: Mapping[QuotaEntity, Mapping[str, float]] = {}
        self.producer: RateQuota[Client] = RateQuota(self._window, None, ClientLimits(none, PRODUCER_BYTE_RATE))
        self.consumer: RateQuota[Client] = RateQuota(self._window, None, ClientLimits(none, CONSUMER_BYTE_RATE))
        # Kafka throttles requests and connections for at most one sample.
        self.request: RateQuota[Client] = RateQuota(self._window, window_ms, ClientLimits(none, REQUEST_PERCENTAGE))
        self.connection: RateQuota[str] = RateQuota(
            self._window, window_ms, AddressLimits(none, CONNECTION_CREATION_RATE)
        )
        self.mutation = MutationQuota(self._mutation_window, ClientLimits(none, CONTROLLER_MUTATION_RATE))

    def load(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """Take over quotas that were changed. What was used of them so far still counts."""
        self.producer.limits = ClientLimits(quotas, PRODUCER_BYTE_RATE)
        self.consumer.limits = ClientLimits(quotas, CONSUMER_BYTE_RATE)
        self.request.limits = ClientLimits(quotas, REQUEST_PERCENTAGE)
        self.connection.limits = AddressLimits(quotas, CONNECTION_CREATION_RATE)
        self.mutation.limits = ClientLimits(quotas, CONTROLLER_MUTATION_RATE)

    @property
    def limits_clients(self) -> bool:
        """Whether a user or a client id has a quota."""
        return any(client.limits for client in (self.producer, self.consumer, self.request, self.mutation))

    @property
    def meters(self) -> int:
        """How many meters there are."""
        return sum(len(meter) for meter in self._meters())

    def expire(self, now_ms: int) -> None:
        """Forget what was not used for a long time."""
        for meters in self._meters():
            meters.expire(now_ms)

    def _meters(self) -> tuple[Meters[Rate] | Meters[TokenBucket], ...]:
        return (
            self.producer.meters,
            self.consumer.meters,
            self.request.meters,
            self.connection.meters,
            self.mutation.meters,
        )
