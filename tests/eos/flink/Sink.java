import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Optional;
import java.util.stream.Stream;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * A Flink job in this process that writes the numbers 0 to COUNT - 1 to a topic, exactly once, and ends.
 *
 * <p>Arguments: BOOTSTRAP TOPIC COUNT RECORDS_PER_SECOND CHECKPOINTS NAMING FAIL. It goes on from the newest checkpoint in
 * the folder CHECKPOINTS, if there is one. NAMING is POOLING or INCREMENTING (how transactional ids are named). When the
 * file FAIL is there, a task removes it and fails, and Flink starts the job again from its last checkpoint.
 */
public final class Sink {
    private static final int CHECKPOINT_MS = 500;
    private static final int PARALLELISM = 2;

    private Sink() {}

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        String topic = arguments[1];
        long count = Long.parseLong(arguments[2]);
        double perSecond = Double.parseDouble(arguments[3]);
        Path checkpoints = Path.of(arguments[4]);
        TransactionNamingStrategy naming = TransactionNamingStrategy.valueOf(arguments[5]);
        String fail = arguments[6];

        StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment(configuration(checkpoints));
        job.setParallelism(PARALLELISM);
        job.enableCheckpointing(CHECKPOINT_MS);
        DataGeneratorSource<Long> numbers = new DataGeneratorSource<>(
                number -> number, count, RateLimiterStrategy.perSecond(perSecond), Types.LONG);
        KafkaSink<String> sink = KafkaSink.<String>builder()
                .setBootstrapServers(bootstrap)
                .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
                .setTransactionalIdPrefix("flink")
                .setTransactionNamingStrategy(naming)
                .setProperty("transaction.timeout.ms", "600000")
                .setRecordSerializer(KafkaRecordSerializationSchema.builder()
                        .setTopic(topic)
                        .setValueSerializationSchema(new SimpleStringSchema())
                        .build())
                .build();
        job.fromSource(numbers, WatermarkStrategy.noWatermarks(), "numbers")
                .map(new FailOnDemand(fail))
                .uid("map")
                .sinkTo(sink)
                .uid("sink");
        job.execute("sink");
    }

    private static Configuration configuration(Path checkpoints) throws IOException {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.storage", "filesystem");
        settings.setString("execution.checkpointing.dir", checkpoints.toUri().toString());
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("execution.checkpointing.timeout", "60 s");
        settings.setString("execution.checkpointing.tolerable-failed-checkpoints", "1000");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.attempts", "1000000");
        settings.setString("restart-strategy.fixed-delay.delay", "200 ms");
        settings.setString("rest.port", "0");
        Optional<Path> newest = newest(checkpoints);
        if (newest.isPresent()) {
            settings.setString("execution.state-recovery.path", newest.get().toUri().toString());
        }
        return settings;
    }

    /** A checkpoint is complete when its file _metadata is there. */
    private static Optional<Path> newest(Path checkpoints) throws IOException {
        if (!Files.isDirectory(checkpoints)) {
            return Optional.empty();
        }
        try (Stream<Path> files = Files.walk(checkpoints, 3)) {
            return files.filter(file -> file.endsWith("_metadata"))
                    .max(Comparator.comparingLong(file -> file.toFile().lastModified()))
                    .map(Path::getParent);
        }
    }

    /** Passes numbers on, as text. */
    private static final class FailOnDemand extends RichMapFunction<Long, String> {
        private final String file;

        FailOnDemand(String file) {
            this.file = file;
        }

        @Override
        public String map(Long number) throws IOException {
            if (Files.deleteIfExists(Path.of(file))) {
                throw new IllegalStateException("asked to fail");
            }
            return number.toString();
        }
    }
}
