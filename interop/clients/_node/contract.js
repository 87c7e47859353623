// What all JavaScript drivers have in common: commands from stdin, events to stdout. See interop/README.md.
'use strict';

const readline = require('node:readline');

function emit(event, fields) {
  process.stdout.write(JSON.stringify({ event, ...fields }) + '\n');
}

/** Tells what happens to a member, and remembers what it owns and how far it has read. */
class Report {
  constructor(member) {
    this.member = member;
    this.owned = {};
    this.next = {};
  }

  assigned(partitions) {
    for (const [topic, indexes] of Object.entries(partitions)) {
      this.owned[topic] = [...new Set([...(this.owned[topic] || []), ...indexes])];
    }
    this.#tell('assigned', partitions);
  }

  revoked(partitions) {
    this.#drop(partitions);
    this.#tell('revoked', partitions);
  }

  lost(partitions) {
    this.#drop(partitions);
    this.#tell('lost', partitions);
  }

  revokedAll() {
    if (Object.keys(this.owned).length) this.revoked({ ...this.owned });
  }

  records(topic, partition, first, next, count) {
    this.next[topic] = { ...this.next[topic], [partition]: next };
    const of = (offset) => ({ [topic]: { [partition]: offset } });
    emit('records', { member: this.member, positions: of(next), from: of(first), count });
  }

  /** How far the owned partitions were read; those of which nothing was read are not in it. */
  read() {
    const found = {};
    for (const [topic, indexes] of Object.entries(this.owned)) {
      for (const index of indexes) {
        const offset = (this.next[topic] || {})[index];
        if (offset !== undefined) found[topic] = { ...found[topic], [index]: offset };
      }
    }
    return found;
  }

  failed(during, problem, fatal = false) {
    const error = String(problem.type || problem.name || problem.code);
    emit('failed', { member: this.member, during, error, message: String(problem.message), fatal });
  }

  #tell(event, partitions) {
    emit(event, { member: this.member, partitions, time_ms: Date.now() });
  }

  #drop(partitions) {
    for (const [topic, indexes] of Object.entries(partitions)) {
      this.owned[topic] = (this.owned[topic] || []).filter((index) => !indexes.includes(index));
      if (!this.owned[topic].length) delete this.owned[topic];
      for (const index of indexes) delete (this.next[topic] || {})[index];
    }
  }
}

async function handle(consumer, report, command) {
  try {
    if (command.do === 'pause') consumer.pause(true);
    else if (command.do === 'resume') consumer.pause(false);
    else if (command.do === 'subscribe') await consumer.subscribe(command.topics);
    else if (command.do === 'commit') {
      emit('committed', { member: report.member, positions: await consumer.commit() });
    } else if (command.do === 'leave') {
      await consumer.close();
      emit('left', { member: report.member });
    } else throw new Error(`unknown command ${command.do}`);
  } catch (problem) {
    report.failed(command.do, problem);
  }
}

/** Serve commands until stdin ends. `open(options, report)` makes a consumer, which has pause, subscribe, commit, close. */
async function run(client, version, can, open) {
  emit('ready', { client, version, can });
  const members = {};
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    const report = members[command.member]?.report || new Report(command.member);
    if (command.do === 'start') {
      const opened = open(command, report).catch((problem) => report.failed('start', problem, true));
      members[command.member] = { report, last: opened };
    } else if (members[command.member]) {
      const member = members[command.member];
      member.last = member.last.then(async (consumer) => {
        if (consumer) await handle(consumer, report, command);
        return consumer;
      });
    } else {
      report.failed(command.do, new Error('unknown member'));
    }
  }
  process.exit(0);
}

module.exports = { run };
