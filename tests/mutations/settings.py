"""Mutants of settings: where they come from, how they change while a server runs, and which ones may."""

from typing import Final

from tests.mutations.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        "what is set for all brokers counts before what is set for one",
        "Config._change",
        "for dynamic_source in reversed(DYNAMIC_SOURCES):",
        "for dynamic_source in DYNAMIC_SOURCES:",
    ),
    Mutant("a setting that changes is told to nobody", "Config._change", "call()", "pass"),
    Mutant(
        "settings that contradict each other count",
        "Config._change",
        "check_settings_together(after)",
        "",
    ),
    Mutant(
        "configs of brokers that are read-only can change",
        "check_broker_configs",
        "if fixed := [key for key in after if _is_read_only(key)]:",
        "if fixed := []:",
    ),
    Mutant(
        "configs of one broker can be set for all",
        "check_broker_configs",
        "if name == CLUSTER and (of_one",
        "if False and (of_one",
    ),
    Mutant(
        "the listeners of a running server can be set",
        "check_broker_configs",
        "after[key] != before.get(key) and _is_read_at_start(key)",
        "False",
    ),
    Mutant(
        "configs of brokers without end are stored",
        "_check_room",
        "if unknown > UNKNOWN_CONFIGS_MAX:",
        "if False:",
    ),
    Mutant(
        "what is stored for a broker counts after its next start only",
        "DynamicBrokerConfigs.change",
        "self._metadata.change_broker_configs(changes, now_ms, self._apply)",
        "self._metadata.change_broker_configs(changes, now_ms)",
    ),
    Mutant(
        "open logs keep the settings that they were opened with",
        "Partitions.settings_changed",
        "self._log_configs.clear()",
        "",
    ),
    Mutant(
        "a snapshot leaves the configs of brokers out",
        "MetadataImage.snapshot",
        "for name, configs in self.broker_configs.items():",
        "for name, configs in ():",
    ),
    Mutant(
        "variables of Kafka's scripts are settings",
        "setting_of_variable",
        "or variable in NO_SETTINGS",
        "",
    ),
    Mutant("a file counts before the environment", "understand", "merged |= layer", "merged = layer | merged"),
    Mutant(
        "listeners of controllers are opened",
        "_without_controllers",
        "if part.partition(",
        "if True or part.partition(",
    ),
    Mutant(
        "a setting that needs a restart is changed by a signal",
        "reload_settings",
        "for key, value in after.items() if key in changeable",
        "for key, value in after.items()",
    ),
    Mutant(
        "a server outlives its terminal",
        "ReloadSignal.received",
        "if self._had_terminal and not has_terminal():",
        "if False:",
    ),
)
