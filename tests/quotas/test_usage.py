"""What is remembered of clients: shared, bounded, and forgotten."""

from typing import Final

from coordinator.config.settings import Config
from coordinator.metadata.image import quota_entity
from coordinator.quotas import usage as usage_module
from coordinator.quotas.limits import Client
from coordinator.quotas.usage import UNUSED_MS_MAX, QuotaUsage

NOW_MS: Final = 1_700_000_000_000
A: Final = Client("alice", "a")
B: Final = Client("alice", "b")


def usage_with(names: dict[str, str | None], **quotas: float) -> QuotaUsage:
    usage = QuotaUsage(Config())
    usage.load({quota_entity(names): quotas})
    return usage


def test_without_quotas_nothing_is_measured():
    usage = QuotaUsage(Config())
    assert not usage.limits_clients
    assert usage.producer.record(A, 1e9, NOW_MS) == 0
    assert usage.mutation.consume(A, 10**9, True, NOW_MS) == (True, 0)
    assert usage.meters == 0


def test_each_client_id_has_the_default_for_itself():
    usage = usage_with({"client-id": None}, producer_byte_rate=100.0)
    assert usage.limits_clients
    assert usage.producer.record(A, 2000, NOW_MS) == 10_000
    assert usage.producer.record(B, 500, NOW_MS) == 0
    assert usage.consumer.record(A, 2000, NOW_MS) == 0


def test_the_client_ids_of_a_user_share_its_quota():
    usage = usage_with({"user": None}, producer_byte_rate=100.0)
    assert usage.producer.record(A, 1000, NOW_MS) == 0
    assert usage.producer.record(B, 1000, NOW_MS) == 10_000
    assert usage.meters == 1


def test_requests_are_throttled_for_one_sample_at_most():
    usage = usage_with({"client-id": "a"}, request_percentage=1.0)
    assert usage.request.record(A, 100_000, NOW_MS) == 1000


def test_no_more_is_fetched_than_fits_into_the_window():
    usage = usage_with({"client-id": "a"}, consumer_byte_rate=100.0)
    assert usage.consumer.value_max(A) == 1000
    assert usage.consumer.value_max(B) is None
    assert usage.consumer.record(A, 1000, NOW_MS) == 0


def test_what_was_used_counts_against_a_new_quota():
    usage = usage_with({"client-id": "a"}, producer_byte_rate=1000.0)
    assert usage.producer.record(A, 2000, NOW_MS) == 0
    usage.load({quota_entity({"client-id": "a"}): {"producer_byte_rate": 100.0}})
    assert usage.producer.record(A, 0, NOW_MS) == 10_000


def test_a_strict_quota_of_mutations_allows_any_number_and_then_none():
    usage = usage_with({"client-id": "a"}, controller_mutation_rate=1.0)
    assert usage.mutation.consume(A, 13, True, NOW_MS) == (True, 0)
    assert usage.mutation.consume(A, 1, True, NOW_MS) == (False, 2000)
    assert usage.mutation.consume(A, 1, True, NOW_MS + 2000) == (True, 0)


def test_a_permissive_quota_of_mutations_allows_all_and_throttles():
    usage = usage_with({"client-id": "a"}, controller_mutation_rate=1.0)
    assert usage.mutation.consume(A, 13, False, NOW_MS) == (True, 2000)
    assert usage.mutation.consume(A, 1, False, NOW_MS) == (True, 3000)


def test_the_client_that_used_nothing_for_the_longest_time_begins_anew(monkeypatch):
    monkeypatch.setattr(usage_module, "CLIENTS_MAX", 2)
    usage = usage_with({"client-id": None}, producer_byte_rate=100.0)
    for client in (A, B, A, Client("alice", "c")):
        usage.producer.record(client, 600, NOW_MS)
    assert usage.meters == 2
    assert usage.producer.record(A, 0, NOW_MS) == 2000
    assert usage.producer.record(B, 600, NOW_MS) == 0


def test_what_is_not_used_for_an_hour_is_forgotten():
    usage = usage_with({"client-id": None}, producer_byte_rate=100.0, controller_mutation_rate=1.0)
    usage.producer.record(A, 1, NOW_MS)
    usage.mutation.consume(A, 1, True, NOW_MS + 1)
    usage.expire(NOW_MS + UNUSED_MS_MAX - 1)
    assert usage.meters == 2
    usage.expire(NOW_MS + UNUSED_MS_MAX)
    assert usage.meters == 1
    usage.expire(NOW_MS + UNUSED_MS_MAX + 1)
    assert usage.meters == 0
