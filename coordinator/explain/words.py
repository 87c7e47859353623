"""Numbers, times and names in words."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from coordinator.audit.schema import MemberRef, Requester
from coordinator.printable import printable

Clock = Callable[[int], str]
"""ms since the epoch → a time of day, to be read by a person."""

NAMES_IN_A_SENTENCE: Final = 3
"""How many members a sentence names; it counts the others."""

REASON_CHARACTERS_SHOWN: Final = 160
SECONDS_OF_A_DAY: Final = 86_400
BRIEF_MS: Final = 500
"""A shorter rebalance is told without its parts."""
_FIRST_MS: Final = round(datetime.min.replace(tzinfo=UTC).timestamp()) * 1_000
_LAST_MS: Final = round(datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()) * 1_000 + 999
_PLAIN_NAME: Final = re.compile(r"[\w.:@/+-]+")
ID_CHARACTERS: Final = 8
"""So much of a member id is shown to tell members apart: the first block of a UUID."""


def utc_clock(time_ms: int) -> str:
    """The time of day in UTC. A time that no calendar has, as a damaged record may, is told as a number."""
    if not _FIRST_MS <= time_ms <= _LAST_MS:
        return f"{time_ms} ms"
    minutes, seconds = divmod(time_ms // 1000 % SECONDS_OF_A_DAY, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02} UTC"


def counted(count: int, what: str, plural: str = "") -> str:
    """`1 member`, `2 members`."""
    return f"{count:,} {what if count == 1 else plural or what + 's'}"


def were(count: int) -> str:
    return "was" if count == 1 else "were"


def duration(ms: int) -> str:
    """A length of time with two or three digits, as a person would say it: `40 ms`, `4.1 s`, `2 min 5 s`."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f}".removesuffix(".0") + " s"
    seconds = round(ms / 1000)
    for unit, size, part, part_size in (("min", 60, "s", 1), ("h", 3_600, "min", 60), ("d", 86_400, "h", 3_600)):
        if seconds < size * (60 if unit == "min" else 24) or unit == "d":
            whole, rest = divmod(seconds, size)
            rest //= part_size
            return f"{whole} {unit}" + (f" {rest} {part}" if rest else "")
    raise AssertionError(seconds)


def quoted(text: str) -> str:
    """A text that a client chose, marked as such. Longer ones are cut."""
    shown = text if len(text) <= REASON_CHARACTERS_SHOWN else text[:REASON_CHARACTERS_SHOWN] + "…"
    inner = printable(shown)
    return inner if inner is not shown else f'"{shown}"'


def plain(name: str) -> str:
    """A name that a client chose. One that could be read as words of the sentence around it is quoted."""
    return name if _PLAIN_NAME.fullmatch(name) and name.isprintable() else quoted_whole(name)


def quoted_whole(text: str) -> str:
    """As `quoted`, never cut, because two names may differ in the end only."""
    return f'"{text}"' if text.isprintable() and '"' not in text else repr(text)


def listed(parts: Sequence[str], *, more: int = 0) -> str:
    """`a`, `a and b`, `a, b and 3 more`."""
    if more:
        return f"{', '.join(parts)} and {more:,} more" if parts else f"{more:,}"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def host_of(host: str) -> str:
    """Kafka's form of a host, `/10.0.0.1`, without the slash."""
    return plain(host.removeprefix("/")) if host.removeprefix("/") else ""


def _own_part(base: str, member_id: str) -> str:
    """What tells a member id from others of the same client: those of classic members begin with the client id."""
    return member_id.removeprefix(f"{base}-") or member_id


def _characters(parts: Sequence[str]) -> int:
    """With how many characters these are told apart: `ID_CHARACTERS`, or all if that is not enough."""
    return ID_CHARACTERS if len({part[:ID_CHARACTERS] for part in parts}) == len(parts) else max(map(len, parts))


class Names:
    """Short names of members: the instance id, else the client id, with a part of the member id where two share it."""

    def __init__(self, members: Iterable[MemberRef]) -> None:
        by_id = {member.member_id: self._base(member) for member in members}
        self._shared: dict[str, int] = {}
        """Name of several members → with how many characters of their ids they differ."""
        if len(set(by_id.values())) < len(by_id):
            ids: dict[str, list[str]] = {}
            for member_id, base in by_id.items():
                ids.setdefault(base, []).append(_own_part(base, member_id))
            self._shared = {base: _characters(parts) for base, parts in ids.items() if len(parts) > 1}

    @staticmethod
    def _base(member: MemberRef) -> str:
        return member.group_instance_id or member.client_id or member.member_id

    def of(self, member: MemberRef) -> str:
        """`billing-3`, or `rdkafka-7f3a2b1c` if several members have the client id `rdkafka`."""
        base = self._base(member)
        characters = self._shared.get(base)
        if characters is not None and member.member_id:
            return plain(f"{base}-{_own_part(base, member.member_id)[:characters]}")
        return plain(base) if base else "a member without a name"

    def full(self, member: MemberRef) -> str:
        """With the principal, the host and the client software, as far as they are known."""
        details = [plain(member.principal)] if member.principal else []
        if host_of(member.client_host):
            details.append(host_of(member.client_host))
        if member.client_software_name:
            version = f" {plain(member.client_software_version)}" if member.client_software_version else ""
            details.append(plain(member.client_software_name) + version)
        return f"{self.of(member)} ({', '.join(details)})" if details else self.of(member)

    def listed(self, members: Sequence[MemberRef], named: int = NAMES_IN_A_SENTENCE) -> str:
        names = [self.of(member) for member in members[:named]]
        return listed(names, more=max(0, len(members) - named))


def requester(found: Requester) -> str:
    """The client that sent a request about a group without being a member."""
    host = host_of(found.client_host)
    name = plain(found.client_id) if found.client_id else "a client without a client id"
    if found.principal:
        details = [plain(found.client_id)] if found.client_id else []
        details += [host] if host else []
        return f"{plain(found.principal)} ({', '.join(details)})" if details else plain(found.principal)
    return f"{name} ({host})" if host else name
