"""What each warning and error line of the log means, and what to do: a column of docs/messages.md (make_messages.py).

The keys are the lines as make_messages.py shows them, `…` being what differs from one time to the next.
"""

from typing import Final

DEFECT: Final = (
    "A defect of the server: report it with the traceback that follows. What is named failed, and nothing else."
)
RETRIED: Final = "It is tried again by itself. Look at what `problem` names if it stays."
DISK: Final = "Look at the disk: `problem` has the words of the system. "
REPAIR: Final = "Run `coordinator log verify`, then `repair` while the server is stopped ([durability](durability.md))."
CLUSTER: Final = "The cluster or the network: the node tries again by itself. "

WATCHED: Final = "The Kafka that is watched, or the network: it is tried again by itself, and goes on where it was. "

ADVICE: Final = {
    # `coordinator watch`.
    "cannot watch; it is tried again": WATCHED + "`problem` names what fails.",
    "the Kafka that is watched is away; it is tried again": WATCHED + "Nothing is lost as long as its records are not "
    "compacted.",
    "records of groups may not be read: logs and polls are watched": "Give the user of --command-config READ on the "
    "topic __consumer_offsets, if you can: without it what happens between two polls is known from logs alone.",
    "groups cannot be polled; it is tried again": WATCHED + "Records and logs are followed meanwhile.",
    "polls lack a right; the rest goes on": "`right` would let the watcher see more: of what is in `of`.",
    "unhandled exception while polling groups; continuing with the next poll": DEFECT,
    "records of groups could not be read": "`problem` has the partition and its offsets. What they said is missing.",
    "a log could not be read as a whole": "`problem` says what is missing. Keep rotated files for longer than "
    "the watcher may be away, and let its user read them.",
    "more is held than can be: it is told in the order in which it was read": "A source is far behind the others: more "
    "CPU, or fewer groups (--group). Lines and records of the same thing may be told apart.",
    "cannot write what was seen; it is tried again": "The cluster that has the topic, or the network. Nothing more is "
    "read meanwhile, and nothing is lost.",
    # A node that watches groups of its cluster.
    "what passed of watched groups could not be kept": "The cluster does not take what this node saw as fast as it "
    "comes: more is not known of `lost` facts than what records tell. Clients do not notice.",
    "what a node saw cannot be read": "A node of a later version wrote it: use the same version for all nodes.",
    "what passes of a watched group cannot be read": DEFECT + " The bytes were passed on.",
    "unhandled exception in the watcher of the node; it begins again": DEFECT + " It goes on where it was.",
    # Defects.
    "unhandled exception in a request to the admin port": DEFECT,
    "unhandled exception in a delayed fetch": DEFECT,
    "unhandled exception while a share partition is loaded": DEFECT + " The fetch gets UNKNOWN_SERVER_ERROR.",
    "unhandled exception while a share partition is stored": DEFECT + " What was acknowledged is undone.",
    "unhandled exception while records of a share session are released": DEFECT
    + " They are available when their locks "
    "end.",
    "unhandled exception while records of share groups are reported": DEFECT
    + " The audit lacks `share.records` of an interval.",
    "unhandled exception while share fetches are woken": DEFECT + " They are answered at their `max_wait_ms`.",
    "the stored state of a share partition is invalid": "A record of `__share_group_state` that no version of this "
    "server or of Kafka writes. Reset the offsets of the share group: that begins a new state.",
    "unhandled exception in the log cleaner; continuing with the next check": DEFECT,
    "unhandled exception in the relay": DEFECT + " The connection of the client is closed.",
    "unhandled exception while reading the audit topic": DEFECT,
    "unhandled exception while reading the lag": DEFECT,
    "unhandled exception after a change of the metadata; continuing with the next change": DEFECT,
    "unhandled exception in operation": DEFECT + " The client gets UNKNOWN_SERVER_ERROR.",
    "unhandled exception in a batch; reloading the partition": DEFECT + " Clients of the partition try again.",
    "unhandled exception while sending a response": DEFECT,
    "unhandled exception in the group of the nodes; it is tried again": DEFECT,
    "unhandled exception in a heartbeat to the group of the nodes; it is tried again": DEFECT,
    "unhandled exception in a login": DEFECT + " The connection is closed.",
    "unhandled exception in an end-of-iteration step; continuing with the next step": DEFECT,
    "unhandled exception in a timer handler; the timer is lost": DEFECT,
    "unhandled exception in request": DEFECT + " The client gets an error.",
    "unhandled exception while writing a marker": DEFECT,
    "invariant violated; rebuilding the state of the key": DEFECT
    + " The group or transaction is rebuilt from its log.",
    "invariant violated while rebuilding the state of keys": DEFECT + " It is tried again after `retry_ms`.",
    "regular expressions of a group were not resolved": DEFECT,
    "a target assignment was not computed": DEFECT,
    # Disks and files.
    "partitions are in log directories that are offline": "Their directory is missing or broken: "
    "mount or replace it, and restart. The partitions answer KAFKA_STORAGE_ERROR until then.",
    "a log directory failed; it is offline until the next start, the others are served…": DISK
    + "Replace it, then restart.",
    "a log directory is offline; the others are served": DISK + "Restart when it can be used.",
    "cannot close a log directory": DISK,
    "a log cannot be compacted until the next start": "It grows meanwhile. " + REPAIR,
    "cannot compact a log; it is tried again later": DISK,
    "cannot store the checkpoint of the log cleaner": DISK + "More is compacted again after a restart.",
    "cannot check whether a log needs compaction": DISK,
    "cannot store the recovery points": DISK + "The next start reads more of the logs.",
    "cannot delete the logs of a topic; what is left is set aside at the next start": DISK,
    "cannot save a producer snapshot": DISK + "A start reads more of the log.",
    "cannot remove the former folder of a log": DISK + "Remove the folder by hand when the disk is well.",
    "cannot move a partition to another log directory; it stays where it is": DISK + "Ask for the move again.",
    "cannot end the moves of partitions": DISK + "Ask for the moves again.",
    "cannot remove a copy": DISK,
    "cannot delete the old segments of a log": DISK + "Nothing is lost; the log needs more room.",
    "cannot store the log start offsets; no segment is deleted": DISK,
    "cannot store the log start offsets; DeleteRecords fails": DISK,
    "cannot store a change of the metadata; nothing has changed": DISK + "The client was told so.",
    "cannot open a log; the others are served": DISK,
    "cannot append to a log; what is stored is still served": DISK + "A full disk is the usual reason.",
    "cannot read a log: look at its disk; what can be read is served": DISK,
    "cannot describe the log directory": DISK,
    "cannot write a marker": DISK + "The transaction ends when it can be written.",
    "cannot write a snapshot of the metadata log; it grows": DISK,
    "cannot recover a log": DISK + REPAIR,
    "cannot load partition": DISK + "It is tried again after `retry_ms`; groups of the partition wait until then.",
    "cannot append; reloading the partition": DISK + "Clients are answered COORDINATOR_NOT_AVAILABLE, and try again.",
    "cannot rebuild the state of keys": DISK + "It is tried again.",
    "cannot read the audit checkpoint; reading the audit topic from its start": "Nothing: the start takes longer.",
    "cannot write the audit checkpoint; the next start reads more of the audit topic": DISK,
    "a marker cannot be read": REPAIR,
    "a batch is damaged: what its producer wrote is not known": REPAIR,
    "a log is damaged; the bytes are left as they are (see: coordinator log repair)": "All other batches are served. "
    + REPAIR,
    "set aside a partition that no topic has; delete it if it is not needed": "Nothing reads this folder any more.",
    "coordinator epoch file is damaged; using the time of this start": "Nothing: it is written again.",
    "a checkpoint file is damaged and not used": "Nothing: the start does without it.",
    "the file with the id of a topic is damaged; it is written again": "Nothing.",
    "a checkpoint cannot be read; it is made again": "Nothing.",
    "cut the end of a log: an append that no fsync had made safe": "Usual after a kill or a power loss. With "
    "`log.flush.policy=always` nothing acknowledged is among it ([durability](durability.md)).",
    "removed a segment above the recovery point: the log ends before it": "Usual after a power loss.",
    "an index does not fit its log file; the segment is read": "Nothing: the index is made again.",
    "producer snapshot ignored": "Nothing: the log is read instead.",
    "an entry of an index does not fit its log file; it is left out": "Nothing: the log is read without it.",
    # The process and the machine.
    "event loop did not get CPU for … of … s": "Other processes have the CPU: give the server more of it.",
    "event loop blocked for … s": "`at` is where. Report it if no disk was slow at that time.",
    "event loop resumed": "The end of the line before.",
    "process was suspended for … s": "The process or the machine stood still. Members are not blamed for it.",
    "the wall clock was set; records and events have the new time, deadlines stay": "Nothing, if it is right.",
    "cannot notify systemd": "`reason` has the words of the system; the server goes on serving.",
    "coordinator checks are enabled; the server is slow": "Unset COORDINATOR_DEBUG.",
    "request failed without a file descriptor (ulimit -n)": "Raise `ulimit -n`.",
    "connection limit reached; accepting paused": "`reason` names the limit: raise it, or look at who has so many "
    "connections ([security](security.md)). Those that wait are accepted when others have gone.",
    "connection closed": "`reason` says what the client did; look at the client.",
    "connections of further clients closed": "As the line before, from `count` more addresses.",
    # Security.
    "security": "`problem` says what the settings leave open and what to set ([secure it](guides/secure-it.md)).",
    "other hosts may reach the admin port": "`lacks` says what protects it.",
    "certificate reload failed; keeping the current one": "Correct the file that `problem` names.",
    "JWKS key ignored": "Tokens that are signed with it are refused; the others are not.",
    "cannot read the keys for tokens": "Those read before stay in use. Look at `url`.",
    # Settings.
    "settings of Kafka that this server does not use": "Nothing: they have no effect here.",
    "unknown settings, not used": "Correct the names; the nearest ones that there are stand beside them.",
    "settings that this server uses otherwise": "`settings` says how. Look whether that is what you want.",
    "a config that was set for a broker is not used": "Set it again with a value that `problem` allows, or delete it.",
    "the configs that were set for a broker are not used": "They contradict what was given at the start: `problem`.",
    "configs are stored that nothing here reads": "Nothing: they have no effect here.",
    "changed log settings take effect in all logs after a restart": DISK,
    "settings have changed that need a restart": "Restart the server when it suits you.",
    "settings were set while the server runs, which counts before its file": "Delete the configs that were set for the "
    "broker (`kafka-configs --delete-config`) if the file shall count.",
    "SIGHUP before the start has ended: the settings are not read again": "Send it again when the server serves.",
    "the settings cannot be read again; nothing has changed": "Correct what `problem` names, and send SIGHUP again.",
    # Clients.
    "rejected: …": "A client asked for a change of a group that is too large for the log; it got an error.",
    "a group gets no new assignment": "`reason` names what does not fit into the log, or that an error is in the line "
    "before; members are told UNKNOWN_SERVER_ERROR. Raise `message.max.bytes` (`max.message.bytes` of "
    "`__consumer_offsets`), or subscribe to less; it is tried again after `retry_ms`.",
    "a share group gets no new assignment": "`reason` names what does not fit into the log, or that an error is in the "
    "line before. The next heartbeat of a member has it tried again.",
    "a streams group gets no new assignment": "`reason` names what does not fit into the log, or that an error is in "
    "the line before. The next heartbeat of a member has it tried again.",
    "a streams target assignment was not computed": "A defect: report it with the lines of the log.",
    "states of a share group were not initialized": "`error` is that of the share coordinator; the next heartbeat of a "
    "member has it tried again. Until then members are not assigned these partitions.",
    "a share target assignment was not computed": "A defect: report it with the lines of the log.",
    "a regular expression matches no topic": "A Kafka stored it, and RE2 does not accept it: `reason`.",
    "cannot write the markers of a transaction, which does not end until then": "It is tried again after `retry_ms`. "
    "`first` and `error` name the first partition that refused it.",
    # Nodes in front of a cluster.
    "node ended; starting it again": "The lines before say why it ended.",
    "the topics of the cluster are not known": CLUSTER,
    "the topics of the cluster are not listed": CLUSTER + "Until then regular expressions find no new topics.",
    "the configs of groups are not known": CLUSTER + "Until then groups have the settings that they had.",
    "the node may not read configs of groups": "Give the user of the node DESCRIBE_CONFIGS on the groups that it "
    "coordinates: until then they have the settings of the node.",
    "the names of topics are not known by their ids": CLUSTER
    + "Until then requests that name topics by id are answered COORDINATOR_NOT_AVAILABLE.",
    "group has members at the cluster, and the nodes own it, too: stop these clients, and set their bootstrap.servers "
    "to the nodes": "Do that: partitions may have two owners ([in front of a Kafka](cluster.md)).",
    "group stays with the cluster until its members there have left: set their bootstrap.servers to the nodes": "Set "
    "it, and stop them once.",
    "the groups of the cluster are not known now": CLUSTER,
    "another node leads the partition": "Nothing: the node has given the partition up.",
    "all partitions given up": "`reason` says why; the node takes partitions again when the cluster confirms it.",
    "append not acknowledged; trying again": CLUSTER,
    "no new producer epoch": CLUSTER,
    "heartbeat to the group of the nodes failed; it is sent again": CLUSTER,
    "the cluster's answer about a group is too large": "The group has committed offsets with more than 100 MiB of "
    "metadata: its clients get UNKNOWN_SERVER_ERROR. Let them store less, or ask for some partitions.",
    "the cluster's answer about a group cannot be decoded": "Its clients get UNKNOWN_SERVER_ERROR. If it stays, a "
    "broker answers what its version does not have: report it with `problem`.",
    "cannot leave the group of the nodes; they notice it later": "Nothing: its session ends.",
    "the group of the nodes cannot be reached": CLUSTER,
    "a member of the group of the nodes is no node": "Another client uses `cluster.nodes.group.id`: stop it, and take "
    "READ of that group away from it. Or a node has another `cluster.nodes.secret`, or user of the brokers.",
    "the leader of the group of the nodes is no node, or has another secret (cluster.nodes.secret)": "As for a member. "
    "The node has it removed from the group, and leads nothing until then.",
    "the cluster refuses this node in the group of the nodes": "`error` says why; often a right that is missing "
    "([what nodes need](cluster.md#what-you-need)).",
    "another node cannot be reached": "Look whether it runs, and at the network between the nodes.",
    "brokers without a port": "Free the port that `problem` names, or set `cluster.broker.port.base`.",
    "connection to broker closed": CLUSTER + "The client connects again.",
    "broker cannot be reached; its client is disconnected": CLUSTER + "The client connects again.",
    "sentinel cannot join its group at the cluster": CLUSTER,
    "no heartbeat of a sentinel": CLUSTER,
    "group cannot be given back now": RETRIED,
    # The live page.
    "cannot read the tables": "The page does without their history. Correct what is named, and restart it.",
}
