import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A test of Kafka's own consumer against `coordinator testing`: its member is expired, and it has to come back. */
class RebalanceTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final HttpClient http = HttpClient.newHttpClient();
    private Process server;
    private String bootstrap;
    private String admin;

    /** The server ends when this process does, because its stdin closes. */
    @BeforeEach
    void start() throws IOException {
        String command = System.getenv().getOrDefault("COORDINATOR", "coordinator");
        server = new ProcessBuilder(command, "testing", "--until-stdin-closes")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader stdout = server.inputReader();
        JsonNode ready = JSON.readTree(stdout.readLine());
        bootstrap = ready.get("bootstrap").asText();
        admin = ready.get("admin").asText();
    }

    @AfterEach
    void stop() throws Exception {
        server.getOutputStream().close();
        server.waitFor();
    }

    /** Asks the control; any status but 200 fails the test with what it says. */
    private JsonNode ask(String method, String path, Object body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + admin + path))
                .header("Content-Type", "application/json")
                .method(method, HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body)))
                .build();
        HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
        assertEquals(200, response.statusCode(), response.body());
        return JSON.readTree(response.body());
    }

    @Test
    void anExpiredConsumerComesBack() throws Exception {
        ask("POST", "/testing/topics", Map.of("name", "orders", "partitions", 4));
        AtomicBoolean ending = new AtomicBoolean();
        Thread polling = new Thread(() -> {
            Map<String, Object> settings = Map.of(
                    "bootstrap.servers", bootstrap,
                    "group.id", "billing",
                    "client.id", "billing-1",
                    "heartbeat.interval.ms", 50);
            ByteArrayDeserializer bytes = new ByteArrayDeserializer();
            try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
                consumer.subscribe(List.of("orders"));
                while (!ending.get()) {
                    consumer.poll(Duration.ofMillis(50));
                }
            }
        });
        polling.start();
        try {
            String stable = "/testing/group?id=billing&state=Stable&members=1&timeout=9";
            JsonNode before = ask("GET", stable, Map.of());
            ask("POST", "/testing/faults", Map.of("do", "expire", "group", "billing", "member", "billing-1"));
            JsonNode after = ask("GET", stable + "&generation=" + (before.get("generation_id").asInt() + 1), Map.of());
            assertNotEquals(memberId(before), memberId(after));
            Map<String, Object> expected =
                    Map.of("group", "billing", "at_most", 3, "causes", List.of("new_member", "fault"));
            ask("POST", "/testing/assert-rebalances", expected);
        } finally {
            ending.set(true);
            polling.join();
        }
    }

    private static String memberId(JsonNode group) {
        return group.get("members").get(0).get("member_id").asText();
    }
}
