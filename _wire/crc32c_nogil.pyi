from _wire.structs import Buffer

def crc32c_of(data: Buffer, *, by_tables: bool = False) -> int:
    """CRC-32C of bytes; `by_tables` as on a processor without an instruction for it."""
