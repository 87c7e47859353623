import pytest

from coordinator.security.tls.pem import pem_blocks
from tests.certificates import server_identity


@pytest.mark.parametrize("between", ["\n", " ", "\r\n", "  \n\n "])
def test_a_block_may_be_in_one_line(between):
    plain = server_identity().certificate_pem
    assert pem_blocks(f"text before {between.join(plain.split(chr(10)))} and behind") == [("CERTIFICATE", plain)]


def test_blocks_are_named_and_in_order():
    text = server_identity().pem
    assert [kind for kind, _ in pem_blocks(text)] == ["PRIVATE KEY", "CERTIFICATE"]
    assert "".join(block for _, block in pem_blocks(text)) == text


def test_headers_of_a_block_are_kept_as_lines():
    ((_, block),) = pem_blocks("-----BEGIN X-----\nProc-Type: 4,ENCRYPTED\n\nabc\n-----END X-----")
    assert block.splitlines()[1:-1] == ["Proc-Type: 4,ENCRYPTED", "", "abc"]


@pytest.mark.parametrize("text", ["", "-----BEGIN X-----", "-----BEGIN X-----abc-----END Y-----", "-" * 100_000])
def test_what_is_no_block_is_left_out(text):
    assert pem_blocks(text) == []
