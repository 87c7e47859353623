//! The driver of rust-rdkafka (librdkafka). See interop/README.md for the contract.

use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::util::get_rdkafka_version;
use serde_json::{json, Map, Value};
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const POLL: Duration = Duration::from_millis(100);
const TOKEN: Duration = Duration::from_secs(600); // how long a token is taken for valid
const CAN: [&str; 14] = [
    "pattern",
    "static",
    "subscribe",
    "max-poll",
    "range",
    "roundrobin",
    "cooperative-sticky",
    "consumer-protocol",
    "ssl",
    "ssl-client-auth",
    "plain",
    "scram-sha-256",
    "scram-sha-512",
    "oauthbearer",
];
/// The settings of librdkafka for the field `security` of a command, but for tokens.
const SECURITY: [(&str, &str); 6] = [
    ("ca", "ssl.ca.location"),
    ("certificate", "ssl.certificate.location"),
    ("key", "ssl.key.location"),
    ("mechanism", "sasl.mechanism"),
    ("username", "sasl.username"),
    ("password", "sasl.password"),
];

type Where = (String, i32);

fn emit(event: &str, mut fields: Value) {
    fields["event"] = json!(event);
    let mut output = std::io::stdout().lock();
    writeln!(output, "{fields}").and_then(|()| output.flush()).expect("stdout is open");
}

fn failed(member: &str, during: &str, error: &str, message: &str, fatal: bool) {
    emit(
        "failed",
        json!({"member": member, "during": during, "error": error, "message": message, "fatal": fatal}),
    );
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")
}

fn positions<'a>(offsets: impl Iterator<Item = (&'a Where, i64)>) -> Value {
    let mut topics: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for ((topic, index), offset) in offsets {
        topics.entry(topic).or_default().insert(index.to_string(), json!(offset));
    }
    json!(topics)
}

/// Tells what a member gains and loses, and has the token that it logs in with.
struct Listener {
    member: String,
    token: String,
}

impl Listener {
    fn tell(&self, event: &str, partitions: &TopicPartitionList) {
        let mut topics: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for each in partitions.elements() {
            topics.entry(each.topic().to_string()).or_default().push(each.partition());
        }
        let time_ms = since_epoch().as_millis() as u64;
        emit(event, json!({"member": self.member, "partitions": topics, "time_ms": time_ms}));
    }
}

impl ClientContext for Listener {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn log(&self, level: rdkafka::config::RDKafkaLogLevel, facility: &str, text: &str) {
        if level as i32 <= rdkafka::config::RDKafkaLogLevel::Error as i32 {
            eprintln!("{facility} {text}");
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        eprintln!("{error}: {reason}");
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        let lifetime_ms = (since_epoch() + TOKEN).as_millis() as i64;
        // The server takes the name from the token.
        Ok(OAuthToken { token: self.token.clone(), principal_name: self.member.clone(), lifetime_ms })
    }
}

impl ConsumerContext for Listener {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Revoke(partitions) = rebalance {
            let event = if consumer.assignment_lost() { "lost" } else { "revoked" };
            self.tell(event, partitions);
        }
    }

    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if let Rebalance::Assign(partitions) = rebalance {
            self.tell("assigned", partitions);
        }
    }
}

struct Member {
    name: String,
    consumer: BaseConsumer<Listener>,
    read: HashMap<Where, i64>,
    paused: bool,
}

fn number(options: &Value, name: &str, otherwise: u64) -> u64 {
    options[name].as_u64().unwrap_or(otherwise)
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().map(|each| each.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

fn secure(settings: &mut ClientConfig, security: &Value) {
    let Some(protocol) = security["protocol"].as_str() else { return };
    settings.set("security.protocol", protocol.to_lowercase());
    for (field, name) in SECURITY {
        if let Some(value) = security[field].as_str() {
            settings.set(name, value);
        }
    }
}

impl Member {
    fn open(name: &str, options: &Value) -> Result<Member, KafkaError> {
        let session_ms = number(options, "session_timeout_ms", 10_000);
        let assignors = names(&options["assignors"]);
        let mut settings = ClientConfig::new();
        settings
            .set("bootstrap.servers", options["bootstrap"].as_str().unwrap_or_default())
            .set("group.id", options["group"].as_str().unwrap_or_default())
            .set("client.id", options["client_id"].as_str().unwrap_or(name))
            .set("auto.offset.reset", "earliest")
            .set("enable.auto.commit", "false")
            .set("max.poll.interval.ms", number(options, "max_poll_interval_ms", 300_000).max(session_ms).to_string())
            .set("topic.metadata.refresh.interval.ms", number(options, "metadata_max_age_ms", 300_000).to_string())
            .set("reconnect.backoff.ms", "20")
            .set("reconnect.backoff.max.ms", "200");
        if options["protocol"] == "consumer" {
            settings.set("group.protocol", "consumer");
            if let Some(assignor) = options["server_assignor"].as_str() {
                settings.set("group.remote.assignor", assignor);
            }
        } else {
            settings
                .set("session.timeout.ms", session_ms.to_string())
                .set("heartbeat.interval.ms", number(options, "heartbeat_interval_ms", 500).to_string())
                .set(
                    "partition.assignment.strategy",
                    if assignors.is_empty() { "range".to_string() } else { assignors.join(",") },
                );
        }
        if let Some(instance) = options["instance_id"].as_str() {
            settings.set("group.instance.id", instance);
        }
        let security = &options["security"];
        secure(&mut settings, security);
        let token = security["token"].as_str().unwrap_or_default().to_string();
        let consumer: BaseConsumer<Listener> =
            settings.create_with_context(Listener { member: name.to_string(), token })?;
        match options["pattern"].as_str() {
            Some(pattern) => consumer.subscribe(&[&format!("^{}", pattern.trim_start_matches('^'))])?,
            None => consumer.subscribe(&names(&options["topics"]))?,
        }
        Ok(Member { name: name.to_string(), consumer, read: HashMap::new(), paused: false })
    }

    fn poll(&mut self) -> Result<(), KafkaError> {
        if self.paused {
            thread::sleep(POLL);
            return Ok(());
        }
        match self.consumer.poll(POLL) {
            None => Ok(()),
            Some(Ok(message)) => {
                let here = (message.topic().to_string(), message.partition());
                let (first, next) = (message.offset(), message.offset() + 1);
                emit(
                    "records",
                    json!({
                        "member": self.name,
                        "positions": positions([(&here, next)].into_iter()),
                        "from": positions([(&here, first)].into_iter()),
                        "count": 1,
                    }),
                );
                self.read.insert(here, next);
                Ok(())
            }
            Some(Err(problem)) => match problem.rdkafka_error_code() {
                Some(
                    RDKafkaErrorCode::UnknownTopicOrPartition
                    | RDKafkaErrorCode::BrokerTransportFailure
                    | RDKafkaErrorCode::AllBrokersDown
                    | RDKafkaErrorCode::Resolve,
                ) => Ok(()),
                _ => Err(problem),
            },
        }
    }

    fn commit(&mut self) -> Result<(), KafkaError> {
        let mut offsets = TopicPartitionList::new();
        let mut committed: HashMap<Where, i64> = HashMap::new();
        for each in self.consumer.assignment()?.elements() {
            let here = (each.topic().to_string(), each.partition());
            if let Some(&offset) = self.read.get(&here) {
                offsets.add_partition_offset(each.topic(), each.partition(), Offset::Offset(offset))?;
                committed.insert(here, offset);
            }
        }
        self.consumer.commit(&offsets, CommitMode::Sync)?;
        let told = positions(committed.iter().map(|(here, &offset)| (here, offset)));
        emit("committed", json!({"member": self.name, "positions": told}));
        Ok(())
    }

    /// Obey a command; false when the member is over.
    fn obey(&mut self, command: &Value) -> bool {
        let what = command["do"].as_str().unwrap_or_default();
        let done = match what {
            "pause" | "resume" => {
                self.paused = what == "pause";
                Ok(())
            }
            "subscribe" => self.consumer.subscribe(&names(&command["topics"])),
            "commit" => self.commit(),
            "leave" => return false,
            _ => {
                failed(&self.name, what, "unknown command", what, false);
                Ok(())
            }
        };
        self.report(what, done)
    }

    fn report(&self, during: &str, done: Result<(), KafkaError>) -> bool {
        let Err(problem) = done else { return true };
        let fatal = self.consumer.client().fatal_error().is_some();
        let code = problem.rdkafka_error_code().map_or("KafkaError".to_string(), |code| format!("{code:?}"));
        failed(&self.name, during, &code, &problem.to_string(), fatal);
        !fatal
    }
}

fn serve(name: String, options: Value, commands: Receiver<Value>) {
    let mut member = match Member::open(&name, &options) {
        Ok(member) => member,
        Err(problem) => return failed(&name, "start", "KafkaError", &problem.to_string(), true),
    };
    loop {
        for command in commands.try_iter() {
            if !member.obey(&command) {
                let left = command["do"] == "leave";
                drop(member); // closes it
                if left {
                    emit("left", json!({"member": name}));
                }
                return;
            }
        }
        let done = member.poll();
        if !member.report("poll", done) {
            return;
        }
    }
}

fn main() {
    emit("ready", json!({"client": "rdkafka", "version": format!("0.39.0 (librdkafka {})", get_rdkafka_version().1), "can": CAN}));
    let mut members: HashMap<String, Sender<Value>> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let command: Value = serde_json::from_str(&line).expect("a command is a line of JSON");
        let name = command["member"].as_str().unwrap_or_default().to_string();
        if command["do"] == "start" {
            let (sender, receiver) = channel();
            members.insert(name.clone(), sender);
            thread::spawn(move || serve(name, command, receiver));
        } else if members.get(&name).is_none_or(|sender| sender.send(command.clone()).is_err()) {
            failed(&name, command["do"].as_str().unwrap_or_default(), "unknown member", &name, false);
        }
    }
    std::process::exit(0);
}
