import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Properties;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Named;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts the words of the lines of a topic with exactly_once_v2: one instance of the application.
 *
 * <p>Arguments: BOOTSTRAP APPLICATION STATE_FOLDER SOURCE SINK ALIVE PROTOCOL (classic or streams). Each word makes one record in SINK, its key the word
 * and its value the count (8 bytes): the cache, which would leave counts out, is off. The file ALIVE is touched each second
 * while the instance runs. It ends, with an exit status other than 0, after an error that Streams does not get over, and
 * on SIGTERM.
 */
public final class WordCount {
    private static StreamsConfig configuration(
            String bootstrap, String application, String stateFolder, String protocol) {
        Properties properties = new Properties();
        properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
        properties.put(StreamsConfig.STATE_DIR_CONFIG, stateFolder);
        properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        properties.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        properties.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, protocol);
        properties.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, 1_000);
        if (protocol.equals("classic")) {  // else the server says so
            properties.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, 1);
            properties.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 3_000);
            properties.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 500);
        }
        properties.put(StreamsConfig.mainConsumerPrefix("auto.offset.reset"), "earliest");
        return new StreamsConfig(properties);
    }

    private static StreamsBuilder topology(String source, String sink) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(source, Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Named.as("count"), Materialized.as("counts"))
            .toStream()
            .to(sink, Produced.with(Serdes.String(), Serdes.Long()));
        return builder;
    }

    public static void main(String[] arguments) throws InterruptedException, IOException {
        Path alive = Path.of(arguments[5]);
        KafkaStreams streams = new KafkaStreams(
            topology(arguments[3], arguments[4]).build(), configuration(arguments[0], arguments[1], arguments[2], arguments[6]));
        streams.setUncaughtExceptionHandler(problem -> {
            problem.printStackTrace(System.out);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> System.out.println(Instant.now() + " " + before + " -> " + now));
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
        while (streams.state().isRunningOrRebalancing()) {
            Files.setLastModifiedTime(alive, FileTime.from(Instant.now()));
            Thread.sleep(Duration.ofSeconds(1).toMillis());
        }
        System.exit(1);
    }
}
