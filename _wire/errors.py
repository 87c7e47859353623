"""Kafka's error codes, and the exception for malformed messages."""

from enum import IntEnum
from typing import Final


class MalformedMessage(Exception):
    """The bytes are not a `message` of this version: truncated, too long, or with a value that is not allowed.

    `field` is the path of the field within the message (`protocols[1].name`), empty where no field is to blame;
    `offset` counts from the first byte of the message. `understood` is the message as far as it was read; what was not
    is None, 0 or False in it.
    """

    def __init__(
        self, message: str, version: int, field: str, offset: int, why: str, understood: object = None
    ) -> None:
        super().__init__(message, version, field, offset, why)
        self.message = message
        self.version = version
        self.field = field
        self.offset = offset
        self.why = why
        self.understood = understood

    def __str__(self) -> str:
        field = f".{self.field}" if self.field else ""
        return f"{self.message} v{self.version}{field} at byte {self.offset}: {self.why}"


class ErrorCode(IntEnum):
    """A protocol error. Names and numbers are Kafka's.

    `retriable`: a client may just try again (Kafka's clients derive it from their exception of the same name).
    """

    retriable: bool
    description: str

    def __new__(cls, code: int, retriable: bool = False, description: str = "") -> "ErrorCode":
        self = int.__new__(cls, code)
        self._value_ = code
        self.retriable = retriable
        self.description = description
        return self

    @classmethod
    def _missing_(cls, code: object) -> "ErrorCode | None":
        """A code of a later version of Kafka is an unknown error, as for its clients (`Errors.forCode`)."""
        return cls.UNKNOWN_SERVER_ERROR if isinstance(code, int) else None

    UNKNOWN_SERVER_ERROR = -1, False, "the server failed in a way it has no code for"
    NONE = 0, False, "no error"
    OFFSET_OUT_OF_RANGE = 1, False, "the log holds no such offset"
    CORRUPT_MESSAGE = 2, True, "a record batch is broken: wrong checksum, wrong size, or null key on a compacted topic"
    UNKNOWN_TOPIC_OR_PARTITION = 3, True, "this broker knows no such topic or partition"
    INVALID_FETCH_SIZE = 4, False, "the fetch size is not allowed"
    LEADER_NOT_AVAILABLE = 5, True, "the partition has no leader at the moment"
    NOT_LEADER_OR_FOLLOWER = 6, True, "this broker does not lead the partition, or holds no replica of it"
    REQUEST_TIMED_OUT = 7, True, "the request was not done in the time it gave"
    BROKER_NOT_AVAILABLE = 8, False, "the broker is not there"
    REPLICA_NOT_AVAILABLE = 9, True, "the replica is not there"
    MESSAGE_TOO_LARGE = 10, False, "a record batch is larger than the broker takes"
    STALE_CONTROLLER_EPOCH = 11, False, "the request comes from a controller that has been replaced"
    OFFSET_METADATA_TOO_LARGE = 12, False, "the metadata text of a committed offset is too long"
    NETWORK_EXCEPTION = 13, True, "the connection broke before the answer came"
    COORDINATOR_LOAD_IN_PROGRESS = 14, True, "the group's partition is still being replayed"
    COORDINATOR_NOT_AVAILABLE = 15, True, "the coordinator cannot work at the moment"
    NOT_COORDINATOR = 16, True, "another broker coordinates this group"
    INVALID_TOPIC_EXCEPTION = 17, False, "the topic name is not allowed, or clients may not write to this topic"
    RECORD_LIST_TOO_LARGE = 18, False, "a record batch is larger than a log segment"
    NOT_ENOUGH_REPLICAS = 19, True, "too few replicas are in sync: nothing was written"
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, True, "written, but to fewer replicas than asked for"
    INVALID_REQUIRED_ACKS = 21, False, "acks is none of -1, 0 and 1"
    ILLEGAL_GENERATION = 22, False, "the group is in another generation than the member"
    INCONSISTENT_GROUP_PROTOCOL = 23, False, "the member's protocols have none in common with the group's"
    INVALID_GROUP_ID = 24, False, "the group id is empty or not allowed"
    UNKNOWN_MEMBER_ID = 25, False, "the group has no such member"
    INVALID_SESSION_TIMEOUT = 26, False, "the session timeout lies outside of what the broker allows"
    REBALANCE_IN_PROGRESS = 27, False, "the group rebalances: the member should join again"
    INVALID_COMMIT_OFFSET_SIZE = 28, False, "the offsets to commit do not fit into one batch"
    TOPIC_AUTHORIZATION_FAILED = 29, False, "not allowed on this topic"
    GROUP_AUTHORIZATION_FAILED = 30, False, "not allowed on this group"
    CLUSTER_AUTHORIZATION_FAILED = 31, False, "not allowed on this cluster"
    INVALID_TIMESTAMP = 32, False, "a record's timestamp lies outside of what the topic allows"
    UNSUPPORTED_SASL_MECHANISM = 33, False, "the broker does not offer this SASL mechanism"
    ILLEGAL_SASL_STATE = 34, False, "the request does not fit the state of the SASL exchange"
    UNSUPPORTED_VERSION = 35, False, "the broker does not know this version of the request"
    TOPIC_ALREADY_EXISTS = 36, False, "there is a topic of this name"
    INVALID_PARTITIONS = 37, False, "the number of partitions is not allowed"
    INVALID_REPLICATION_FACTOR = 38, False, "the replication factor is not allowed, or there are too few brokers"
    INVALID_REPLICA_ASSIGNMENT = 39, False, "the assignment of replicas is not allowed"
    INVALID_CONFIG = 40, False, "a configuration key or its value is not allowed"
    NOT_CONTROLLER = 41, True, "another broker is the controller"
    INVALID_REQUEST = 42, False, "the request contradicts itself or lacks something"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, False, "the stored record format cannot do this"
    POLICY_VIOLATION = 44, False, "a policy of the cluster forbids it"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, False, "a producer's sequence number skips some"
    DUPLICATE_SEQUENCE_NUMBER = 46, False, "a producer's batch was written before"
    INVALID_PRODUCER_EPOCH = 47, False, "the producer's epoch is an old one"
    INVALID_TXN_STATE = 48, False, "the transaction is in a state that does not allow this"
    INVALID_PRODUCER_ID_MAPPING = 49, False, "the transactional id belongs to another producer id"
    INVALID_TRANSACTION_TIMEOUT = 50, False, "the transaction timeout is longer than the broker allows"
    CONCURRENT_TRANSACTIONS = 51, True, "the producer's transaction before this one is still being ended"
    TRANSACTION_COORDINATOR_FENCED = 52, False, "another broker has become the transaction coordinator"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, False, "not allowed with this transactional id"
    SECURITY_DISABLED = 54, False, "the broker runs without what this request manages"
    OPERATION_NOT_ATTEMPTED = 55, False, "not tried, because another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, True, "the broker's disk failed"
    LOG_DIR_NOT_FOUND = 57, False, "the broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, False, "the credentials are wrong"
    UNKNOWN_PRODUCER_ID = 59, False, "nothing is known of this producer id, its records may have been deleted"
    REASSIGNMENT_IN_PROGRESS = 60, False, "the partition is being moved"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, False, "the broker takes no delegation tokens"
    DELEGATION_TOKEN_NOT_FOUND = 62, False, "there is no such delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, False, "the delegation token belongs to someone else"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, False, "delegation tokens are not managed over this kind of connection"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, False, "not allowed on this delegation token"
    DELEGATION_TOKEN_EXPIRED = 66, False, "the delegation token has expired"
    INVALID_PRINCIPAL_TYPE = 67, False, "the kind of principal is not supported"
    NON_EMPTY_GROUP = 68, False, "the group has members"
    GROUP_ID_NOT_FOUND = 69, False, "there is no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, True, "there is no such fetch session"
    INVALID_FETCH_SESSION_EPOCH = 71, True, "the fetch session is at another epoch"
    LISTENER_NOT_FOUND = 72, True, "the partition's leader has no listener of this kind"
    TOPIC_DELETION_DISABLED = 73, False, "the broker is set to delete no topics"
    FENCED_LEADER_EPOCH = 74, True, "the request's leader epoch is older than the broker's"
    UNKNOWN_LEADER_EPOCH = 75, True, "the request's leader epoch is newer than the broker's"
    UNSUPPORTED_COMPRESSION_TYPE = 76, False, "the client's version cannot read this compression"
    STALE_BROKER_EPOCH = 77, False, "the broker has registered anew since"
    OFFSET_NOT_AVAILABLE = 78, True, "a new leader does not know its high watermark yet"
    MEMBER_ID_REQUIRED = 79, False, "join again with the member id that comes with this answer"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, True, "the preferred leader is not there"
    GROUP_MAX_SIZE_REACHED = 81, False, "the group has as many members as it may have"
    FENCED_INSTANCE_ID = 82, False, "another member has taken over this instance id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, True, "no replica may become leader"
    ELECTION_NOT_NEEDED = 84, True, "the partition has the leader it should have"
    NO_REASSIGNMENT_IN_PROGRESS = 85, False, "the partition is not being moved"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, False, "a member of the group still reads this topic"
    INVALID_RECORD = 87, False, "a record breaks a rule of its topic"
    UNSTABLE_OFFSET_COMMIT = 88, True, "an open transaction may still change the committed offset"
    THROTTLING_QUOTA_EXCEEDED = 89, True, "the quota is used up for now"
    PRODUCER_FENCED = 90, False, "a newer producer uses this transactional id"
    RESOURCE_NOT_FOUND = 91, False, "there is no such resource"
    DUPLICATE_RESOURCE = 92, False, "the request names a resource twice"
    UNACCEPTABLE_CREDENTIAL = 93, False, "the credential does not meet the requirements"
    INCONSISTENT_VOTER_SET = 94, False, "sender and receiver know different voters"
    INVALID_UPDATE_VERSION = 95, False, "the version to update from is not the current one"
    FEATURE_UPDATE_FAILED = 96, False, "the features could not be updated"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, False, "the forwarded principal cannot be read"
    SNAPSHOT_NOT_FOUND = 98, False, "there is no such snapshot"
    POSITION_OUT_OF_RANGE = 99, False, "the snapshot has no such position"
    UNKNOWN_TOPIC_ID = 100, True, "this broker knows no topic of this id"
    DUPLICATE_BROKER_REGISTRATION = 101, False, "a broker of this id is registered"
    BROKER_ID_NOT_REGISTERED = 102, False, "no broker of this id is registered"
    INCONSISTENT_TOPIC_ID = 103, True, "the log's topic id is another one"
    INCONSISTENT_CLUSTER_ID = 104, False, "the request is meant for another cluster"
    TRANSACTIONAL_ID_NOT_FOUND = 105, False, "there is no such transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, True, "the fetch session mixes topic names and topic ids"
    INELIGIBLE_REPLICA = 107, False, "the replica may not be in sync"
    NEW_LEADER_ELECTED = 108, False, "the request changed the leader, ask the new one"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, False, "the offset lies in tiered storage"
    FENCED_MEMBER_EPOCH = 110, False, "the member's epoch is one the coordinator gave up: join again"
    UNRELEASED_INSTANCE_ID = 111, False, "another member still uses this instance id"
    UNSUPPORTED_ASSIGNOR = 112, False, "the group does not support this assignor"
    STALE_MEMBER_EPOCH = 113, False, "the member has a newer epoch: try again with it"
    MISMATCHED_ENDPOINT_TYPE = 114, False, "the request went to the wrong kind of endpoint"
    UNSUPPORTED_ENDPOINT_TYPE = 115, False, "this kind of endpoint is not supported"
    UNKNOWN_CONTROLLER_ID = 116, False, "there is no such controller"
    UNKNOWN_SUBSCRIPTION_ID = 117, False, "the client's telemetry subscription is an old one"
    TELEMETRY_TOO_LARGE = 118, False, "the telemetry is larger than the broker takes"
    INVALID_REGISTRATION = 119, False, "the controller takes the broker's registration for invalid"
    TRANSACTION_ABORTABLE = 120, False, "the transaction can only be aborted now"
    INVALID_RECORD_STATE = 121, False, "the record is in a state that does not allow this acknowledgement"
    SHARE_SESSION_NOT_FOUND = 122, True, "there is no such share session"
    INVALID_SHARE_SESSION_EPOCH = 123, True, "the share session is at another epoch"
    FENCED_STATE_EPOCH = 124, False, "the share group's state has a newer epoch"
    INVALID_VOTER_KEY = 125, False, "the voter's key is not the receiver's"
    DUPLICATE_VOTER = 126, False, "the voter is one already"
    VOTER_NOT_FOUND = 127, False, "there is no such voter"
    INVALID_REGULAR_EXPRESSION = 128, False, "the regular expression is not valid"
    REBOOTSTRAP_REQUIRED = 129, False, "the client must start over from its bootstrap servers"
    STREAMS_INVALID_TOPOLOGY = 130, False, "the streams topology is not valid"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, False, "the streams topology's epoch is not valid"
    STREAMS_TOPOLOGY_FENCED = 132, False, "the streams topology's epoch is an old one"
    SHARE_SESSION_LIMIT_REACHED = 133, True, "the broker holds as many share sessions as it may"


NONE: Final = ErrorCode.NONE
"""A global, because it is used often: access takes a quarter of the time of an enum attribute (CPython 3.11)."""
