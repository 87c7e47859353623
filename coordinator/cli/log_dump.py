"""`coordinator log dump`: the batches and records of logs, much as Kafka's DumpLogSegments prints them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from _wire.embedded import decode_key, decode_value, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages import RECORD_MODULES
from _wire.records import BatchHeader, Record, parse_records
from _wire.structs import Struct
from coordinator.cli.terminal import INTERRUPTED
from coordinator.config.key import INT64_MAX
from coordinator.config.password import HIDDEN
from coordinator.log.config import LogConfig
from coordinator.log.names import METADATA_LOG, folder_name
from coordinator.log.partition.read_only import ReadOnlyFileSystem
from coordinator.log.recovery.damage import Damage, scan
from coordinator.log.recovery.verify import stored_partitions
from coordinator.log.segments.files import base_offsets as base_offsets_of
from coordinator.log.segments.segment import Segment
from coordinator.printable import printable

BYTES_SHOWN: Final = 200
SCRAM_CREDENTIAL_KIND: Final = "scram_credential"
SCRAM_SECRETS: Final = ("salt", "stored_key", "server_key")
"""Of `coordinator.metadata.records.ScramCredentialRecord`."""
UNKNOWN_RECORD_TYPE: Final = "unknownRecordType"
"""The field that takes the place of the key's name if no format of the topic has the type of a record."""


@click.command("dump")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--topic", metavar="TOPIC", help="Only this topic.")
@click.option("--partition", metavar="N", type=click.IntRange(min=0), help="Only this partition of it.")
@click.option("--offset", metavar="N", type=click.IntRange(min=0), default=0, help="From this offset on.")
@click.option("--batches", "only_batches", is_flag=True, help="Without the records.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per batch.")
def command(
    folder: Path, topic: str | None, partition: int | None, offset: int, only_batches: bool, as_json: bool
) -> None:
    """Print the batches and records of logs.

    Records of __consumer_offsets, __transaction_state and __cluster_metadata are decoded. Nothing is written or
    locked, so a server may run.
    """
    if topic is None and (partition is not None or offset):
        raise click.UsageError("--partition and --offset need --topic")
    fs = ReadOnlyFileSystem()
    try:
        keys = [key for key in stored_partitions(fs, folder) if topic in (None, key[0]) and partition in (None, key[1])]
        if not keys:
            raise click.ClickException(f"{folder} has no such partition")
        for key in keys:
            for line in _log(fs, folder, key, offset, only_batches, as_json):
                click.echo(line)
    except OSError as problem:
        raise click.ClickException(printable(str(problem))) from problem
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _log(
    fs: ReadOnlyFileSystem, folder: Path, key: tuple[str, int], from_offset: int, only_batches: bool, as_json: bool
) -> Iterator[str]:
    bases = base_offsets_of(fs, folder / folder_name(*key))
    for number, base_offset in enumerate(bases):
        is_last = number + 1 == len(bases)
        if not is_last and bases[number + 1] <= from_offset:
            continue
        segment = Segment(fs, folder / folder_name(*key), base_offset, LogConfig())
        try:
            if not as_json:
                yield f"Dumping {segment.log_path.relative_to(folder)}"
            highest = INT64_MAX if is_last else bases[number + 1]
            end = segment.file_size()
            found = scan(segment, 0, end, base_offset, next_base_offset=highest, may_have_gaps=not is_last)
            for item in found:
                if isinstance(item, Damage):
                    yield _damage(item, key, as_json)
                elif item.header.last_offset >= from_offset:
                    data = segment.read_exactly(item.position, item.header.size_in_bytes)
                    records = [] if only_batches else _records(data)
                    if as_json:
                        yield json.dumps(_batch_json(key, item.position, item.header, records))
                    else:
                        yield _batch_line(item.position, item.header)
                        yield from (_record_line(key[0], item.header, record) for record in records)
        finally:
            segment.close()


def _records(batch: bytes) -> list[Record]:
    try:
        return parse_records(batch)
    except MalformedMessage:
        return []  # its checksum is right, so this is how it was written; the line of the batch tells its size


def _damage(damage: Damage, key: tuple[str, int], as_json: bool) -> str:
    if as_json:
        found = {
            "topic": key[0],
            "partition": key[1],
            "position": damage.position,
            "size": damage.size_bytes,
            "offset": damage.first_offset,
            "problem": damage.why,
            "isvalid": False,
        }
        return json.dumps(found)
    return (
        f"baseOffset: {damage.first_offset} position: {damage.position} size: {damage.size_bytes}"
        f" isvalid: false problem: {printable(damage.why)}"
    )


def _batch_fields(position: int, header: BatchHeader) -> dict[str, Any]:
    horizon = header.delete_horizon_ms
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizonMs": "OptionalLong.empty" if horizon is None else f"OptionalLong[{horizon}]",
        "position": position,
        header.timestamp_type: header.max_timestamp_ms,
        "size": header.size_in_bytes,
        "magic": header.magic,
        "compresscodec": header.compression,
        "crc": header.crc,
        "isvalid": True,
    }


def _batch_line(position: int, header: BatchHeader) -> str:
    fields = _batch_fields(position, header)
    return " ".join(
        f"{name}: {str(field).lower() if isinstance(field, bool) else field}" for name, field in fields.items()
    )


def _record_line(topic: str, header: BatchHeader, record: Record) -> str:
    names = ",".join(printable(name) for name, _ in record.headers)
    sizes = f"keySize: {_size(record.key)} valueSize: {_size(record.value)}"
    key, value = decoded(topic, header, record)
    shown = "".join(
        f" {name}: {content if isinstance(content, str) else json.dumps(content)}"
        for name, content in (("key", key), ("payload", value))
        if content is not None
    )
    return (
        f"| offset: {record.offset} {header.timestamp_type}: {record.timestamp_ms} {sizes} headerKeys: [{names}]{shown}"
    )


def _batch_json(key: tuple[str, int], position: int, header: BatchHeader, records: list[Record]) -> dict[str, Any]:
    fields = {"topic": key[0], "partition": key[1], **_batch_fields(position, header)}
    fields["deleteHorizonMs"] = header.delete_horizon_ms
    fields["records"] = []
    for record in records:
        record_key, value = decoded(key[0], header, record)
        headers = [[name, None if text is None else _text(text)] for name, text in record.headers]
        fields["records"].append(
            {
                "offset": record.offset,
                "timestamp": record.timestamp_ms,
                "headers": headers,
                "key": record_key,
                "payload": value,
            }
        )
    return fields


def decoded(topic: str, header: BatchHeader, record: Record) -> tuple[Any, Any]:
    """Key and value of a record: fields as a dict where the format is known, else text; None where there is none."""
    text = _text_or_none(record.key), _text_or_none(record.value)
    if topic == METADATA_LOG:
        try:
            value = json.loads(record.value or b"null")
            return None, printable(value) if isinstance(value, str) else _without_secrets(value)
        except (ValueError, RecursionError):
            return text
    if topic not in RECORD_MODULES or header.is_control or record.key is None:
        return text
    try:
        key = decode_key(record.key, topic)
    except MalformedMessage:
        return text
    if key is None:
        return {UNKNOWN_RECORD_TYPE: prefix_of(record.key), "key": text[0]}, text[1]
    try:
        value = None if record.value is None else fields_of(decode_value(key, record.value))
    except MalformedMessage:
        value = text[1]
    return {type(key).NAME: fields_of(key)}, value


def _without_secrets(value: Any) -> Any:
    """A record of the metadata log, without what passwords can be tried with."""
    if isinstance(value, dict) and value.get("kind") == SCRAM_CREDENTIAL_KIND:
        return value | dict.fromkeys(SCRAM_SECRETS, HIDDEN)
    return value


def fields_of(message: Any) -> Any:
    """A message as dicts, lists, texts and numbers."""
    if isinstance(message, Struct):
        return {name: fields_of(getattr(message, name)) for name in type(message).FIELDS}
    if isinstance(message, list | tuple):
        return [fields_of(element) for element in message]
    if isinstance(message, bytes | bytearray | memoryview):
        return bytes(message).hex()
    return message


def _text_or_none(data: bytes | None) -> str | None:
    return None if data is None else _text(data)


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data[:BYTES_SHOWN].hex() + ("…" if len(data) > BYTES_SHOWN else "")
    return printable(text)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)
