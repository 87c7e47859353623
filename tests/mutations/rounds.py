"""The tests that are run with mutants, in rounds."""

from typing import Final

CONNECTIONS: Final = ("slow_peers", "connection_rate", "descriptors", "rejection_log", "limits", "acceptor", "watchdog")
TESTS: Final = (
    (
        *("tests/core", "tests/runtime", "tests/groups", "tests/audit", "tests/front/handlers", "tests/node/handlers"),
        "--ignore=tests/core/assignors",
    ),
    ("tests/simulation/test_histories.py",),
    ("tests/transactions", "tests/test_patterns.py"),
    ("tests/log", "tests/explain", "tests/metrics/test_group_meter.py", "tests/pipeline/test_inferred.py"),
    ("tests/world/test_histories.py",),
    tuple(f"tests/front/test_{connection}.py" for connection in CONNECTIONS),
    ("tests/faults", "tests/testing", *(f"--ignore=tests/testing/{each}.py" for each in ("test_plugin", "test_http"))),
    (
        "tests/broker/data/test_append_notifier.py",
        "tests/broker/data/test_fetch_service.py",
        "tests/broker/test_log_cleaner.py",
        "tests/broker/test_retention.py",
        "tests/runtime/test_slices.py",
        "tests/broker/test_topics_service.py",
        "tests/front/test_bounds.py",
        "tests/broker/data/test_produce_rules.py",
        "tests/broker/data/test_produce_service.py",
        "tests/broker/data/test_recompression.py",
        "tests/broker/data/test_recompression_threads.py",
        "tests/broker/data/test_producers.py",
        "tests/wire/test_batch_validator.py",
        "tests/wire/test_compressed_frames.py",
        "tests/wire/test_snappy.py",
    ),
    (
        "tests/broker/directories/test_directory_assignment.py",
        "tests/broker/directories/test_directory_failures.py",
        "tests/broker/directories/test_replica_moves.py",
        "tests/broker/directories/test_replica_moves_crash.py",
        "tests/node/test_failing_log_dir.py",
    ),
    ("tests/quotas", *(f"tests/front/test_{each}.py" for each in ("throttling", "request_chain", "principals"))),
    ("tests/security/acls", "tests/front/test_denial_log.py", "tests/node/handlers/test_acls.py"),
    ("tests/front/test_authorization.py", "tests/differential/acls"),
    ("tests/metadata", "tests/kafka_folder", "tests/node/test_metadata_commits.py"),
    (
        *(
            "tests/config",
            "tests/security/tls",
            "tests/test_http_login.py",
            "tests/node/handlers/test_broker_configs.py",
        ),
        *("tests/front/test_listeners.py", "tests/front/test_tls_listeners.py"),
        *(f"tests/front/test_{each}.py" for each in ("tls_transport", "tls", "tls_handshakes")),
    ),
    (
        *(f"tests/broker/configs/test_{each}.py" for each in ("broker_configs", "config_changes", "dynamic_configs")),
        *("tests/node/test_settings_reload.py", "tests/cli/test_config.py", "tests/cli/test_reload_signal.py"),
    ),
    (
        *(f"tests/cluster/{each}" for each in ("groups", "log", "nodes", "handlers", "rights", "sentinels")),
        *(
            "tests/cluster/test_leads.py",
            "tests/cluster/test_lease_checks.py",
            "tests/cluster/test_lease_timer.py",
            "tests/cluster/test_held_groups.py",
        ),
    ),
    ("tests/cluster/simulation",),
    ("tests/security/sasl", "tests/front/test_logins.py", "tests/differential/logins"),
)
"""Fast ones first: the next round runs only for a mutant that no test of this one notices."""
