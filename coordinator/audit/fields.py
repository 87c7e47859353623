"""The fields of an audit event before they are written."""

from typing import Any

Fields = dict[str, Any]
"""The fields of an event without those of the envelope, in the order of its struct.

A member may be a `KnownMember`, or any object with the attributes of `schema.MemberRef`. In a list of
`schema.MemberSnapshot`, a `KnownMember` stands for its snapshot.
"""
