"""DescribeUserScramCredentials and AlterUserScramCredentials (KIP-554), with Kafka's answers (ScramControlManager)."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from _wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from coordinator.config.sasl_keys import SCRAM_CREDENTIALS_MAX
from coordinator.config.settings import Config
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.metadata.image import MetadataImage
from coordinator.metadata.records import RemoveScramCredentialRecord, ScramCredentialRecord, credential_record
from coordinator.metadata.store import MetadataStore
from coordinator.node.handlers.deferred import answer_when_committed
from coordinator.runtime.slices import Steps
from coordinator.security.sasl.scram_credentials import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramCredential,
    ScramMechanism,
)

MECHANISMS: Final = {int(mechanism): mechanism for mechanism in ScramMechanism}
NAME_CHARACTERS_MAX: Final = 1_024
SALT_BYTES_MAX: Final = 1_024
SALTED_PASSWORD_BYTES_MAX: Final = 1_024
"""Kafka has no limits for the three; clients send 64 bytes at most."""
NO_SCRAM: Final = "SCRAM needs a library on the server: pip install 'kafka-group-coordinator[security]'"
TWICE: Final = "A user credential cannot be altered twice in the same request"


class _Refused(ValueError):
    """A credential is not changed. The message is Kafka's where Kafka has one."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


Change = ScramCredentialDeletion | ScramCredentialUpsertion


class ScramCredentialHandlers:
    """Tells and changes the SCRAM credentials of the metadata log."""

    def __init__(self, *, config: Config, metadata: MetadataStore, now_ms: Callable[[], int]) -> None:
        self._most = config[SCRAM_CREDENTIALS_MAX]
        self._metadata = metadata
        self._now_ms = now_ms

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeUserScramCredentials", self.describe, _describe_error)
        table.add("AlterUserScramCredentials", self.alter, _alter_error)

    def describe(
        self, request: DescribeUserScramCredentialsRequest, call: RequestContext
    ) -> Steps[DescribeUserScramCredentialsResponse]:
        """Null and an empty list ask for all users."""
        credentials = self._metadata.image.scram_credentials
        times: Counter[str] = Counter()
        for user in request.users or ():
            times[user.name] += 1
            yield
        results = []
        for name in list(times if request.users else credentials):
            results.append(_described(name, credentials.get(name), times[name] > 1))
            yield
        return DescribeUserScramCredentialsResponse(error_message="", results=results)

    def alter(self, request: AlterUserScramCredentialsRequest, call: RequestContext) -> Steps[Any]:
        """Each user is for itself: what is wrong with one does not touch another."""
        if find_spec("scramp") is None:
            return _alter_error(request, ErrorCode.UNSUPPORTED_SASL_MECHANISM, call.api_version, NO_SCRAM)
        problems: dict[str, _Refused] = {}
        changes: dict[str, Change] = {}
        for change in _changes(request):
            self._add(change, changes, problems)
            yield
        records: list[ScramCredentialRecord | RemoveScramCredentialRecord] = []
        results = []
        image, count = self._metadata.latest_image, 0
        for name, change in changes.items():
            try:
                count += self._check_room(change, image, count)
                records.append(_record(change))
                results.append(AlterUserScramCredentialsResult(user=name, error_message=None))
            except _Refused as problem:
                problems[name] = problem
            yield
        self._metadata.change_scram_credentials(records, self._now_ms())
        results += [
            AlterUserScramCredentialsResult(user=name, error_code=problem.error, error_message=str(problem) or None)
            for name, problem in problems.items()
        ]
        return (yield from answer_when_committed(self._metadata, AlterUserScramCredentialsResponse(results=results)))

    def _add(self, change: Change, changes: dict[str, Change], problems: dict[str, _Refused]) -> None:
        """Check a change. A user that comes again keeps what it has, whatever the first change was."""
        if change.name in problems:
            return
        try:
            if changes.pop(change.name, None) is not None:
                raise _Refused(ErrorCode.DUPLICATE_RESOURCE, TWICE)
            _check(change)
            if isinstance(change, ScramCredentialDeletion):
                self._check_existence(change)
            changes[change.name] = change
        except _Refused as problem:
            problems[change.name] = problem

    def _check_existence(self, deletion: ScramCredentialDeletion) -> None:
        credentials = self._metadata.latest_image.scram_credentials.get(deletion.name, {})
        if MECHANISMS[deletion.mechanism] not in credentials:
            raise _Refused(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")

    def _check_room(self, change: Change, image: MetadataImage, added: int) -> int:
        """Return how many credentials there are more with the change, beside those that were added before it."""
        if isinstance(change, ScramCredentialDeletion):
            return -1
        if MECHANISMS[change.mechanism] in image.scram_credentials.get(change.name, {}):
            return 0
        if image.scram_credentials_count + added >= self._most:
            raise _Refused(
                ErrorCode.POLICY_VIOLATION,
                f"There are {self._most} credentials already; {SCRAM_CREDENTIALS_MAX.name} allows no more.",
            )
        return 1


def _changes(request: AlterUserScramCredentialsRequest) -> Iterator[Change]:
    """In the order in which Kafka looks at them."""
    yield from request.deletions
    yield from request.upsertions


def _check(change: Change) -> None:
    unacceptable = ErrorCode.UNACCEPTABLE_CREDENTIAL
    if not change.name:
        raise _Refused(unacceptable, "Username must not be empty")
    if change.mechanism not in MECHANISMS:
        raise _Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        return
    if change.iterations > ITERATIONS_MAX:
        raise _Refused(unacceptable, "Too many iterations")
    if change.iterations < ITERATIONS_MIN:
        raise _Refused(unacceptable, "Too few iterations")
    if not change.salted_password:
        raise _Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "")  # Kafka's HMAC takes no empty key
    for what, size, most in (
        ("Username", len(change.name), NAME_CHARACTERS_MAX),
        ("Salt", len(change.salt), SALT_BYTES_MAX),
        ("Salted password", len(change.salted_password), SALTED_PASSWORD_BYTES_MAX),
    ):
        if size > most:
            raise _Refused(unacceptable, f"{what} must not be longer than {most}")


def _record(change: Change) -> ScramCredentialRecord | RemoveScramCredentialRecord:
    if isinstance(change, ScramCredentialDeletion):
        return RemoveScramCredentialRecord(change.name, change.mechanism)
    from coordinator.security.sasl.scram_keys import credential_of_salted_password

    credential = credential_of_salted_password(
        MECHANISMS[change.mechanism], bytes(change.salted_password), bytes(change.salt), change.iterations
    )
    return credential_record(change.name, MECHANISMS[change.mechanism], credential)


def _described(
    name: str, credentials: Mapping[ScramMechanism, ScramCredential] | None, is_asked_twice: bool
) -> DescribeUserScramCredentialsResult:
    if is_asked_twice:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}",
        )
    if credentials is None:
        return DescribeUserScramCredentialsResult(
            user=name,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"Attempt to describe a user credential that does not exist: {name}",
        )
    infos = [
        CredentialInfo(mechanism=mechanism, iterations=credentials[mechanism].iterations)
        for mechanism in sorted(credentials)
    ]
    return DescribeUserScramCredentialsResult(user=name, error_message="", credential_infos=infos)


def _describe_error(
    request: DescribeUserScramCredentialsRequest, error: ErrorCode, api_version: int
) -> DescribeUserScramCredentialsResponse:
    """Kafka tells the error of the whole, and again of each user, without names."""
    results = [DescribeUserScramCredentialsResult(user="", error_code=error, error_message=None)]
    return DescribeUserScramCredentialsResponse(
        error_code=error, error_message=None, results=results * len(request.users or ())
    )


def _alter_error(
    request: AlterUserScramCredentialsRequest, error: ErrorCode, api_version: int, message: str | None = None
) -> AlterUserScramCredentialsResponse:
    names = dict.fromkeys(change.name for change in _changes(request))
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=name, error_code=error, error_message=message or error.description)
            for name in names
        ]
    )
