import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.AppInfoParser;

/** The driver of Apache Kafka's Java share consumer. See interop/README.md for the contract. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration POLL = Duration.ofMillis(100);

    public static void main(String[] arguments) throws Exception {
        emit("ready", Map.of("client", "java", "version", AppInfoParser.getVersion(),
            "can", List.of("share-protocol", "renew"), "lacks", List.of("commit", "commit-answer")));
        Map<String, Member> members = new HashMap<>();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode command = JSON.readTree(line);
            String name = command.get("member").asText();
            if (command.get("do").asText().equals("start")) {
                Member member = new Member(name, command);
                members.put(name, member);
                Thread thread = new Thread(member, name);
                thread.setDaemon(true);
                thread.start();
            } else if (members.containsKey(name)) {
                members.get(name).commands.add(command);
            } else {
                failed(name, command.get("do").asText(), "unknown member", name, false);
            }
        }
        Runtime.getRuntime().halt(0); // as a process that exits without closing its consumers
    }

    private static synchronized void emit(String event, Map<String, Object> fields) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", event);
        line.putAll(fields);
        try {
            System.out.println(JSON.writeValueAsString(line));
        } catch (Exception problem) {
            throw new IllegalStateException(problem);
        }
        System.out.flush();
    }

    private static void failed(String member, String during, String error, String message, boolean fatal) {
        emit("failed", Map.of(
            "member", member, "during", during, "error", error, "message", String.valueOf(message), "fatal", fatal));
    }

    private record Place(String topic, int partition, long offset) { }

    private static final class Member implements Runnable {
        final ConcurrentLinkedQueue<JsonNode> commands = new ConcurrentLinkedQueue<>();
        private final String name;
        private final JsonNode options;
        private final boolean isExplicit;
        private final Map<Place, ConsumerRecord<byte[], byte[]>> held = new HashMap<>();
        private final Set<Place> renewed = new HashSet<>();
        private KafkaShareConsumer<byte[], byte[]> consumer;
        private boolean isPaused;
        private boolean isOver;

        Member(String name, JsonNode options) {
            this.name = name;
            this.options = options;
            this.isExplicit = options.path("acknowledgement").asText("implicit").equals("explicit");
        }

        @Override
        public void run() {
            if (!attempt("start", this::open)) {
                return;
            }
            while (!isOver) {
                for (JsonNode command = commands.poll(); command != null && !isOver; command = commands.poll()) {
                    handle(command);
                }
                if (isOver) {
                    return;
                }
                attempt("poll", isPaused || !held.isEmpty() ? () -> Thread.sleep(10) : this::poll);
            }
        }

        private void open() {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", options.get("bootstrap").asText());
            settings.put("group.id", options.get("group").asText());
            settings.put("client.id", options.path("client_id").asText(name));
            settings.put("share.acknowledgement.mode", isExplicit ? "explicit" : "implicit");
            settings.put("max.poll.records", options.path("max_records").asText("500"));
            settings.put("reconnect.backoff.ms", "20");
            settings.put("reconnect.backoff.max.ms", "200");
            consumer = new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.setAcknowledgementCommitCallback((offsets, problem) -> offsets.keySet().forEach(
                where -> acknowledged("async", Map.of(where, Optional.ofNullable(problem)))));
            subscribe(options.get("topics"));
        }

        private void subscribe(JsonNode topics) {
            List<String> names = new ArrayList<>();
            topics.forEach(topic -> names.add(topic.asText()));
            consumer.subscribe(names);
        }

        private void poll() {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
            if (records.isEmpty()) {
                return;
            }
            List<List<Object>> delivered = new ArrayList<>();
            for (ConsumerRecord<byte[], byte[]> each : records) {
                Place place = new Place(each.topic(), each.partition(), each.offset());
                if (!renewed.remove(place)) {
                    delivered.add(List.of(place.topic, place.partition, place.offset, each.deliveryCount().orElseThrow()));
                }
                if (isExplicit) {
                    held.put(place, each);
                }
            }
            if (!delivered.isEmpty()) {
                emit("delivered", Map.of("member", name, "records", delivered));
            }
        }

        private void acknowledge(JsonNode command) {
            AcknowledgeType type = AcknowledgeType.valueOf(command.get("type").asText().toUpperCase(Locale.ROOT));
            List<Place> places = new ArrayList<>();
            command.get("records").forEach(each ->
                places.add(new Place(each.get(0).asText(), each.get(1).asInt(), each.get(2).asLong())));
            while (held.isEmpty() && !renewed.isEmpty()) {
                poll(); // which returns what was renewed: only then it can be acknowledged again
            }
            for (Place each : places) {
                consumer.acknowledge(held.remove(each), type);
            }
            if (type == AcknowledgeType.RENEW) {
                renewed.addAll(places);
            }
            switch (command.get("how").asText()) {
                case "sync" -> acknowledged("sync", consumer.commitSync());
                case "async" -> consumer.commitAsync();
                default -> { } // with the next poll, or when the consumer closes
            }
        }

        private void acknowledged(String how, Map<TopicIdPartition, ? extends Optional<? extends Exception>> results) {
            Map<String, Map<String, String>> told = new TreeMap<>();
            results.forEach((where, problem) -> told.computeIfAbsent(where.topic(), topic -> new TreeMap<>())
                .put(String.valueOf(where.partition()), problem.map(each -> each.getClass().getSimpleName()).orElse("")));
            emit("acknowledged", Map.of("member", name, "how", how, "results", told));
        }

        private void handle(JsonNode command) {
            String what = command.get("do").asText();
            switch (what) {
                case "pause" -> isPaused = true;
                case "resume" -> isPaused = false;
                case "subscribe" -> attempt(what, () -> subscribe(command.get("topics")));
                case "acknowledge" -> attempt(what, () -> acknowledge(command));
                case "leave" -> {
                    isOver = true;
                    if (attempt(what, () -> consumer.close())) {
                        emit("left", Map.of("member", name));
                    }
                }
                default -> failed(name, what, "unknown command", what, false);
            }
        }

        private interface Action {
            void run() throws Exception;
        }

        private boolean attempt(String during, Action action) {
            try {
                action.run();
                return true;
            } catch (Exception problem) {
                boolean fatal = during.equals("start");
                failed(name, during, problem.getClass().getSimpleName(), problem.getMessage(), fatal);
                return false;
            }
        }
    }
}
