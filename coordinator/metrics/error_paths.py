"""Where the error codes of a response are, per API."""

from typing import Final

OWN: Final[tuple[str, ...]] = ()
"""The error code of the response itself."""

PATHS: Final[dict[int, tuple[tuple[str, ...], ...]]] = {
    0: (("responses", "partition_responses"),),
    1: (("responses", "partitions"), OWN),
    2: (("topics", "partitions"),),
    3: (("topics",), ("topics", "partitions"), OWN),
    8: (("topics", "partitions"),),
    9: (("topics", "partitions"), ("groups",), ("groups", "topics", "partitions"), OWN),
    10: (("coordinators",), OWN),
    11: (OWN,),
    12: (OWN,),
    13: (("members",), OWN),
    14: (OWN,),
    15: (("groups",),),
    16: (OWN,),
    17: (OWN,),
    18: (OWN,),
    19: (("topics",),),
    20: (("responses",),),
    21: (("topics", "partitions"),),
    22: (OWN,),
    23: (("topics", "partitions"),),
    24: (OWN,),
    25: (OWN,),
    26: (OWN,),
    27: (("markers", "topics", "partitions"),),
    28: (("topics", "partitions"),),
    29: (OWN,),
    30: (("results",),),
    31: (("filter_results",), ("filter_results", "matching_acls")),
    32: (("results",),),
    33: (("responses",),),
    34: (("results", "partitions"),),
    35: (("results",), OWN),
    36: (OWN,),
    37: (("results",),),
    38: (OWN,),
    39: (OWN,),
    40: (OWN,),
    41: (OWN,),
    42: (("results",),),
    43: (("replica_election_results", "partition_result"), OWN),
    44: (("responses",),),
    45: (("responses", "partitions"), OWN),
    46: (OWN,),
    47: (("topics", "partitions"), OWN),
    48: (OWN,),
    49: (("entries",),),
    50: (("results",), OWN),
    51: (("results",),),
    55: (("topics", "partitions"), OWN),
    57: (("results",), OWN),
    60: (OWN,),
    61: (("topics", "partitions"),),
    65: (("transaction_states",),),
    66: (OWN,),
    68: (OWN,),
    69: (("groups",),),
    74: (OWN,),
    75: (("topics",), ("topics", "partitions")),
}
"""API key → the lists that lead to the structs with an error code; that of the response itself comes last."""


def error_paths(api_key: int) -> tuple[tuple[str, ...], ...]:
    """The paths of an API, empty for one that is not served."""
    return PATHS.get(api_key, ())
