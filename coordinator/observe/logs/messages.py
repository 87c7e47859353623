"""The message of a broker's line → the ways to read it.

A message begins with what its logger adds (`[GroupCoordinator 1]: `, `[GroupCoordinator id=1 topic=… partition=7] `),
which names the broker, then come the words of one of the rules.
"""

import re
from itertools import chain
from typing import Any, Final

from coordinator.observe.logs.classic_rules import CLASSIC_RULES
from coordinator.observe.logs.consumer_rules import CONSUMER_RULES
from coordinator.observe.logs.coordinator_rules import COORDINATOR_RULES, UNINTERESTING
from coordinator.observe.logs.reasons import ReasonReading, reason_readings
from coordinator.observe.logs.rules import Rule, elements
from coordinator.observe.logs.statements import RebalancePrepared
from coordinator.observe.logs.templates import TooManyReadings, Values

PREFIX: Final = re.compile(
    r"\[GroupCoordinator (?P<scala>-?\d+)\]: "
    r"|\[GroupCoordinator id=(?P<java>-?\d+)(?: topic=[\w.-]+ partition=(?P<partition>\d+))?\] "
    r"|\[GroupMetadataManager brokerId=(?P<manager>-?\d+)\] "
    r"|(?=Loaded member MemberMetadata\(|Group leader \[member)"
)
"""Before what a coordinator writes. Three of its messages have nothing before them."""

FIRST_WORD: Final = re.compile(r"[^\s{=]+")
END_CHARS: Final = 6
BEGIN_CHARS: Final = 10
"""A message with a shorter beginning and a full stop may be one of a version that is not known."""


class RulesOfWord:
    """Rules whose messages begin with the same word: those by the end of their messages, and those with an open one."""

    def __init__(self) -> None:
        self._by_end: dict[str, list[Rule]] = {}
        self._open: list[Rule] = []

    def add(self, rule: Rule) -> None:
        end = rule.template.last[-END_CHARS:]
        (self._open if len(end) < END_CHARS else self._by_end.setdefault(end, [])).append(rule)

    def begin(self, text: str) -> bool:
        firsts = {rule.template.first for rule in chain(self._open, *self._by_end.values())}
        return any(text.startswith(first) and (len(first) >= BEGIN_CHARS or not text.endswith(".")) for first in firsts)

    def that_may_read(self, text: str) -> list[Rule]:
        found = [rule for rule in self._open if rule.template.probe in text]
        closed = self._by_end.get(text[-END_CHARS:])
        return found if closed is None else [*closed, *found]


def _by_first_word() -> dict[str, RulesOfWord]:
    table: dict[str, RulesOfWord] = {}
    for rule in (*CLASSIC_RULES, *CONSUMER_RULES, *COORDINATOR_RULES):
        word = FIRST_WORD.match(rule.template.text)
        assert word is not None, rule.template.text
        table.setdefault(word.group(), RulesOfWord()).add(rule)
    return table


RULES: Final = _by_first_word()


class Reading:
    """One way to read a message: `statement(**fields)`, if `list_text` is split into `member_ids`."""

    __slots__ = ("fields", "groups", "instance_of", "list_text", "members", "reason", "rule")

    def __init__(self, rule: Rule, values: Values, reason: ReasonReading | None = None) -> None:
        self.rule = rule
        self.fields: dict[str, Any] = rule.values(values)
        self.list_text: str | None = None
        self.reason = reason
        if reason is not None:
            self.fields.update(reason.fields(is_java=rule.template.text.endswith(").")))
            self.list_text = reason.list_text
            values = {**values, **reason.values}
        elif "member_ids" in values:
            self.list_text = elements(values["member_ids"])
        self.groups = [values[name] for name in rule.groups]
        self.members = [values[name] for name in rule.members]
        if reason is not None and "member_id" in reason.values:
            self.members.append(reason.values["member_id"])
        instance = self.fields.get("group_instance_id")
        self.instance_of = (instance, values["member_id"]) if instance and "member_id" in values else None


class Message:
    """A message without its prefix, and who wrote it."""

    __slots__ = ("broker_id", "offsets_partition", "text")

    def __init__(self, text: str, broker_id: int | None, offsets_partition: int | None) -> None:
        self.text, self.broker_id, self.offsets_partition = text, broker_id, offsets_partition


def message_of(text: str) -> Message | None:
    """The message of a coordinator, or None if the text is of something else."""
    match = PREFIX.match(text)
    if match is None:
        return None
    scala, java, partition, manager = match.group("scala", "java", "partition", "manager")
    broker = scala or java or manager
    return Message(
        text[match.end() :],
        None if broker is None else int(broker),
        None if partition is None else int(partition),
    )


def begins_like_a_rule(text: str) -> bool:
    """Whether a message begins with the words of a rule, up to its first field, and is none that is left out."""
    word = FIRST_WORD.match(text)
    rules = None if word is None else RULES.get(word.group())
    return rules is not None and rules.begin(text) and not any(template.readings(text) for template in UNINTERESTING)


def readings(text: str) -> list[Reading]:
    """All the ways to read a message without its prefix. Raises TooManyReadings."""
    word = FIRST_WORD.match(text)
    rules = None if word is None else RULES.get(word.group())
    found: list[Reading] = []
    for rule in () if rules is None else rules.that_may_read(text):
        for values in rule.template.readings(text):
            if values.get("again", values.get("member_id")) != values.get("member_id"):
                continue  # the message names the member twice
            if "reason" in values and rule.statement is RebalancePrepared:
                text_of_reason = values.pop("reason")
                is_java = rule.template.text.endswith(").")
                found += [
                    Reading(rule, values, reason_reading) for reason_reading in reason_readings(text_of_reason, is_java)
                ]
            else:
                found.append(Reading(rule, values))
        if len(found) > 200:
            raise TooManyReadings(text)
    return found
