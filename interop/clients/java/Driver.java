import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.AppInfoParser;

/** The driver of Apache Kafka's Java consumer. See interop/README.md for the contract. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration POLL = Duration.ofMillis(100);
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "sticky", "org.apache.kafka.clients.consumer.StickyAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

    private static final List<String> TOKEN_HANDLERS = List.of(
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler");

    /** The class that reads tokens from files; empty where there is none, as before 3.1. */
    private static String tokenHandler() {
        for (String name : TOKEN_HANDLERS) {
            try {
                return Class.forName(name).getName();
            } catch (ClassNotFoundException missing) {
                continue;
            }
        }
        return "";
    }

    public static void main(String[] arguments) throws Exception {
        String version = AppInfoParser.getVersion();
        boolean isNew = Integer.parseInt(version.split("\\.")[0]) >= 4;
        List<String> can = new ArrayList<>(List.of("pattern", "static", "subscribe", "max-poll"));
        can.addAll(ASSIGNORS.keySet());
        can.addAll(List.of("ssl", "ssl-client-auth", "plain", "scram-sha-256", "scram-sha-512"));
        if (!tokenHandler().isEmpty()) {
            can.add("oauthbearer");
        }
        if (isNew) {
            can.addAll(List.of("consumer-protocol", "reason"));
        }
        emit("ready", Map.of("client", "java", "version", version, "can", can));
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

    private static Map<String, List<Integer>> byTopic(Collection<TopicPartition> partitions) {
        Map<String, List<Integer>> topics = new TreeMap<>();
        for (TopicPartition each : partitions) {
            topics.computeIfAbsent(each.topic(), topic -> new ArrayList<>()).add(each.partition());
        }
        topics.values().forEach(indexes -> indexes.sort(null));
        return topics;
    }

    private static Map<String, Map<String, Long>> positions(Map<TopicPartition, Long> offsets) {
        Map<String, Map<String, Long>> topics = new TreeMap<>();
        offsets.forEach((where, offset) -> topics.computeIfAbsent(where.topic(), topic -> new TreeMap<>())
            .put(String.valueOf(where.partition()), offset));
        return topics;
    }

    private static final class Member implements Runnable, ConsumerRebalanceListener {
        final ConcurrentLinkedQueue<JsonNode> commands = new ConcurrentLinkedQueue<>();
        private final String name;
        private final JsonNode options;
        private KafkaConsumer<byte[], byte[]> consumer;
        private boolean isPaused;
        private boolean isOver;

        Member(String name, JsonNode options) {
            this.name = name;
            this.options = options;
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
                attempt("poll", isPaused ? () -> Thread.sleep(POLL.toMillis()) : this::poll);
            }
        }

        private static void secure(Properties settings, JsonNode security) throws IOException {
            settings.put("security.protocol", security.get("protocol").asText());
            settings.put("ssl.truststore.type", "PEM");
            settings.put("ssl.truststore.location", security.get("ca").asText());
            if (security.hasNonNull("certificate")) {
                // Not as a file: with one, 2.8 needs a password of the key.
                settings.put("ssl.keystore.type", "PEM");
                settings.put("ssl.keystore.key", Files.readString(Path.of(security.get("key").asText())));
                settings.put("ssl.keystore.certificate.chain",
                    Files.readString(Path.of(security.get("certificate").asText())));
            }
            if (!security.hasNonNull("mechanism")) {
                return;
            }
            String mechanism = security.get("mechanism").asText();
            settings.put("sasl.mechanism", mechanism);
            String modules = "org.apache.kafka.common.security.";
            if (mechanism.equals("OAUTHBEARER")) {
                Path token = Files.createTempFile("interop", ".jwt");
                token.toFile().deleteOnExit();
                Files.writeString(token, security.get("token").asText());
                System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.urls", token.toUri().toString());
                System.setProperty("org.apache.kafka.sasl.oauthbearer.allowed.files", token.toString());
                settings.put("sasl.oauthbearer.token.endpoint.url", token.toUri().toString());
                settings.put("sasl.login.callback.handler.class", tokenHandler());
                settings.put("sasl.jaas.config", modules + "oauthbearer.OAuthBearerLoginModule required;");
            } else {
                String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
                settings.put("sasl.jaas.config", String.format("%s%s required username=\"%s\" password=\"%s\";",
                    modules, module, security.get("username").asText(), security.get("password").asText()));
            }
        }

        private void open() throws Exception {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", options.get("bootstrap").asText());
            settings.put("group.id", options.get("group").asText());
            settings.put("client.id", options.path("client_id").asText(name));
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", "false");
            settings.put("max.poll.interval.ms", options.path("max_poll_interval_ms").asText("300000"));
            settings.put("metadata.max.age.ms", options.path("metadata_max_age_ms").asText("300000"));
            settings.put("reconnect.backoff.ms", "20");
            settings.put("reconnect.backoff.max.ms", "200");
            options.path("properties").properties().forEach(each -> settings.put(each.getKey(), each.getValue().asText()));
            if (options.path("protocol").asText("classic").equals("consumer")) {
                settings.put("group.protocol", "consumer");
                if (options.hasNonNull("server_assignor")) {
                    settings.put("group.remote.assignor", options.get("server_assignor").asText());
                }
            } else {
                settings.put("session.timeout.ms", options.path("session_timeout_ms").asText("10000"));
                settings.put("heartbeat.interval.ms", options.path("heartbeat_interval_ms").asText("500"));
                List<String> assignors = new ArrayList<>();
                for (JsonNode assignor : options.path("assignors")) {
                    assignors.add(ASSIGNORS.get(assignor.asText()));
                }
                settings.put("partition.assignment.strategy",
                    assignors.isEmpty() ? ASSIGNORS.get("range") : String.join(",", assignors));
            }
            if (options.hasNonNull("security")) {
                secure(settings, options.get("security"));
            }
            if (options.hasNonNull("instance_id")) {
                settings.put("group.instance.id", options.get("instance_id").asText());
            }
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            if (options.hasNonNull("pattern")) {
                subscribePattern(options.get("pattern").asText(), settings.containsKey("group.protocol"));
            } else {
                subscribe(options.get("topics"));
            }
        }

        private void subscribe(JsonNode topics) {
            List<String> names = new ArrayList<>();
            topics.forEach(topic -> names.add(topic.asText()));
            consumer.subscribe(names, this);
        }

        /** With the new protocol the server looks for topics; versions before 4.0 have no such method. */
        private void subscribePattern(String pattern, boolean isForServer) throws Exception {
            if (!isForServer) {
                consumer.subscribe(Pattern.compile(pattern), this);
                return;
            }
            Class<?> type = Class.forName("org.apache.kafka.clients.consumer.SubscriptionPattern");
            consumer.getClass().getMethod("subscribe", type, ConsumerRebalanceListener.class)
                .invoke(consumer, type.getConstructor(String.class).newInstance(pattern), this);
        }

        private void poll() {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
            if (!records.isEmpty()) {
                Map<TopicPartition, Long> starts = new HashMap<>();
                Map<TopicPartition, Long> ends = new HashMap<>();
                for (TopicPartition where : records.partitions()) {
                    List<ConsumerRecord<byte[], byte[]>> read = records.records(where);
                    starts.put(where, read.get(0).offset());
                    ends.put(where, read.get(read.size() - 1).offset() + 1);
                }
                emit("records", Map.of("member", name, "positions", positions(ends), "from", positions(starts),
                    "count", records.count()));
            }
        }

        // By name: without offsets, the client leaves out partitions whose leader has moved and is not confirmed yet.
        private void commit() {
            Map<TopicPartition, Long> committed = new HashMap<>();
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (TopicPartition where : consumer.assignment()) {
                committed.put(where, consumer.position(where));
                offsets.put(where, new OffsetAndMetadata(committed.get(where)));
            }
            consumer.commitSync(offsets);
            emit("committed", Map.of("member", name, "positions", positions(committed)));
        }

        private void handle(JsonNode command) {
            String what = command.get("do").asText();
            switch (what) {
                case "pause" -> isPaused = true;
                case "resume" -> isPaused = false;
                case "subscribe" -> attempt(what, () -> subscribe(command.get("topics")));
                case "commit" -> attempt(what, this::commit);
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
                boolean fatal = during.equals("start") || problem instanceof FencedInstanceIdException
                    || problem.getClass().getSimpleName().equals("UnreleasedInstanceIdException");
                isOver = isOver || fatal;
                failed(name, during, problem.getClass().getSimpleName(), problem.getMessage(), fatal);
                return false;
            }
        }

        private void tell(String event, Collection<TopicPartition> partitions) {
            emit(event, Map.of(
                "member", name, "partitions", byTopic(partitions), "time_ms", System.currentTimeMillis()));
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("lost", partitions);
        }
    }
}
