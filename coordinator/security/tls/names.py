"""Distinguished names in the form of RFC 2253, as Java writes them (X500Principal.getName), for `User:CN=…`."""

from collections.abc import Iterator
from typing import Final

from cryptography import x509

KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
"""Attributes that have a name in RFC 2253. Others are written as their number, with the value in hexadecimal."""
STRING_TAGS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString: what Java takes for text."""
ESCAPED: Final = frozenset(',=+<>#;"\\')


def distinguished_name(certificate: bytes) -> str:
    """The subject of a certificate in the form of DER.

    Raises:
        ValueError: it is no certificate.
    """
    subject = x509.load_der_x509_certificate(certificate).subject.public_bytes()
    return format_name(subject)


def format_name(name: bytes) -> str:
    """A name in the form of DER, whose structure was checked."""
    ((_, relative_names, _),) = _elements(name)
    return ",".join(reversed([_relative_name(value) for _, value, _ in _elements(relative_names)]))


def _relative_name(attributes: bytes) -> str:
    return "+".join(_attribute(content) for _, content, _ in _elements(attributes))


def _attribute(content: bytes) -> str:
    (_, oid, _), (tag, value, whole) = _elements(content)
    number = _dotted(oid)
    keyword = KEYWORDS.get(number)
    if keyword is None or tag not in STRING_TAGS:
        return f"{keyword or number}=#{whole.hex()}"
    return f"{keyword}={_escape(value.decode(errors='replace'))}"


def _escape(text: str) -> str:
    escaped = ["\\00" if char == "\0" else f"\\{char}" if char in ESCAPED else char for char in text]
    leading = len(text) - len(text.lstrip(" \r"))
    trailing = len(text) - len(text.rstrip(" \r"))
    for at in (*range(leading), *range(max(len(text) - trailing, leading), len(text))):
        escaped[at] = f"\\{text[at]}"
    return "".join(escaped)


def _elements(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The elements of DER one after the other: tag, content, and the whole."""
    at = 0
    while at < len(data):
        start, tag, length = at, data[at], data[at + 1]
        at += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[at : at + count])
            at += count
        yield tag, data[at : at + length], data[start : at + length]
        at += length


def _dotted(oid: bytes) -> str:
    numbers = []
    number = 0
    for byte in oid:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))
