"""Layouts of share groups (KIP-932) for conformance.py, from the message definitions of Kafka 4.3.1: the twelve APIs of share groups and
those that their scenarios need besides (Produce, DeleteRecords, AddPartitionsToTxn), records 10-15 of the offsets topic and both of
`__share_group_state`, error codes, and the steps only they have.  install(module) adds all of it to conformance.py."""
import base64
import struct
import time

_TP = '[topic_id:uuid partitions:[i32]]'
_ACKS = 'acknowledgement_batches:[first_offset:i64 last_offset:i64 acknowledge_types:[i8]]'
_LEADER = 'current_leader:{leader_id:i32 leader_epoch:i32}'
_NODES = 'node_endpoints:[node_id:i32 host:str port:i32 rack:?str]'
_BATCHES = 'state_batches:[first_offset:i64 last_offset:i64 delivery_state:i8 delivery_count:i16]'
_RESULTS = 'results:[topic_id:uuid partitions:[partition:i32 error_code:i16 error_message:?str]]'
_TXN_RS = '[name:str results_by_partition:[partition_index:i32 partition_error_code:i16]]'
APIS = {
    'ShareGroupHeartbeat': (76, 0, 'group_id:str member_id:str member_epoch:i32 rack_id:?str=null subscribed_topic_names:?[str]=null',
        'throttle_time_ms:i32 error_code:i16 error_message:?str member_id:?str member_epoch:i32 heartbeat_interval_ms:i32 '
        f'assignment:?{{topic_partitions:{_TP}}}'),
    'ShareGroupDescribe': (77, 0, 'group_ids:[str] include_authorized_operations:bool',
        'throttle_time_ms:i32 groups:[error_code:i16 error_message:?str group_id:str group_state:str group_epoch:i32 assignment_epoch:i32 '
        'assignor_name:str members:[member_id:str rack_id:?str member_epoch:i32 client_id:str client_host:str '
        'subscribed_topic_names:[str] assignment:{topic_partitions:[topic_id:uuid topic_name:str partitions:[i32]]}] '
        'authorized_operations:i32]'),
    'ShareFetch': (78, 0, 'group_id:?str=null member_id:?str share_session_epoch:i32 max_wait_ms:i32 min_bytes:i32 max_bytes:i32=2147483647 '
        'max_records:i32 batch_size:i32 share_acquire_mode:i8/2+ is_renew_ack:bool/2+ topics:[topic_id:uuid partitions:['
        f'partition_index:i32 {_ACKS}]] forgotten_topics_data:{_TP}',
        'throttle_time_ms:i32 error_code:i16 error_message:?str acquisition_lock_timeout_ms:i32 responses:[topic_id:uuid partitions:['
        f'partition_index:i32 error_code:i16 error_message:?str acknowledge_error_code:i16 acknowledge_error_message:?str {_LEADER} '
        f'records:?log acquired_records:[first_offset:i64 last_offset:i64 delivery_count:i16]]] {_NODES}'),
    'ShareAcknowledge': (79, 0, 'group_id:?str=null member_id:?str share_session_epoch:i32 is_renew_ack:bool/2+ topics:[topic_id:uuid '
        f'partitions:[partition_index:i32 {_ACKS}]]',
        'throttle_time_ms:i32 error_code:i16 error_message:?str acquisition_lock_timeout_ms:i32/2+ responses:[topic_id:uuid partitions:['
        f'partition_index:i32 error_code:i16 error_message:?str {_LEADER}]] {_NODES}'),
    'InitializeShareGroupState': (83, 0, 'group_id:str topics:[topic_id:uuid partitions:[partition:i32 state_epoch:i32 start_offset:i64]]',
        _RESULTS),
    'ReadShareGroupState': (84, 0, 'group_id:str topics:[topic_id:uuid partitions:[partition:i32 leader_epoch:i32]]',
        'results:[topic_id:uuid partitions:[partition:i32 error_code:i16 error_message:?str state_epoch:i32 start_offset:i64 '
        f'{_BATCHES}]]'),
    'WriteShareGroupState': (85, 0, 'group_id:str topics:[topic_id:uuid partitions:[partition:i32 state_epoch:i32 leader_epoch:i32 '
        f'start_offset:i64 delivery_complete_count:i32/1+=-1 {_BATCHES}]]', _RESULTS),
    'DeleteShareGroupState': (86, 0, 'group_id:str topics:[topic_id:uuid partitions:[partition:i32]]', _RESULTS),
    'ReadShareGroupStateSummary': (87, 0, 'group_id:str topics:[topic_id:uuid partitions:[partition:i32 leader_epoch:i32]]',
        'results:[topic_id:uuid partitions:[partition:i32 error_code:i16 error_message:?str state_epoch:i32 leader_epoch:i32 '
        'start_offset:i64 delivery_complete_count:i32/1+]]'),
    'DescribeShareGroupOffsets': (90, 0, 'groups:[group_id:str topics:?[topic_name:str partitions:[i32]]]',
        'throttle_time_ms:i32 groups:[group_id:str topics:[topic_name:str topic_id:uuid partitions:[partition_index:i32 start_offset:i64 '
        'leader_epoch:i32 lag:i64/1+ error_code:i16 error_message:?str]] error_code:i16 error_message:?str]'),
    'AlterShareGroupOffsets': (91, 0, 'group_id:str topics:[topic_name:str partitions:[partition_index:i32 start_offset:i64]]',
        'throttle_time_ms:i32 error_code:i16 error_message:?str responses:[topic_name:str topic_id:uuid partitions:[partition_index:i32 '
        'error_code:i16 error_message:?str]]'),
    'DeleteShareGroupOffsets': (92, 0, 'group_id:str topics:[topic_name:str]',
        'throttle_time_ms:i32 error_code:i16 error_message:?str responses:[topic_name:str topic_id:uuid error_code:i16 error_message:?str]'),
    'Produce': (0, 9, 'transactional_id:?str=null acks:i16=-1 timeout_ms:i32=30000 topics:[name:str partitions:[index:i32 records:rawin]]',
        'responses:[name:str partitions:[index:i32 error_code:i16 base_offset:i64 log_append_time_ms:i64 log_start_offset:i64/5+]] '
        'throttle_time_ms:i32'),                                                                                     # v3-7
    'ListOffsets': (2, 6, 'replica_id:i32=-1 isolation_level:i8/2+ topics:[name:str partitions:[partition_index:i32 timestamp:i64]]',
        'throttle_time_ms:i32/2+ topics:[name:str partitions:[partition_index:i32 error_code:i16 timestamp:i64 offset:i64]]'),  # v1-3
    'DeleteRecords': (21, 2, 'topics:[name:str partitions:[partition_index:i32 offset:i64]] timeout_ms:i32=30000',
        'throttle_time_ms:i32 topics:[name:str partitions:[partition_index:i32 low_watermark:i64 error_code:i16]]'),
    'AddPartitionsToTxn': (24, 3, 'transactional_id:str producer_id:i64 producer_epoch:i16 topics:[name:str partitions:[i32]]',
        f'throttle_time_ms:i32 results_by_topic:{_TXN_RS}'),                                                         # v0-3
}
RECORDS = {
    10: ('ShareGroupMemberMetadata', 'group_id:str member_id:str', 0, 'rack_id:?str client_id:str client_host:str '
         'subscribed_topic_names:[str]'),
    11: ('ShareGroupMetadata', 'group_id:str', 0, 'epoch:i32 metadata_hash:i64'),
    12: ('ShareGroupTargetAssignmentMetadata', 'group_id:str', 0, 'assignment_epoch:i32 assignment_timestamp:i64@0'),
    13: ('ShareGroupTargetAssignmentMember', 'group_id:str member_id:str', 0, f'topic_partitions:{_TP}'),
    14: ('ShareGroupCurrentMemberAssignment', 'group_id:str member_id:str', 0, 'member_epoch:i32 previous_member_epoch:i32 state:i8 '
         f'assigned_partitions:{_TP}'),
    15: ('ShareGroupStatePartitionMetadata', 'group_id:str', 0, 'initializing_topics:[topic_id:uuid topic_name:str partitions:[i32]] '
         'initialized_topics:[topic_id:uuid topic_name:str partitions:[i32]] deleting_topics:[topic_id:uuid topic_name:str]'),
}
STATE_RECORDS = {                                       # of __share_group_state
    0: ('ShareSnapshot', 'group_id:str topic_id:uuid partition:i32', 0, 'snapshot_epoch:i32 state_epoch:i32 leader_epoch:i32 '
        f'start_offset:i64 delivery_complete_count:i32@0 create_timestamp:i64 write_timestamp:i64 {_BATCHES}'),
    1: ('ShareUpdate', 'group_id:str topic_id:uuid partition:i32', 0, 'snapshot_epoch:i32 leader_epoch:i32 start_offset:i64 '
        f'delivery_complete_count:i32@0 {_BATCHES}'),
}
ERRORS = {1: 'OFFSET_OUT_OF_RANGE', 6: 'NOT_LEADER_OR_FOLLOWER', 7: 'REQUEST_TIMED_OUT', 31: 'CLUSTER_AUTHORIZATION_FAILED',
          74: 'FENCED_LEADER_EPOCH', 78: 'OFFSET_NOT_AVAILABLE', 121: 'INVALID_RECORD_STATE', 122: 'SHARE_SESSION_NOT_FOUND', 123: 'INVALID_SHARE_SESSION_EPOCH',
          124: 'FENCED_STATE_EPOCH', 133: 'SHARE_SESSION_LIMIT_REACHED'}
SUITE = 'share'                                          # server profiles "share..."
STATE_TOPIC = '__share_group_state'


def _table():
    out = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ 0x82f63b78 if n & 1 else n >> 1
        out.append(n)
    return out


_CRC = _table()


def crc32c(data):
    c = 0xffffffff
    for b in data:
        c = _CRC[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xffffffff


def _varint(n):
    n = (n << 1) ^ (n >> 63)
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out + bytes([n]))


def make_batch(values, timestamp, producer=(-1, -1, -1), transactional=False):
    """A batch of format 2 with one record a value: no keys, no headers, not compressed, all of one timestamp."""
    body = b''
    for i, v in enumerate(values):
        raw = v.encode()
        rec = b'\0' + _varint(0) + _varint(i) + _varint(-1) + _varint(len(raw)) + raw + _varint(0)
        body += _varint(len(rec)) + rec
    tail = struct.pack('>hiqqqhii', 16 if transactional else 0, len(values) - 1, timestamp, timestamp, *producer, len(values)) + body
    return struct.pack('>qiibI', 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def read_log(Reader, data):
    """Fetched batches, one text each: "0-2: a b c", "3-3: (commit)"; more than eight records are only counted."""
    out, pos = [], 0
    while len(data) - pos >= 61:
        base, length = struct.unpack_from('>qi', data, pos)
        if len(data) - pos - 12 < length:
            break
        attributes, delta = struct.unpack_from('>hi', data, pos + 21)
        count, = struct.unpack_from('>i', data, pos + 57)
        text = f'({count} records)'
        if attributes & 7:
            text = f'({count} compressed records)'
        elif count <= 8 or attributes & 0x20:
            r, values = Reader(data[pos + 61:pos + 12 + length]), []
            for _ in range(count):
                e = Reader(r.take(r.svarint()))
                e.take(1), e.svarint(), e.svarint()
                size = e.svarint()
                key = e.take(size) if size >= 0 else b''
                size = e.svarint()
                value = e.take(size) if size >= 0 else b''
                values.append({b'\0\0': '(abort)', b'\0\1': '(commit)'}.get(key[2:4], '(control)') if attributes & 0x20 else
                              value.decode() if len(value) < 40 else f'({len(value)} bytes)')
            text = ' '.join(values)
        out.append(f'{base}-{base + delta}: {text}')
        pos += 12 + length
    return out


def topic_id_text(text):
    """A topic id as Kafka writes it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(bytes.fromhex(text.replace('-', ''))).decode().rstrip('=')


def install(m):
    for code, name in ERRORS.items():
        m.ERRORS.setdefault(code, name)
    for name, (key, flex, rq, rs) in APIS.items():
        m.APIS.setdefault(name, (key, flex, rq, rs))
        m.LAYOUT.setdefault(name, (key, flex, m._parse(rq)[0], m._parse(rs)[0]))
        m.KEY_TO_NAME.setdefault(key, name)
    for key, (name, k, flex, v) in RECORDS.items():
        m.RECORDS[key] = (name, k, flex, v)
        m.RECORD_LAYOUT[key] = (name, m._parse(k)[0], flex, m._parse(v)[0])
    state_layout = {t: (name, m._parse(k)[0], flex, m._parse(v)[0]) for t, (name, k, flex, v) in STATE_RECORDS.items()}
    enc, dec, decode, suite_of, needs, step = m._enc, m._dec, m.decode, m.suite_of, m.needs, m.Play.step
    symbolic, make_topics = m.Play.symbolic, m.Play.make_topics

    def new_enc(t, value, flex, version):
        if t == 'rawin':
            raw = bytes.fromhex(value[4:]) if isinstance(value, str) else value
            return m._length(len(raw), flex, '>i') + raw
        return enc(t, value, flex, version)

    def new_dec(r, name, t, nullable, flex, version):
        if t == 'log':
            n = r.length(flex, '>i')
            return None if n < 0 else read_log(m.Reader, r.take(n))
        return dec(r, name, t, nullable, flex, version)

    def new_decode(r, fields, flex, version):
        out = decode(r, fields, flex, version)
        for k, v in out.items():
            if k == 'acknowledge_error_code' and type(v) is int:
                out[k] = m.ERRORS.get(v, v)
        return out

    def new_needs(s):
        if suite_of_scenario(s) != SUITE:
            return needs(s)
        plain = {k: v for k, v in s.items() if k not in ('topics', 'topic_names')}
        plain['steps'] = [st for st in s['steps']]
        out = needs(plain)
        for st in s['steps']:
            if 'produce' in st:
                out |= {('Produce', 7)} | ({('AddPartitionsToTxn', 3)} if st.get('txn') else set())
            if 'state' in st:
                out |= {('Fetch', 4), ('Metadata', 12), ('ListOffsets', 2)}
        if s.get('topics') or s.get('topic_names'):
            out |= {('CreateTopics', 5), ('Metadata', 12), ('ShareGroupHeartbeat', 1)}
        return out

    def suite_of_scenario(s):
        return m.suite_of(s.get('server_config', 'default'))

    def new_suite_of(profile):
        return SUITE if profile.startswith(SUITE) else suite_of(profile)

    def share_make_topics(self):
        """The scenario's own topics; returns when the shard of each of its groups assigns them to a share group."""
        if suite_of_scenario(self.s) != SUITE:
            return make_topics(self)
        topics = self.s.get('topics', {})
        if not topics:
            return None
        self.ask('CreateTopics', 5, {'topics': [{'name': self.env[t], 'num_partitions': n, 'replication_factor': 1}
                                                for t, n in topics.items()]})
        for t in topics:
            self.learn_topic_id(t)
        total, count = sum(topics.values()), self.offsets_partitions()
        for g in {m.partition_for(self.env[g], count) for g in self.s.get('groups', ['group'])}:
            probe = next(x for x in (f'cf-{self.run}-probe{i}' for i in range(100000)) if m.partition_for(x, count) == g)
            until = time.monotonic() + self.opts.timeout
            while True:
                a = self.ask('ShareGroupHeartbeat', 1, {'group_id': probe, 'member_id': 'probe', 'member_epoch': 0,
                                                        'subscribed_topic_names': [self.env[t] for t in topics]})
                if a['assignment'] and sum(len(x['partitions']) for x in a['assignment']['topic_partitions']) == total:
                    break
                if time.monotonic() > until:
                    raise m.Problem(f'the topics {list(topics)} are not assigned within {self.opts.timeout:g} s: {m.show(a)}')
                self.pump(lambda: False, 0.05)
            self.ask('ShareGroupHeartbeat', 1, {'group_id': probe, 'member_id': 'probe', 'member_epoch': -1})
        return None

    def produce(self, st):
        """{"produce": "t", "partition": 0, "values": [..]}: one batch; "batches": [[..], ..] several, one request each; "count": n makes
        n values; "age_ms": how old; "txn": a transactional id's name, {"id", "producer_id", "producer_epoch", "sequence"}."""
        topic, part, txn = self.env[st['produce']], st.get('partition', 0), m.subst(st.get('txn'), self.env)
        batches = st.get('batches') or [st.get('values') or [f'v{i}' for i in range(st['count'])]]
        stamp = int(time.time() * 1000) - st.get('age_ms', 0)
        sequence = txn.get('sequence', 0) if txn else -1
        if txn:
            a = self.ask('AddPartitionsToTxn', 3, {
                'v3_and_below_transactional_id': txn['id'], 'v3_and_below_producer_id': txn['producer_id'],
                'v3_and_below_producer_epoch': txn['producer_epoch'],
                'v3_and_below_topics': [{'name': topic, 'partitions': [part]}]})
            code = a['results_by_topic_v3_and_below'][0]['results_by_partition'][0]['partition_error_code']
            if code not in (0, 'NONE'):
                raise m.Problem(f'AddPartitionsToTxn: {code}')
        for values in batches:
            values = [m.subst(str(v), self.env) for v in (values if isinstance(values, list) else [f'v{i}' for i in range(values)])]
            who = (txn['producer_id'], txn['producer_epoch'], sequence) if txn else (-1, -1, -1)
            until = time.monotonic() + self.opts.timeout
            while True:
                a = self.ask('Produce', 7, {'transactional_id': txn['id'] if txn else None, 'acks': -1, 'topic_data': [
                    {'name': topic, 'partition_data': [{'index': part, 'records': 'hex:' + make_batch(values, stamp, who, bool(txn)).hex()}]}]})
                p = a['responses'][0]['partition_responses'][0]
                if p['error_code'] not in ('UNKNOWN_TOPIC_OR_PARTITION', 'NOT_LEADER_OR_FOLLOWER') or time.monotonic() > until:
                    break
                self.pump(lambda: False, 0.05)
            if p['error_code'] != 'NONE':
                raise m.Problem(f'Produce: {p["error_code"]}')
            sequence += len(values)

    def state(self, st):
        """What was written about a share partition in __share_group_state since this scenario last looked, in order."""
        group, topic, part = self.env[st['state']], self.env[st['topic'] + '_id'], st.get('partition', 0)
        meta = self.ask('Metadata', 12, {'topics': [{'name': STATE_TOPIC}], 'allow_auto_topic_creation': False}, internal=True)
        where = m.partition_for(f'{group}:{topic_id_text(topic)}:{part}', len(meta['topics'][0]['partitions']) or 50)
        seen = (st['state'], topic, part)
        start, out = self.seen.get(seen, 0), []
        while True:
            a = self.ask('Fetch', 4, {'max_wait_ms': 0, 'min_bytes': 0, 'max_bytes': 1 << 24, 'topics': [{'topic': STATE_TOPIC, 'partitions': [
                {'partition': where, 'fetch_offset': start, 'partition_max_bytes': 1 << 24}]}]})
            p = a['responses'][0]['partitions'][0]
            if p['error_code'] == 'OFFSET_OUT_OF_RANGE':          # the coordinator has pruned what is before
                a = self.ask('ListOffsets', 2, {'topics': [{'name': STATE_TOPIC, 'partitions': [
                    {'partition_index': where, 'timestamp': -2}]}]})
                start = a['topics'][0]['partitions'][0]['offset']
                continue
            if p['error_code'] != 'NONE':
                raise m.Problem(f'reading {STATE_TOPIC}, partition {where}: {p["error_code"]}')
            first = start
            for offset, rec in state_records(m.to_bytes(p['records'] or b'')):
                if offset < first:
                    continue
                start = offset + 1
                k = rec['key']
                if (k['group_id'], k['topic_id'], k['partition']) == (group, topic, part):
                    out.append({'record': rec['record'], 'value': rec['value']})
            if start == first or start >= p['high_watermark']:
                break
        self.seen[seen] = start
        return {'records': out}

    def state_records(data):
        r = m.Reader(data)
        while len(data) - r.pos >= 61:
            base, length = r.int('>q'), r.int('>i')
            if len(data) - r.pos < length:
                return
            b = m.Reader(r.take(length))
            b.take(9)
            attributes = b.int('>h')
            b.take(34)
            count = b.int('>i')
            if attributes & 7:
                raise m.Problem(f'{STATE_TOPIC} is compressed; this runner reads it uncompressed only')
            for _ in range(count):
                e = m.Reader(b.take(b.svarint()))
                e.take(1)
                e.svarint()
                offset = base + e.svarint()
                key = e.take(e.svarint())
                size = e.svarint()
                value = e.take(size) if size >= 0 else None
                k = m.Reader(key)
                kind = None if attributes & 0x20 else state_layout.get(k.int('>h'))
                if kind is None:
                    continue
                name, key_fields, flex, value_fields = kind
                out = {'record': name, 'key': m.decode(k, key_fields, False, 0), 'value': None}
                if value is not None:
                    v = m.Reader(value)
                    version = v.int('>h')
                    out['value'] = m.decode(v, value_fields, version >= flex, version)
                    if v.pos != len(value):
                        raise m.Problem(f'{name} version {version}: {len(value) - v.pos} byte(s) too many: {value.hex()}')
                yield offset, out

    def new_step(self, i, st):
        if 'produce' in st:
            return produce(self, st)
        if 'state' in st:
            return self.settle(i, st, state(self, st))
        return step(self, i, st)

    def new_symbolic(self, answer, st):
        out = symbolic(self, answer, st)
        if suite_of_scenario(self.s) != SUITE:
            return out

        def walk(v):
            if isinstance(v, dict):
                for k, x in v.items():
                    if k.endswith('error_message') and x:
                        v[k] = '*'
                    elif k in ('create_timestamp', 'write_timestamp') and type(x) is int and x > 0:
                        v[k] = '~[1-9][0-9]*'
                    elif k == 'leader_id' and x == self.env['node_id']:
                        v[k] = '$node_id'
                    else:
                        walk(x)
            elif isinstance(v, list):
                for x in v:
                    walk(x)
        walk(out)
        return out

    m._enc, m._dec, m.decode, m.suite_of, m.needs = new_enc, new_dec, new_decode, new_suite_of, new_needs
    m.Play.step, m.Play.symbolic, m.Play.make_topics = new_step, new_symbolic, share_make_topics
