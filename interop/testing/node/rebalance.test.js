// A test of a KafkaJS consumer against `coordinator testing`: its member is expired, and it has to come back.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import kafkajs from "kafkajs";

const { Kafka, logLevel } = kafkajs;

/** Starts the server; it ends when this process does, because its stdin closes. */
async function start() {
  const command = process.env.COORDINATOR ?? "coordinator";
  const server = spawn(command, ["testing", "--until-stdin-closes"], { stdio: ["pipe", "pipe", "inherit"] });
  const ready = await new Promise((resolve, reject) => {
    server.once("error", reject);
    createInterface({ input: server.stdout }).once("line", (line) => resolve(JSON.parse(line)));
  });
  after(() => server.stdin.end());
  return ready;
}

/** Asks the control; any status but 200 throws what it says. */
async function ask(server, method, path, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`http://${server.admin}${path}`, { method, headers, body: JSON.stringify(body) });
  const answer = await response.json();
  assert.equal(response.status, 200, answer.error);
  return answer;
}

test("an expired consumer comes back", async () => {
  const server = await start();
  await ask(server, "POST", "/testing/topics", { name: "orders", partitions: 4 });
  const kafka = new Kafka({ clientId: "billing-1", brokers: [server.bootstrap], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: "billing", heartbeatInterval: 50, maxWaitTimeInMs: 100, retry: { initialRetryTime: 20 } });
  await consumer.connect();
  await consumer.subscribe({ topics: ["orders"] });
  await consumer.run({ eachMessage: async () => {} });
  try {
    const stable = "/testing/group?id=billing&state=Stable&members=1&timeout=9";
    const before = await ask(server, "GET", stable);
    await ask(server, "POST", "/testing/faults", { do: "expire", group: "billing", member: "billing-1" });
    const next = await ask(server, "GET", `${stable}&generation=${before.generation_id + 1}`);
    assert.notEqual(next.members[0].member_id, before.members[0].member_id);
    await ask(server, "POST", "/testing/assert-rebalances", {
      group: "billing",
      at_most: 3,
      causes: ["new_member", "fault"],
    });
  } finally {
    await consumer.disconnect();
  }
});
