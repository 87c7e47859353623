"""Which producer a partition forgets when it knows too many: each client address has a share.

Anybody may invent producer ids. What a forgotten producer sends twice is appended twice, so the producers of a client
with more than its share go first, and of these the ones that wrote a single batch.

Kafka remembers all producers until they expire, and has no counterpart.
"""

from collections import OrderedDict
from collections.abc import Container
from typing import Final

ADDRESSES_COMPARED_MAX: Final = 1_000
"""Among more addresses the largest share is not looked for: there is none that is large."""
TRIED_MAX: Final = 16
"""Producers with an open transaction that are passed over at a time: they are never forgotten."""


class Share:
    """The producers of one client address, each in the order in which they last wrote."""

    __slots__ = ("others", "single")

    def __init__(self) -> None:
        self.single: OrderedDict[int, None] = OrderedDict()
        """Those that wrote a single batch."""
        self.others: OrderedDict[int, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self.single) + len(self.others)


class ProducerShares:
    """Producer ids of one partition, by the address of the client that wrote first. Empty: it is not known any more."""

    def __init__(self) -> None:
        self._shares: dict[str, Share] = {}
        self._address: dict[int, str] = {}

    def add(self, producer_id: int, address: str) -> None:
        """A producer that is not known wrote its first batch."""
        self._address[producer_id] = address
        share = self._shares.get(address)
        if share is None:
            share = self._shares[address] = Share()
        share.single[producer_id] = None

    def wrote(self, producer_id: int) -> None:
        """A known producer wrote again."""
        share = self._shares[self._address[producer_id]]
        if producer_id in share.others:
            share.others.move_to_end(producer_id)
        else:
            del share.single[producer_id]
            share.others[producer_id] = None

    def remove(self, producer_id: int) -> None:
        address = self._address.pop(producer_id)
        share = self._shares[address]
        if share.single.pop(producer_id, self) is self:
            del share.others[producer_id]
        if not share:
            del self._shares[address]

    def first_to_forget(self, newest: int, is_open: Container[int]) -> int | None:
        """The producer to forget when `newest` is one too many; None: none was found that has no open transaction."""
        share = self._shares[self._address[newest]]
        if len(share) * len(self._shares) <= len(self._address) and len(self._shares) <= ADDRESSES_COMPARED_MAX:
            share = max(self._shares.values(), key=len)
        for producers in (share.single, share.others):
            for _ in range(min(TRIED_MAX, len(producers))):
                producer_id = next(iter(producers))
                if producer_id not in is_open and producer_id != newest:
                    return producer_id
                producers.move_to_end(producer_id)
        return None
