"""The reason of a rebalance, as `Preparing to rebalance group …` has it → what it says.

Brokers from 3.2 on add what the client gave as its reason (KIP-800).
"""

from typing import Any, Final

from coordinator.observe.logs.rules import elements
from coordinator.observe.logs.statements import Reason
from coordinator.observe.logs.templates import Kind, Template, TooManyReadings, Values

CLIENT: Final = "; client reason: "

_INSTANCES: Final = ("{group_instance_id:scala-instance}", "{group_instance_id:java-instance}")

WITH_CLIENT_REASON: Final = tuple(
    (Template(text), reason)
    for text, reason in (
        *(
            (f"Adding new member {{member_id}} with group instance id {instance}", Reason.NEW_MEMBER)
            for instance in _INSTANCES
        ),
        ("Removing member {member_id} on LeaveGroup", Reason.LEFT),
        ("Updating metadata for member {member_id} during {state_during}", Reason.UPDATED),
        ("Leader {member_id} re-joining group during {state_during}", Reason.LEADER_REJOINED),
        ("Member {member_id} joining group during {state_during}", Reason.JOINED_DURING),
        ("Member {member_id} is joining group during {state_during}", Reason.JOINED_DURING),
        (
            "Updating metadata for static member {member_id} with instance id {group_instance_id}",
            Reason.STATIC_UPDATED,
        ),
        (
            "Group's selectedProtocol will change because static member {member_id} with instance id"
            " {group_instance_id} joined with change of protocol",
            Reason.STATIC_UPDATED,
        ),
    )
)
WITHOUT: Final = tuple(
    (Template(text), reason)
    for text, reason in (
        ("Adding new member {member_id} with group instanceid {group_instance_id:scala-instance}", Reason.NEW_MEMBER),
        ("Adding new member {member_id}", Reason.NEW_MEMBER),  # before 2.3
        ("removing member {member_id} on LeaveGroup", Reason.LEFT),
        ("explicit `LeaveGroup` request for ({member_ids}) members.", Reason.LEFT),
        ("removing member {member_id} on heartbeat expiration", Reason.SESSION_EXPIRED),
        ("removing member {member_id} on heartbeat expiration.", Reason.SESSION_EXPIRED),
        ("leader {member_id} re-joining group during {state_during}", Reason.LEADER_REJOINED),
        ("Removing {member_ids:set} on pending sync request expiration", Reason.SYNC_TIMEOUT),
        ("Group's selectedProtocol will change because static member {rest}", Reason.STATIC_UPDATED),
        ("Freshly-loaded group {rest}", Reason.OVER_CAPACITY),
        ("Error {error} when storing group assignment during SyncGroup (member: {member_id})", Reason.STORE_FAILED),
        ("Error {error} when storing group assignmentduring SyncGroup (member: {member_id}).", Reason.STORE_FAILED),
        ("error when storing group assignment during SyncGroup (member: {member_id})", Reason.STORE_FAILED),
        ("Error when storing group assignment during SyncGroup (member: {member_id})", Reason.STORE_FAILED),
        ("Downgrade group {group_of_reason} from consumer to classic.", Reason.DOWNGRADED),
        ("Downgrade group {group_of_reason} from consumer to classic for member leaving.", Reason.DOWNGRADED),
    )
)


_LAST: Final = ("Adding new member {member_id}", "Group's selectedProtocol will change because static member {rest}")
"""Read as nothing else, because the words of other versions go on after these."""


class ReasonReading:
    """One way to read the reason. `list_text` is a list of member ids that is not split yet."""

    __slots__ = ("client_reason", "list_text", "reason", "template", "text", "values")

    def __init__(
        self, reason: Reason, text: str, values: Values, client_reason: str | None, template: Template | None = None
    ) -> None:
        self.reason, self.text, self.values, self.client_reason = reason, text, dict(values), client_reason
        self.template = template
        self.list_text = self.values.get("member_ids")
        if self.list_text is not None and reason is Reason.SYNC_TIMEOUT:
            self.list_text = elements(self.list_text)

    def fields(self, is_java: bool) -> dict[str, Any]:
        """The fields of `RebalancePrepared` that follow, without those of lists."""
        made: dict[str, Any] = {"reason": self.reason, "text": self.text, "client_reason": self.client_reason}
        member_id = self.values.get("member_id")
        if member_id is not None:
            made["member_ids"] = (member_id,)
        instance = self.values.get("group_instance_id")
        if instance is not None:
            made["group_instance_id"] = _instance(instance, is_java)
        made["state_during"] = self.values.get("state_during")
        return made


def reason_readings(text: str, is_java: bool) -> list[ReasonReading]:
    """All the ways to read a reason; one of `Reason.OTHER` if there is none. Raises TooManyReadings."""
    at = text.find(CLIENT)
    # The coordinator in Java always has a client's reason where there may be one.
    whole = WITHOUT if is_java and at >= 0 else (*WITHOUT, *WITH_CLIENT_REASON)
    found = [
        ReasonReading(reason, text, values, None, template)
        for template, reason in whole
        for values in template.readings(text)
        if is_dialect(template, is_java)
    ]
    while at >= 0:
        own, client_reason = text[:at], text[at + len(CLIENT) :]
        found += [
            ReasonReading(reason, own, values, client_reason, template)
            for template, reason in WITH_CLIENT_REASON
            for values in template.readings(own)
            if is_dialect(template, is_java)
        ]
        if len(found) > 64:
            raise TooManyReadings(text)
        at = text.find(CLIENT, at + 1)
    found = [
        reason_reading
        for reason_reading in found
        if reason_reading.template is None or reason_reading.template.text not in _LAST
    ] or found
    return found or [ReasonReading(Reason.OTHER, text, {}, None)]


def is_dialect(template: Template, is_java: bool) -> bool:
    """The one coordinator writes `Some(I)` and `joining`, the other one `I` and `is joining`."""
    if template.text.endswith(" joining group during {state_during}"):
        return template.text.startswith("Member {member_id} is ") == is_java
    other = Kind.SCALA_INSTANCE if is_java else Kind.JAVA_INSTANCE
    return template.kinds.get("group_instance_id") is not other


def _instance(text: str, is_java: bool) -> str | None:
    if is_java:
        return None if text == "null" else text
    if text == "None":
        return None
    return text[len("Some(") : -1] if text.startswith("Some(") and text.endswith(")") else text
