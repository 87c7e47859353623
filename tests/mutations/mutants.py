"""Ways to break the coordinator, one at a time. Each must be found by a test (`make mutate`)."""

from typing import Final

from tests.mutations import (
    audit,
    bounds,
    checks,
    compaction,
    connections,
    directories,
    exactly_once,
    explain,
    group_failures,
    group_state,
    handlers,
    membership,
    metadata,
    offsets,
    produce,
    quotas,
    rebalances,
    request_chain,
    runtime,
    storage,
    testkit,
    transactions,
)
from tests.mutations.mutant import Mutant

MUTANTS: Final[tuple[Mutant, ...]] = (
    *membership.MUTANTS,
    *rebalances.MUTANTS,
    *group_state.MUTANTS,
    *offsets.MUTANTS,
    *storage.MUTANTS,
    *audit.MUTANTS,
    *runtime.MUTANTS,
    *checks.MUTANTS,
    *handlers.MUTANTS,
    *connections.MUTANTS,
    *directories.MUTANTS,
    *group_failures.MUTANTS,
    *explain.MUTANTS,
    *testkit.MUTANTS,
    *produce.MUTANTS,
    *bounds.MUTANTS,
    *quotas.MUTANTS,
    *compaction.MUTANTS,
    *metadata.MUTANTS,
    *transactions.MUTANTS,
    *request_chain.MUTANTS,
    *exactly_once.MUTANTS,
)
