"""A case: some ACLs, and a request that they are about. All of it follows from a seed and the versions of the API."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from coordinator.node.requirements import REQUIREMENTS
from coordinator.security.acls.model import (
    CLUSTER_NAME,
    IMPLIED_BY,
    WILDCARD,
    Acl,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)
from tests.differential.acls.bases import BASES
from tests.differential.acls.group_bases import OTHER_TOPIC
from tests.differential.names import DEFINITIONS
from tests.differential.requests.bases import Base
from tests.differential.requests.state import TOPIC, Ref, Refs, State, new_topic
from tests.differential.requests.variants import Body, variants

ALICE: Final = "alice"
ADMIN: Final = "admin"
ABSENT: Final = Ref("absent")
"""A topic that does not exist. Each case has its own: it may create it."""
VARIANTS: Final = ("=null", "=[]", " doubled", "_operations=true")
"""Ends of the names of variants that matter to authorization."""
NO_RESOURCES: Final = frozenset({"configs", "protocols", "assignments", "members", "feature_updates"})
"""Lists whose elements have names of something else."""
IN_HANDLERS: Final = {
    "ShareFetch": ((AclOperation.READ, ResourceType.TOPIC),),
    "ShareAcknowledge": ((AclOperation.READ, ResourceType.TOPIC),),
    "StreamsGroupHeartbeat": ((AclOperation.CREATE, ResourceType.TOPIC), (AclOperation.CREATE, ResourceType.CLUSTER)),
}
"""What is asked of the authorizer while the request is served, beside what it requires at first."""
NAME_FIELDS: Final = ("name", "topic", "resource_name", "group_id", "topic_name")


@dataclass(frozen=True, slots=True)
class Case:
    """A request of alice under some ACLs."""

    seed: int
    base: Base
    version: int
    variant: str
    body: Body

    @property
    def label(self) -> str:
        return f"{self.seed}: {self.base.api} v{self.version} {self.variant}"

    def acls(self, refs: Refs, number: int) -> list[Acl]:
        """The ACLs, by the names that the request has on a server. `number` is part of all names."""
        return list(_acls(random.Random(self.seed), self.base.api, refs, number))


def case_of(seed: int, versions: Mapping[str, tuple[int, int]]) -> Case:
    """The case of a seed. `versions` are the first and last version of each API."""
    chance = random.Random(seed)
    base = BASES[seed % len(BASES)]
    first, last = versions[base.api]
    version = chance.randint(max(first, base.since), last)
    chosen = [("base", base.body)]
    for each in variants(DEFINITIONS[base.api], version, base.body):
        if each.name.endswith(VARIANTS):
            chosen.append((each.name, each.body))
    wide = _widened(base.body)
    if wide != base.body:
        chosen += [("with others", wide)] * 4
    variant, body = chance.choice(chosen)
    return Case(seed, base, version, variant, body)


def _widened(body: Body) -> Body:
    """The same request with more elements in each of its lists: of another topic, group or transactional id."""
    return {name: _others_in(name, value) for name, value in body.items()}


def _others_in(field: str, value: Any) -> Any:
    return _with_others(value) if isinstance(value, list) and field not in NO_RESOURCES else value


def _with_others(elements: list[Any]) -> list[Any]:
    first = elements[0] if elements else None
    if isinstance(first, Ref):
        return [*elements, Ref(f"other_{first.name}")]
    if not isinstance(first, dict) or not any(field in first for field in NAME_FIELDS):
        return elements
    others = []
    for number in range(2):
        other = {key: _others_in(key, value) for key, value in first.items()}
        for field in NAME_FIELDS:
            if field in first:
                other[field] = _other_name(first[field], number)
        if "topic_id" in first and first["topic_id"] != bytes(16):
            other["topic_id"] = Ref("other_topic_id") if number == 0 else bytes(range(1, 17))
            if other.get("name") is not None:
                other["name"] = OTHER_TOPIC if number == 0 else ABSENT
            if other.get("topic") is not None:
                other["topic"] = OTHER_TOPIC if number == 0 else ABSENT
        others.append(other)
    return [*elements, *others]


def _other_name(name: Any, number: int) -> Any:
    if isinstance(name, Ref):
        return Ref(f"other_{name.name}") if number == 0 else Ref(f"absent_{name.name}")
    return None if name is None else (OTHER_TOPIC, ABSENT)[number]


def with_others(refs: Refs, state: State, seed: int) -> dict[str, Any]:
    """What the Refs of a body stand for, and those of its other elements."""
    other = OTHER_TOPIC
    if refs.get("topic", TOPIC) != TOPIC:
        other = new_topic(state, seed)["topic"]  # the request may delete it
    others: dict[str, Any] = {"other_topic_id": state.topic_ids[other], "absent": f"absent-{seed}"}
    for name, value in refs.items():
        if name == "topic":
            others["other_topic"], others["absent_topic"] = other, others["absent"]
        elif isinstance(value, str):
            others[f"other_{name}"], others[f"absent_{name}"] = f"{value}-other", f"absent-{seed}"
    return {**others, **refs}


def _names(resource_type: ResourceType, refs: Refs, seed: int) -> Sequence[str]:
    match resource_type:
        case ResourceType.TOPIC:
            of_case = [refs[key] for key in OF_TOPICS if key in refs]
            return [TOPIC, OTHER_TOPIC, refs["absent"], *of_case * 4]
        case ResourceType.GROUP:
            return [refs.get("group", f"g-{seed}"), refs.get("other_group", f"g-{seed}-other"), "g"]
        case ResourceType.TRANSACTIONAL_ID:
            return [refs.get("transactional_id", f"x-{seed}"), f"x-{seed}-other"]
        case _:
            return [CLUSTER_NAME]


OF_TOPICS: Final = ("topic", "other_topic", "new_name", "changelog", "repartition")
"""Refs whose values are names of topics."""


def _acls(chance: random.Random, api: str, refs: Refs, seed: int) -> Iterator[Acl]:
    wanted: list[tuple[AclOperation, ResourceType]] = []
    for requirement in REQUIREMENTS[api]:
        wanted.append((requirement.operation, requirement.resource_type))
        wanted += [
            (alternative.operation, alternative.resource_type)
            for alternative in requirement.alternatives
            if chance.random() < 0.4
        ]
    wanted += IN_HANDLERS.get(api, ())
    wanted += [(AclOperation.DESCRIBE, ResourceType.TOPIC), (AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC)]
    wanted.append((AclOperation.DESCRIBE, ResourceType.CLUSTER))
    for operation, resource_type in wanted:
        for _ in range(chance.choice((0, 1, 1, 2))):
            yield _acl(chance, operation, resource_type, _names(resource_type, refs, seed))


def _acl(chance: random.Random, operation: AclOperation, resource_type: ResourceType, names: Sequence[str]) -> Acl:
    name, pattern = chance.choice(names), PatternType.LITERAL
    if resource_type is not ResourceType.CLUSTER:
        kind = chance.random()
        if kind < 0.2:
            name = WILDCARD
        elif kind < 0.4:
            name, pattern = name[: chance.randint(1, len(name))], PatternType.PREFIXED
    is_other = chance.random()
    if is_other < 0.1:
        operation = AclOperation.ALL
    elif is_other < 0.3:
        operation = chance.choice(IMPLIED_BY.get(operation, (operation,)))
    elif is_other < 0.4:
        operation = chance.choice([AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALTER])
    return Acl(
        resource_type.value,
        name,
        pattern.value,
        chance.choice(["User:alice"] * 7 + ["User:*", "User:*", "User:bob"]),
        chance.choice(["*"] * 8 + ["127.0.0.1", "10.0.0.1"]),
        operation.value,
        PermissionType.DENY.value if chance.random() < 0.15 else PermissionType.ALLOW.value,
    )
