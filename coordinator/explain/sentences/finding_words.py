"""What a finding consists of in words."""

import msgspec


class FindingWords(msgspec.Struct, frozen=True):
    """`about` is the client or the topics that it is about, where a group may have the finding of several."""

    headline: str
    evidence: tuple[str, ...]
    advice: str
    about: str = ""
