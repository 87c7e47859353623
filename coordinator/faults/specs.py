"""What a fault is, as a test writes it: in Python by arguments, elsewhere as JSON with the same names."""

import reprlib
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

from _wire.errors import ErrorCode

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Ms = Annotated[int, Meta(ge=1, le=86_400_000)]
Seconds = Annotated[float, Meta(gt=0, le=31_622_400)]
Probability = Annotated[float, Meta(gt=0, le=1)]
Name = Annotated[str, Meta(min_length=1, max_length=32_767)]


class FaultError(ValueError):
    """A fault cannot be injected. The message is one line that says what is wrong."""


class Spec(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True, omit_defaults=True, tag_field="do"):
    """A fault; `do` names its kind."""


class RequestSpec(Spec, kw_only=True, frozen=True):
    """A fault of requests: those of one API, narrowed down by the other fields.

    `member` is a member id, a client id or an instance id. `leader` is true for requests of the leader of the group
    only, false for those of the others. Of the requests that match, `nth` takes only that one (from 1), `times` so many
    at most, `probability` each with that probability, by random numbers from `seed`. After `seconds` of the server's
    clock the fault takes none any more.
    """

    api: Name
    group: Name | None = None
    member: Name | None = None
    leader: bool | None = None
    nth: Count | None = None
    times: Count | None = None
    seconds: Seconds | None = None
    probability: Probability | None = None
    seed: int = 0


class Answer(RequestSpec, kw_only=True, frozen=True, tag="answer"):
    """Answer with an error, by Kafka's name; the coordinator does not see the request."""

    error: Name


class Delay(RequestSpec, kw_only=True, frozen=True, tag="delay"):
    """Send the answer `ms` later, by the server's clock; the coordinator sees the request at once."""

    ms: Ms


class Drop(RequestSpec, kw_only=True, frozen=True, tag="drop"):
    """Never send the answer: the client waits for its own timeout. Its connection answers nothing more."""


class Close(RequestSpec, kw_only=True, frozen=True, tag="close"):
    """Close the connection: before the coordinator sees the request, or after, instead of the answer."""

    when: Literal["before", "after"] = "before"


class Hold(RequestSpec, kw_only=True, frozen=True, tag="hold"):
    """Hold requests at a barrier until it is released; only then the coordinator sees them."""


class Throttle(RequestSpec, kw_only=True, frozen=True, tag="throttle"):
    """Put `ms` into the answer's `throttle_time_ms`; a client then waits so long before its next request (KIP-219)."""

    ms: Ms


class Fill(Spec, kw_only=True, frozen=True, tag="fill"):
    """Let a group have `size` members at most (default: as many as it has): GROUP_MAX_SIZE_REACHED for others."""

    group: Name
    size: Count | None = None


class Unavailable(Spec, kw_only=True, frozen=True, tag="unavailable"):
    """Stop leading the partition of a group, with all groups in it, for `seconds` of the server's clock.

    Requests are answered with `error` until then, or until the fault is removed; then the partition is loaded again.
    """

    group: Name
    error: Literal["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"] = "NOT_COORDINATOR"
    seconds: Seconds | None = None


class Expire(Spec, kw_only=True, frozen=True, tag="expire"):
    """End the session of a member now, as if it had been silent. `member`: its id, client id or instance id."""

    group: Name
    member: Name


class Rebalance(Spec, kw_only=True, frozen=True, tag="rebalance"):
    """Make a group rebalance now, though nothing changed. `reason` is told in the audit."""

    group: Name
    reason: Annotated[str, Meta(max_length=255)] = ""


class Fence(Spec, kw_only=True, frozen=True, tag="fence"):
    """Take over the place of a static member, as another client with its instance id does: it is fenced (KIP-345)."""

    group: Name
    instance: Name


Immediate = Expire | Rebalance | Fence
AnySpec = Answer | Delay | Drop | Close | Hold | Throttle | Fill | Unavailable | Expire | Rebalance | Fence
KINDS: Final = {str(kind.__struct_config__.tag): kind for kind in get_args(AnySpec)}


def parse_spec(fields: dict[str, Any]) -> AnySpec:
    """Check a fault that a test wrote.

    Raises:
        FaultError: a field is missing, unknown or not allowed.
    """
    kind = fields.get("do")
    if not isinstance(kind, str) or kind not in KINDS:
        raise FaultError(f"there is no fault {kind!r}; there are {', '.join(KINDS)}")
    given = {name: field for name, field in fields.items() if field is not None}
    try:
        spec: AnySpec = msgspec.convert(given, KINDS[kind])
    except msgspec.ValidationError as problem:
        raise FaultError(f"{kind}: {_in_words(str(problem), given, KINDS[kind])}") from None
    if isinstance(spec, Answer):
        error_named(spec.error)
    return spec


def error_named(name: str) -> ErrorCode:
    """Raises FaultError: Kafka's protocol has no error of this name."""
    errors = [member for member in ErrorCode.__members__ if member != "NONE"]
    if name not in errors:
        raise FaultError(f"{name!r} is no error of Kafka's protocol; {nearest(name, errors)}")
    return ErrorCode[name]


def nearest(name: str, names: Sequence[str]) -> str:
    """Which of the names was probably meant; all of them if none is near."""
    upper = {name.upper(): name for name in names}
    import difflib

    near = difflib.get_close_matches(name.upper(), upper, n=1)
    return f"did you mean {upper[near[0]]!r}?" if near else f"there are {', '.join(names)}"


def _in_words(problem: str, given: dict[str, Any], kind: type[Spec]) -> str:
    """What msgspec says of a field, with its value."""
    what, _, path = problem.partition(" - at `$.")
    name = path.rstrip("`")
    annotations = {field.name: field.type for field in msgspec.structs.fields(kind)}
    if name not in given:
        what = what.removeprefix("Object ")
        return f"{what}; there are {', '.join(annotations)}" if "unknown" in what else what
    choices = get_args(annotations[name]) if get_origin(annotations[name]) is Literal else ()
    expected = f"expected {' or '.join(choices)}" if choices else what[0].lower() + what[1:]
    return f"{name}={reprlib.repr(given[name])}: {expected}"


def fields_of(spec: AnySpec) -> dict[str, Any]:
    """A fault as JSON, without the fields that are not set."""
    built: dict[str, Any] = msgspec.to_builtins(spec)
    return built
