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
    18: (OWN,),
    19: (("topics",),),
    20: (("responses",),),
    21: (("topics", "partitions"),),
    22: (OWN,),
    23: (("topics", "partitions"),),
    32: (("results",),),
    33: (("responses",),),
    37: (("results",),),
    42: (("results",),),
    44: (("responses",),),
    47: (("topics", "partitions"), OWN),
    48: (OWN,),
    49: (("entries",),),
    60: (OWN,),
}
"""API key → the lists that lead to the structs with an error code; that of the response itself comes last."""


def error_paths(api_key: int) -> tuple[tuple[str, ...], ...]:
    """The paths of an API, empty for one that is not served."""
    return PATHS.get(api_key, ())
