// The driver of kafkajs. It has one assignor of its own, RoundRobinAssigner, which no other client knows.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const modules = path.join(process.env.INTEROP_BUILT, 'node_modules');
const { Kafka, logLevel } = require(path.join(modules, 'kafkajs'));
const { version } = require(path.join(modules, 'kafkajs', 'package.json'));
const { run } = require('../_node/contract.js');

const TLS = ['ssl', 'ssl-client-auth'];
const LOGINS = ['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'];
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function secured(security) {
  if (!security) return {};
  const read = (file) => (file ? fs.readFileSync(file, 'utf8') : undefined);
  const ssl = { ca: [read(security.ca)], cert: read(security.certificate), key: read(security.key) };
  if (!security.mechanism) return { ssl };
  const mechanism = security.mechanism.toLowerCase();
  if (mechanism === 'oauthbearer') {
    return { ssl, sasl: { mechanism, oauthBearerProvider: async () => ({ value: security.token }) } };
  }
  return { ssl, sasl: { mechanism, username: security.username, password: security.password } };
}

async function open(options, report) {
  const kafka = new Kafka({
    brokers: [options.bootstrap],
    clientId: options.client_id || options.member,
    logLevel: logLevel.ERROR,
    ...secured(options.security),
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 1000 },
  });
  const maker = () =>
    kafka.consumer({
      groupId: options.group,
      sessionTimeout: options.session_timeout_ms || 10000,
      heartbeatInterval: options.heartbeat_interval_ms || 500,
      rebalanceTimeout: Math.min(options.max_poll_interval_ms || 60000, 60000),
      metadataMaxAge: options.metadata_max_age_ms || 300000,
      maxWaitTimeInMs: 200,
    });
  let consumer;
  let paused = false;

  const listen = () => {
    consumer.on(consumer.events.REBALANCING, () => report.revokedAll());
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      report.revokedAll();
      report.assigned(payload.memberAssignment);
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      report.revokedAll();
      report.failed('poll', payload.error, !payload.restart);
    });
  };

  const begin = async (topics) => {
    consumer = maker();
    listen();
    await consumer.connect();
    const wanted = options.pattern ? [new RegExp(options.pattern)] : topics;
    // One by one, as versions before 2.0 have no `topics`.
    for (const topic of wanted) await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: true,
      eachBatch: async ({ batch, isStale }) => {
        while (paused) await sleep(50);
        if (isStale() || !batch.messages.length) return;
        const next = Number(batch.lastOffset()) + 1;
        report.records(batch.topic, batch.partition, Number(batch.firstOffset()), next, batch.messages.length);
      },
    });
  };

  const close = async () => {
    paused = false;
    await consumer.disconnect();
    report.revokedAll();
  };

  await begin(options.topics);
  return {
    pause: (value) => {
      paused = value;
    },
    subscribe: async (topics) => {
      await close();
      await begin(topics);
    },
    commit: async () => {
      const positions = report.read();
      const offsets = Object.entries(positions).flatMap(([topic, partitions]) =>
        Object.entries(partitions).map(([index, offset]) => ({ topic, partition: Number(index), offset: String(offset) })),
      );
      await consumer.commitOffsets(offsets);
      return positions;
    },
    close,
  };
}

run('kafkajs', version, ['subscribe', 'max-poll', ...TLS, ...LOGINS], open);
