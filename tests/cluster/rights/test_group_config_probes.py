"""Whether a client may see and alter the configs of a group."""

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult
from _wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from coordinator.cluster.rights.probes import Permission, probes_for
from coordinator.security.acls.model import SUPPORTED_OPERATIONS, AclOperation, ResourceType

GROUP = "billing"
ERRORS = pytest.mark.parametrize(
    ("error", "is_allowed"),
    [
        (ErrorCode.NONE, True),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, False),
        # A broker whose groups have no configs, so that nobody may do anything with them.
        (ErrorCode.INVALID_REQUEST, False),
    ],
)


def on_group(operation: AclOperation) -> Permission:
    return Permission(operation, ResourceType.GROUP, GROUP)


def test_each_operation_on_a_group_has_a_probe():
    operations = SUPPORTED_OPERATIONS[ResourceType.GROUP]
    assert len(probes_for(map(on_group, operations))) == len(operations)


@ERRORS
def test_configs_of_a_group_may_be_described(error: ErrorCode, is_allowed: bool):
    asked = on_group(AclOperation.DESCRIBE_CONFIGS)
    (probe,) = probes_for([asked])
    assert isinstance(probe.request, DescribeConfigsRequest)
    response = DescribeConfigsResponse(results=[DescribeConfigsResult(error_code=error, resource_name=GROUP)])
    assert probe.read(response) == {asked: is_allowed}


@ERRORS
def test_configs_of_a_group_may_be_altered(error: ErrorCode, is_allowed: bool):
    asked = on_group(AclOperation.ALTER_CONFIGS)
    (probe,) = probes_for([asked])
    assert isinstance(probe.request, IncrementalAlterConfigsRequest)
    assert probe.request.validate_only
    assert not probe.request.resources[0].configs
    changed = AlterConfigsResourceResponse(error_code=error, resource_name=GROUP)
    assert probe.read(IncrementalAlterConfigsResponse(responses=[changed])) == {asked: is_allowed}
