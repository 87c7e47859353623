"""Text in the form of PEM, as Kafka accepts it: also in one line, as in a value of a properties file."""

import re
from typing import Final

BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,40})-----(.*?)-----END \1-----", re.DOTALL)
LINE_CHARACTERS: Final = 64


def pem_blocks(text: str) -> list[tuple[str, str]]:
    """The blocks of a text: what each is called (`CERTIFICATE`), and itself, in lines of the usual length."""
    return [(kind, _block(kind, body)) for kind, body in BLOCK.findall(text)]


def _block(kind: str, body: str) -> str:
    if ":" in body:  # headers of an encrypted key, which are lines
        lines = body.strip().splitlines()
    else:
        encoded = "".join(body.split())
        lines = [encoded[at : at + LINE_CHARACTERS] for at in range(0, len(encoded), LINE_CHARACTERS)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----", ""])
