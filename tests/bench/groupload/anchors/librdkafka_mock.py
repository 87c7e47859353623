"""librdkafka's mock cluster on a port of its own choosing, for other clients.

Needs confluent-kafka, for the library that it brings.

python librdkafka_mock.py      # prints HOST:PORT VERSION, then serves until it is ended
"""

import ctypes
import glob
import os
import signal

import confluent_kafka

FOLDER = os.path.join(os.path.dirname(confluent_kafka.__file__), "..", "confluent_kafka.libs")
RD_KAFKA_PRODUCER = 0

lib = ctypes.CDLL(glob.glob(os.path.join(FOLDER, "librdkafka*"))[0])
pointer = ctypes.c_void_p
lib.rd_kafka_conf_new.restype = pointer
lib.rd_kafka_new.restype = pointer
lib.rd_kafka_new.argtypes = [ctypes.c_int, pointer, ctypes.c_char_p, ctypes.c_size_t]
lib.rd_kafka_mock_cluster_new.restype = pointer
lib.rd_kafka_mock_cluster_new.argtypes = [pointer, ctypes.c_int]
lib.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
lib.rd_kafka_mock_cluster_bootstraps.argtypes = [pointer]
lib.rd_kafka_mock_topic_create.argtypes = [pointer, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
lib.rd_kafka_mock_group_initial_rebalance_delay_ms.argtypes = [pointer, ctypes.c_int32]
lib.rd_kafka_version_str.restype = ctypes.c_char_p

reason = ctypes.create_string_buffer(512)
handle = lib.rd_kafka_new(RD_KAFKA_PRODUCER, lib.rd_kafka_conf_new(), reason, len(reason))
if not handle:
    raise SystemExit(f"rd_kafka_new: {reason.value.decode()}")
cluster = lib.rd_kafka_mock_cluster_new(handle, 1)
lib.rd_kafka_mock_topic_create(cluster, b"groupload", 10, 1)
lib.rd_kafka_mock_group_initial_rebalance_delay_ms(cluster, 0)
print(lib.rd_kafka_mock_cluster_bootstraps(cluster).decode(), lib.rd_kafka_version_str().decode(), flush=True)
signal.pause()
