import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.AbstractCollection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.zip.GZIPOutputStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.RequestHeaderDataJsonConverter;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.message.ResponseHeaderDataJsonConverter;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/** Writes the vectors of this folder: messages with random fields, as Kafka's own classes write them; README.md says how to run it. */
class Record {
    private static final String[] APIS = {
        "ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge", "InitializeShareGroupState", "ReadShareGroupState",
        "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary", "DescribeShareGroupOffsets", "AlterShareGroupOffsets",
        "DeleteShareGroupOffsets"};
    private static final String[] GROUP_RECORDS = {
        "ShareGroupMemberMetadata", "ShareGroupMetadata", "ShareGroupTargetAssignmentMetadata", "ShareGroupTargetAssignmentMember",
        "ShareGroupCurrentMemberAssignment", "ShareGroupStatePartitionMetadata"};
    private static final String[] STATE_RECORDS = {"ShareSnapshot", "ShareUpdate"};
    private static final String[] WORDS = {"orders", "billing.v2", "", "群组", "\uD83D\uDE00", "x".repeat(200), "a\0b"};
    private static final Set<String> TAGGED = Set.of("setAssignmentTimestamp", "setDeliveryCompleteCount");
    private static final int TYPICAL_VARIANT = 0;
    private static final int TAGGED_VARIANT = 12;
    private static final int RANDOM_VARIANTS = TAGGED_VARIANT + 1;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Random RANDOM = new Random(1);
    private static boolean isTypical;

    public static void main(String[] arguments) throws Exception {
        for (String api : APIS) {
            try (PrintStream out = lines(api + ".jsonl.gz")) {
                ApiKeys key = keyOf(api);
                for (short version = key.messageType.lowestSupportedVersion(); version <= key.messageType.highestSupportedVersion(true); version++) {
                    for (String kind : new String[] {"request", "response"}) {
                        writeApi(out, api, key, version, kind);
                    }
                }
            }
        }
        try (PrintStream out = lines("_records.jsonl.gz")) {
            for (String name : GROUP_RECORDS) {
                writeRecord(out, "org.apache.kafka.coordinator.group.generated.", name);
            }
        }
        try (PrintStream out = lines("_state_records.jsonl.gz")) {
            for (String name : STATE_RECORDS) {
                writeRecord(out, "org.apache.kafka.coordinator.share.generated.", name);
            }
        }
    }

    private static ApiKeys keyOf(String api) {
        for (ApiKeys key : ApiKeys.values()) {
            if (key.name.equals(api)) {
                return key;
            }
        }
        throw new IllegalArgumentException(api);
    }

    private static PrintStream lines(String name) throws Exception {
        return new PrintStream(new GZIPOutputStream(new FileOutputStream(name)), false, StandardCharsets.UTF_8);
    }

    private static void writeApi(PrintStream out, String api, ApiKeys key, short version, String kind) throws Exception {
        boolean isRequest = kind.equals("request");
        String name = "org.apache.kafka.common.message." + api + (isRequest ? "RequestData" : "ResponseData");
        for (int i = -2; i < RANDOM_VARIANTS; i++) {
            Message message = filled(name, version, i);
            short headerVersion = isRequest ? key.requestHeaderVersion(version) : key.responseHeaderVersion(version);
            ObjectNode line = JSON.createObjectNode();
            line.put("api", api).put("key", key.id).put("version", version).put("kind", kind).put("variant", variant(i));
            line.put("header_version", headerVersion).put("source", "4.3.1");
            line.set("json", json(name, message, version));
            if (isRequest) {
                RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key.id).setRequestApiVersion(version)
                    .setCorrelationId(1 + i).setClientId(WORDS[Math.floorMod(i, WORDS.length)]);
                line.set("header_json", RequestHeaderDataJsonConverter.write(header, headerVersion));
                line.put("header_hex", hex(header, headerVersion));
            } else {
                ResponseHeaderData header = new ResponseHeaderData().setCorrelationId(1 + i);
                line.set("header_json", ResponseHeaderDataJsonConverter.write(header, headerVersion));
                line.put("header_hex", hex(header, headerVersion));
            }
            if (i == TAGGED_VARIANT) {
                byte[] data = {1, 2, 3};
                message.unknownTaggedFields().add(new RawTaggedField(1_000, data));
                line.putArray("unknown_tags").addObject().put("path", "$").put("tag", 1_000).put("hex", HexFormat.of().formatHex(data));
            }
            out.println(line.put("body_hex", hex(message, version)));
        }
    }

    private static void writeRecord(PrintStream out, String folder, String record) throws Exception {
        Class<?> key = Class.forName(folder + record + "Key");
        short type = (short) key.getMethod("apiKey").invoke(key.getConstructor().newInstance());
        for (String kind : new String[] {"Key", "Value"}) {
            String name = folder + record + kind;
            for (int i = -2; i < RANDOM_VARIANTS; i++) {
                Message message = filled(name, (short) 0, i);
                short prefix = kind.equals("Key") ? type : 0;
                ObjectNode line = JSON.createObjectNode();
                line.put("record", record + kind).put("version", 0).put("prefix", prefix).put("kind", "coordinator-" + kind.toLowerCase());
                line.put("variant", variant(i)).put("source", "4.3.1");
                line.set("json", json(name, message, (short) 0));
                out.println(line.put("hex", String.format("%04x", prefix) + hex(message, (short) 0)));
            }
        }
    }

    private static String variant(int i) {
        return i == -2 ? "default" : i == -1 ? "nulls" : i == TAGGED_VARIANT ? "tagged" : i == TYPICAL_VARIANT ? "typical" : "random:" + i;
    }

    private static JsonNode json(String name, Message message, short version) throws Exception {
        Class<?> converter = Class.forName(name + "JsonConverter");
        JsonNode found = (JsonNode) converter.getMethod("write", message.getClass(), short.class, boolean.class).invoke(null, message, version, false);
        for (JsonNode partition : found.findParents("recordsSizeInBytes")) {
            ((ObjectNode) partition).remove("recordsSizeInBytes");
            ((ObjectNode) partition).put("records", "");
        }
        return found;
    }

    private static String hex(Message message, short version) {
        ByteBufferAccessor buffer = MessageUtil.toByteBufferAccessor(message, version);
        ByteBuffer bytes = buffer.buffer();
        byte[] array = new byte[bytes.remaining()];
        bytes.get(array);
        return HexFormat.of().formatHex(array);
    }

    /** -2: all defaults; -1: each field that may be null is. Fields of other versions keep their defaults. */
    private static Message filled(String name, short version, int variant) throws Exception {
        Message message = (Message) Class.forName(name).getConstructor().newInstance();
        isTypical = variant == TYPICAL_VARIANT;
        if (variant != -2) {
            fill(message, version, variant == -1, 0);
        }
        return message;
    }

    private static void fill(Object message, short version, boolean isNull, int depth) throws Exception {
        Schema[] schemas = (Schema[]) message.getClass().getField("SCHEMAS").get(null);
        Schema schema = schemas[version];
        for (Method setter : message.getClass().getMethods()) {
            if (!setter.getName().startsWith("set") || setter.getParameterCount() != 1) {
                continue;
            }
            BoundField field = schema.get(snake(setter.getName().substring(3)));
            // A schema has no tagged fields; those of these messages are in all of their versions.
            boolean isTagged = message.getClass().getSimpleName().endsWith("Value") && TAGGED.contains(setter.getName());
            if (field == null && !isTagged) {
                continue;
            }
            boolean isNullable = field != null && field.def.type.isNullable();
            if (isNullable && (isNull || !isTypical && RANDOM.nextInt(4) == 0)) {
                setter.invoke(message, new Object[] {null});
            } else {
                setter.invoke(message, value(setter.getParameterTypes()[0], setter, version, isNull, depth));
            }
        }
    }

    private static Object value(Class<?> type, Method setter, short version, boolean isNull, int depth) throws Exception {
        boolean isLimit = RANDOM.nextInt(4) == 0;
        if (type == String.class) {
            return WORDS[RANDOM.nextInt(WORDS.length)];
        } else if (type == int.class || type == Integer.class) {
            return isLimit ? (RANDOM.nextBoolean() ? Integer.MAX_VALUE : Integer.MIN_VALUE) : RANDOM.nextInt();
        } else if (type == long.class || type == Long.class) {
            return isLimit ? (RANDOM.nextBoolean() ? Long.MAX_VALUE : Long.MIN_VALUE) : RANDOM.nextLong();
        } else if (type == short.class) {
            return (short) RANDOM.nextInt();
        } else if (type == byte.class || type == Byte.class) {
            return (byte) RANDOM.nextInt();
        } else if (type == boolean.class) {
            return RANDOM.nextBoolean();
        } else if (type == Uuid.class) {
            return RANDOM.nextInt(5) == 0 ? Uuid.ZERO_UUID : new Uuid(RANDOM.nextLong(), RANDOM.nextLong());
        } else if (type == BaseRecords.class) {
            return MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(1_700_000_000_000L, "k".getBytes(), "v".getBytes()));
        }
        if (AbstractCollection.class.isAssignableFrom(type) || List.class.isAssignableFrom(type)) {
            Class<?> element = elementOf(type, setter);
            @SuppressWarnings("unchecked")
            Collection<Object> elements = type == List.class ? new ArrayList<>() : (Collection<Object>) type.getConstructor().newInstance();
            int count = isNull ? 1 : isTypical ? 2 : depth == 0 && RANDOM.nextInt(12) == 0 ? 130 : RANDOM.nextInt(4);
            for (int i = 0; i < count; i++) {
                elements.add(value(element, setter, version, isNull, depth + 1));
            }
            return elements;
        }
        Object struct = type.getConstructor().newInstance();
        fill(struct, version, isNull, depth + 1);
        return struct;
    }

    private static Class<?> elementOf(Class<?> type, Method setter) {
        Type generic = type == List.class ? setter.getGenericParameterTypes()[0] : type.getGenericSuperclass();
        return (Class<?>) ((ParameterizedType) generic).getActualTypeArguments()[0];
    }

    private static String snake(String camel) {
        return camel.replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase();
    }
}
