//! The driver of kafrust (Rust, without librdkafka). See interop/README.md for the contract.

use kafrust::{
    BrokerErrorKind, ConsumerGroup, ConsumerGroupAssignmentStrategy as Strategy, ConsumerGroupConfig, ConsumerGroupHeartbeat, Error, OffsetResetPolicy,
    RebalanceEvent, RebalancePhase, SecurityProtocol,
};
use rustls_pki_types::{pem::PemObject, CertificateDer};
use serde_json::{json, Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, Write};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const PAUSE: Duration = Duration::from_millis(100);
/// It has no certificates of clients.
const CAN: [&str; 10] = [
    "static",
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "ssl",
    "plain",
    "scram-sha-256",
    "scram-sha-512",
    "oauthbearer",
];

type Where = (String, i32);

fn emit(event: &str, mut fields: Value) {
    fields["event"] = json!(event);
    let mut output = std::io::stdout().lock();
    writeln!(output, "{fields}").and_then(|()| output.flush()).expect("stdout is open");
}

fn failed(member: &str, during: &str, problem: &Error, fatal: bool) {
    let error = format!("{problem:?}").split([' ', '(', '{']).next().unwrap_or_default().to_string();
    let message = problem.to_string();
    emit(
        "failed",
        json!({"member": member, "during": during, "error": error, "message": message, "fatal": fatal}),
    );
}

fn positions<'a>(offsets: impl Iterator<Item = (&'a Where, &'a i64)>) -> Value {
    let mut topics: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for ((topic, index), offset) in offsets {
        topics.entry(topic).or_default().insert(index.to_string(), json!(offset));
    }
    json!(topics)
}

/// Tells what a member gains and loses. kafrust tells all partitions before and after each rebalance.
struct Listener {
    member: String,
    cooperative: bool,
    owned: Mutex<BTreeSet<Where>>,
}

impl Listener {
    fn hear(&self, event: &RebalanceEvent<'_>) {
        let told: BTreeSet<Where> =
            event.assignments().iter().map(|each| (each.topic().to_string(), each.partition())).collect();
        let mut owned = self.owned.lock().expect("no thread panics with it");
        if event.phase() == RebalancePhase::After {
            self.tell("revoked", owned.difference(&told));
            self.tell("assigned", told.difference(&owned));
            *owned = told;
        } else if !self.cooperative {
            self.tell("revoked", owned.iter());
            owned.clear();
        }
    }

    fn tell<'a>(&self, event: &str, partitions: impl Iterator<Item = &'a Where>) {
        let mut topics: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
        for (topic, index) in partitions {
            topics.entry(topic).or_default().push(*index);
        }
        // kafrust tells an assignment again when it has looked up the offsets, and then nothing has changed.
        if topics.is_empty() {
            return;
        }
        let time_ms = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64;
        emit(event, json!({"member": self.member, "partitions": topics, "time_ms": time_ms}));
    }
}

struct Member {
    name: String,
    group: ConsumerGroup,
    heartbeat: ConsumerGroupHeartbeat,
    read: HashMap<Where, i64>,
    paused: bool,
}

fn text<'a>(options: &'a Value, name: &str) -> &'a str {
    options[name].as_str().unwrap_or_default()
}

fn secure(config: ConsumerGroupConfig, security: &Value) -> ConsumerGroupConfig {
    let protocol = match text(security, "protocol") {
        "" => return config,
        "SSL" => SecurityProtocol::Tls,
        _ => SecurityProtocol::SaslTls,
    };
    let authorities = CertificateDer::pem_file_iter(text(security, "ca")).expect("the file of authorities is there");
    let config = authorities.fold(config.security_protocol(protocol), |config, each| {
        config.tls_root_certificate_der(each.expect("it has the form of PEM").to_vec())
    });
    let (user, password) = (text(security, "username"), text(security, "password"));
    match text(security, "mechanism") {
        "PLAIN" => config.sasl_plain(user, password),
        "SCRAM-SHA-256" => config.sasl_scram_sha_256(user, password),
        "SCRAM-SHA-512" => config.sasl_scram_sha_512(user, password),
        "OAUTHBEARER" => config.sasl_oauthbearer(text(security, "token")),
        _ => config,
    }
}

fn config(name: &str, options: &Value) -> ConsumerGroupConfig {
    let strategy = match options["assignors"][0].as_str().unwrap_or("range") {
        "roundrobin" => Strategy::RoundRobin,
        "sticky" => Strategy::Sticky,
        "cooperative-sticky" => Strategy::CooperativeSticky,
        _ => Strategy::Range,
    };
    let listener = Listener {
        member: name.to_string(),
        cooperative: matches!(strategy, Strategy::CooperativeSticky),
        owned: Mutex::new(BTreeSet::new()),
    };
    let mut config = ConsumerGroupConfig::new([text(options, "bootstrap")], text(options, "group"))
        .client_id(options["client_id"].as_str().unwrap_or(name))
        .session_timeout_ms(options["session_timeout_ms"].as_i64().unwrap_or(10_000) as i32)
        .rebalance_timeout_ms(options["max_poll_interval_ms"].as_i64().unwrap_or(300_000) as i32)
        .offset_reset_policy(OffsetResetPolicy::Earliest)
        .max_wait_ms(100)
        .assignment_strategy(strategy)
        .rebalance_listener(move |event: RebalanceEvent<'_>| listener.hear(&event));
    if let Some(instance) = options["instance_id"].as_str() {
        config = config.group_instance_id(instance);
    }
    config = secure(config, &options["security"]);
    let topics = options["topics"].as_array().cloned().unwrap_or_default();
    topics.iter().filter_map(Value::as_str).fold(config, |config, topic| config.subscribe(topic))
}

impl Member {
    async fn open(name: &str, options: &Value) -> Result<Member, Error> {
        let group = config(name, options).join().await?;
        let interval = Duration::from_millis(options["heartbeat_interval_ms"].as_u64().unwrap_or(500));
        let heartbeat = group.spawn_heartbeat_task(interval).await?;
        Ok(Member { name: name.to_string(), group, heartbeat, read: HashMap::new(), paused: false })
    }

    async fn poll(&mut self) -> Result<(), Error> {
        if self.paused {
            tokio::time::sleep(PAUSE).await;
            return Ok(());
        }
        let records = self.group.poll_with_heartbeat(&mut self.heartbeat).await?;
        let (mut first, mut then) = (BTreeMap::new(), BTreeMap::new());
        for record in &records {
            let here = (record.topic().to_string(), record.partition());
            first.entry(here.clone()).or_insert(record.offset());
            then.insert(here, record.offset() + 1);
        }
        if !records.is_empty() {
            emit(
                "records",
                json!({
                    "member": self.name,
                    "positions": positions(then.iter()),
                    "from": positions(first.iter()),
                    "count": records.len(),
                }),
            );
            self.read.extend(then);
        }
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        self.group.commit_offsets().await?;
        let owned = self.group.assignments().iter().map(|each| (each.topic().to_string(), each.partition()));
        let committed: BTreeMap<Where, i64> =
            owned.filter_map(|here| self.read.get(&here).map(|&offset| (here, offset))).collect();
        emit("committed", json!({"member": self.name, "positions": positions(committed.iter())}));
        Ok(())
    }
}

fn is_fenced(problem: &Error) -> bool {
    problem.broker_error_kind() == Some(BrokerErrorKind::FencedInstanceId)
}

async fn serve(name: String, options: Value, commands: Receiver<Value>) {
    // To try again when the connection breaks, or a partition has no leader yet, is left to the application.
    let mut member = loop {
        match Member::open(&name, &options).await {
            Ok(member) => break member,
            Err(problem) => {
                let passes = problem.broker_error_kind().is_some_and(|kind| kind.is_produce_retryable());
                let fatal = !passes && !matches!(problem, Error::Io(_) | Error::RequestTimedOut { .. });
                failed(&name, "start", &problem, fatal);
                if fatal {
                    return;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
    };
    loop {
        for command in commands.try_iter() {
            match text(&command, "do") {
                "pause" => member.paused = true,
                "resume" => member.paused = false,
                "commit" => {
                    if let Err(problem) = member.commit().await {
                        failed(&name, "commit", &problem, false);
                    }
                }
                "leave" => {
                    let stopped = member.heartbeat.stop().await;
                    match member.group.leave().await.and(stopped) {
                        Ok(()) => emit("left", json!({"member": name})),
                        Err(problem) => failed(&name, "leave", &problem, true),
                    }
                    return;
                }
                other => failed(&name, other, &Error::Unsupported("unknown command"), false),
            }
        }
        if let Err(problem) = member.poll().await {
            failed(&name, "poll", &problem, is_fenced(&problem));
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn main() {
    emit("ready", json!({"client": "kafrust", "version": "0.2.30", "can": CAN}));
    let mut members: HashMap<String, Sender<Value>> = HashMap::new();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let command: Value = serde_json::from_str(&line).expect("a command is a line of JSON");
        let name = text(&command, "member").to_string();
        if command["do"] == "start" {
            let (sender, receiver) = channel();
            members.insert(name.clone(), sender);
            thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime starts").block_on(serve(name, command, receiver));
            });
        } else if members.get(&name).is_none_or(|sender| sender.send(command.clone()).is_err()) {
            failed(&name, text(&command, "do"), &Error::Unsupported("unknown member"), false);
        }
    }
    std::process::exit(0);
}
