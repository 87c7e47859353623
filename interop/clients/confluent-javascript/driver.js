// The driver of @confluentinc/kafka-javascript (librdkafka), with its callback API.
'use strict';

const path = require('node:path');
const modules = path.join(process.env.INTEROP_BUILT, 'node_modules');
const { KafkaConsumer, CODES, librdkafkaVersion } = require(path.join(modules, '@confluentinc/kafka-javascript'));
const { version } = require(path.join(modules, '@confluentinc/kafka-javascript', 'package.json'));
const { run } = require('../_node/contract.js');

const POLL_MS = 100;
const { ERRORS } = CODES;
const TO_IGNORE = [
  ERRORS.ERR_UNKNOWN_TOPIC_OR_PART, ERRORS.ERR__TRANSPORT, ERRORS.ERR__ALL_BROKERS_DOWN, ERRORS.ERR__RESOLVE,
  ERRORS.ERR__TIMED_OUT, ERRORS.ERR__PARTITION_EOF,
];

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const called = (start) =>
  new Promise((resolve, reject) => start((problem, value) => (problem ? reject(problem) : resolve(value))));

function byTopic(partitions) {
  const topics = {};
  for (const { topic, partition } of partitions) (topics[topic] ||= []).push(partition);
  return topics;
}

function secured(security) {
  if (!security) return {};
  const settings = {
    'security.protocol': security.protocol.toLowerCase(),
    'ssl.ca.location': security.ca,
    'ssl.certificate.location': security.certificate,
    'ssl.key.location': security.key,
    'sasl.mechanism': security.mechanism,
    'sasl.username': security.username,
    'sasl.password': security.password,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value));
}

async function open(options, report) {
  const sessionMs = options.session_timeout_ms || 10000;
  const settings = {
    'bootstrap.servers': options.bootstrap,
    'group.id': options.group,
    'client.id': options.client_id || options.member,
    'enable.auto.commit': false,
    'session.timeout.ms': sessionMs,
    'heartbeat.interval.ms': options.heartbeat_interval_ms || 500,
    'max.poll.interval.ms': Math.max(options.max_poll_interval_ms || 300000, sessionMs),
    'topic.metadata.refresh.interval.ms': options.metadata_max_age_ms || 300000,
    'partition.assignment.strategy': (options.assignors || ['range']).join(','),
    'reconnect.backoff.ms': 20,
    'reconnect.backoff.max.ms': 200,
    log_level: 0,
    rebalance_cb: true,
  };
  if (options.instance_id) settings['group.instance.id'] = options.instance_id;
  Object.assign(settings, secured(options.security));
  const consumer = new KafkaConsumer(settings, { 'auto.offset.reset': 'earliest' });
  let paused = false;
  let over = false;

  consumer.on('rebalance', (problem, partitions) => {
    if (problem.code === ERRORS.ERR__ASSIGN_PARTITIONS) report.assigned(byTopic(partitions));
    else if (consumer.assignmentLost()) report.lost(byTopic(partitions));
    else report.revoked(byTopic(partitions));
  });
  consumer.on('event.error', (problem) => {
    if (!TO_IGNORE.includes(problem.code)) report.failed('poll', problem, problem.code === ERRORS.ERR__FATAL);
  });
  await called((done) => consumer.connect({}, done));
  consumer.setDefaultConsumeTimeout(POLL_MS);
  consumer.subscribe(options.pattern ? [new RegExp('^' + options.pattern.replace(/^\^/, ''))] : options.topics);

  const poll = async () => {
    const messages = await called((done) => consumer.consume(500, done));
    const runs = {};
    for (const { topic, partition, offset } of messages || []) {
      const run = (runs[`${topic} ${partition}`] ||= { topic, partition, first: offset, count: 0 });
      run.next = offset + 1;
      run.count += 1;
    }
    for (const { topic, partition, first, next, count } of Object.values(runs)) {
      report.records(topic, partition, first, next, count);
    }
  };
  const polling = (async () => {
    while (!over) {
      try {
        await (paused ? sleep(POLL_MS) : poll());
      } catch (problem) {
        if (TO_IGNORE.includes(problem.code)) continue;
        over = problem.code === ERRORS.ERR__FATAL;
        report.failed('poll', problem, over);
        await sleep(POLL_MS);
      }
    }
  })();

  return {
    pause: (value) => {
      paused = value;
    },
    subscribe: async (topics) => consumer.subscribe(topics),
    commit: async () => {
      const positions = report.read();
      const offsets = Object.entries(positions).flatMap(([topic, partitions]) =>
        Object.entries(partitions).map(([index, offset]) => ({ topic, partition: Number(index), offset })),
      );
      consumer.commitSync(offsets);
      return positions;
    },
    close: async () => {
      over = true;
      await polling;
      await called((done) => consumer.disconnect(done));
    },
  };
}

const can = ['pattern', 'static', 'subscribe', 'max-poll', 'range', 'roundrobin', 'cooperative-sticky'];
can.push('ssl', 'ssl-client-auth', 'plain', 'scram-sha-256', 'scram-sha-512');
run('confluent-javascript', `${version} (librdkafka ${librdkafkaVersion})`, can, open);
