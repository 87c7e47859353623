import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyQueryMetadata;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;

/**
 * An instance of an application in a streams group (KIP-1071) that a test has in its hands, until SIGTERM.
 *
 * <p>Arguments: BOOTSTRAP APPLICATION STATE_FOLDER SHAPE [NAME=VALUE ...], the last ones configs of Kafka Streams. SHAPE:
 * `count` counts the words of the topic lines; `copy` copies it; `join` joins the topics left and right, which have to have
 * the same number of partitions. The word `crash` is an exception, whose handler has all instances of the application end.
 */
public final class StreamsCase {
    private static void build(StreamsBuilder builder, String shape) {
        Consumed<String, String> texts = Consumed.with(Serdes.String(), Serdes.String());
        if (shape.equals("join")) {
            KStream<String, String> left = builder.stream("left", texts);
            left.join(builder.stream("right", texts), (one, other) -> one + other,
                JoinWindows.ofTimeDifferenceWithNoGrace(Duration.ofMinutes(1))).foreach((key, value) -> { });
            return;
        }
        KStream<String, String> lines = builder.stream("lines", texts);
        if (shape.equals("copy")) {
            lines.foreach((key, value) -> { });
            return;
        }
        lines.flatMapValues(line -> Arrays.asList(line.split(" ")))
            .peek((key, word) -> {
                if (word.equals("crash")) {
                    throw new IllegalStateException("a word that cannot be counted");
                }
            })
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"));
    }

    /**
     * Says each half second what interactive queries go by: where each partition of a topic is processed, and who has the
     * count of the word `well`.
     */
    private static void tellEndpoints(KafkaStreams streams) throws InterruptedException {
        while (true) {
            TreeMap<String, String> partitions = new TreeMap<>();
            streams.metadataForAllStreamsClients().forEach(client -> client.topicPartitions().forEach(partition ->
                partitions.put(partition.toString(), client.host() + ":" + client.port())));
            KeyQueryMetadata found = streams.state() == KafkaStreams.State.RUNNING
                ? streams.queryMetadataForKey("counts", "well", Serdes.String().serializer()) : null;
            String active = found == null ? "unknown" : found.activeHost().host() + ":" + found.activeHost().port();
            System.out.println("endpoints " + partitions + " well " + active);
            Thread.sleep(500);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Properties properties = new Properties();
        properties.putAll(Map.of(
            StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0],
            StreamsConfig.APPLICATION_ID_CONFIG, arguments[1],
            StreamsConfig.STATE_DIR_CONFIG, arguments[2],
            StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams",
            StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 500));
        for (String config : Arrays.asList(arguments).subList(4, arguments.length)) {
            String[] parts = config.split("=", 2);
            properties.put(parts[0], parts[1]);
        }
        StreamsBuilder builder = new StreamsBuilder();
        build(builder, arguments[3]);
        KafkaStreams streams = new KafkaStreams(builder.build(), properties);
        streams.setUncaughtExceptionHandler(problem -> {
            problem.printStackTrace(System.out);
            return problem.getCause() instanceof IllegalStateException
                ? StreamThreadExceptionResponse.SHUTDOWN_APPLICATION
                : StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> System.out.println(Instant.now() + " " + before + " -> " + now));
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
        if (properties.containsKey(StreamsConfig.APPLICATION_SERVER_CONFIG)) {
            tellEndpoints(streams);
        }
        new CountDownLatch(1).await();
    }
}
