import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Copies records from one topic to another, each batch and its offsets in one transaction.
 *
 * <p>Arguments: BOOTSTRAP GROUP TRANSACTIONAL_ID SOURCE SINK ALIVE. The file ALIVE is touched after each batch. An error
 * aborts the transaction; when that is not possible, the clients are replaced. SIGTERM closes them. Records are written one
 * by one, so that a transaction is open for most of the time, and is hit when something is killed.
 */
public final class Copier implements AutoCloseable {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final int RECORDS_AT_ONCE = 10;

    private static volatile boolean isStopped = false;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaProducer<byte[], byte[]> producer;
    private final String sink;

    private Copier(String bootstrap, String group, String transactionalId, String source, String sink) {
        this.sink = sink;
        Properties reading = new Properties();
        reading.put("bootstrap.servers", bootstrap);
        reading.put("group.id", group);
        reading.put("auto.offset.reset", "earliest");
        reading.put("enable.auto.commit", false);
        reading.put("isolation.level", "read_committed");
        reading.put("max.poll.records", RECORDS_AT_ONCE);
        reading.put("session.timeout.ms", 3_000);
        reading.put("heartbeat.interval.ms", 500);
        Properties writing = new Properties();
        writing.put("bootstrap.servers", bootstrap);
        writing.put("transactional.id", transactionalId);
        writing.put("transaction.timeout.ms", 10_000);
        producer = new KafkaProducer<>(writing, new ByteArraySerializer(), new ByteArraySerializer());
        consumer = new KafkaConsumer<>(reading, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(Set.of(source));
    }

    private void copyNext() {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
        if (records.isEmpty()) {
            return;
        }
        producer.beginTransaction();
        try {
            for (ConsumerRecord<byte[], byte[]> each : records) {
                producer.send(new ProducerRecord<>(sink, each.partition(), each.key(), each.value()));
                producer.flush();
            }
            producer.sendOffsetsToTransaction(records.nextOffsets(), consumer.groupMetadata());
            untilFinal(producer::commitTransaction);
        } catch (KafkaException problem) {
            say("aborted", problem);
            untilFinal(producer::abortTransaction);
            seekToCommitted();
        }
    }

    private void seekToCommitted() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition each : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(each);
            if (offset == null) {
                consumer.seekToBeginning(Set.of(each));
            } else {
                consumer.seek(each, offset);
            }
        }
    }

    /** A commit or an abort that timed out may have happened; only the same call again tells. */
    private static void untilFinal(Runnable end) {
        while (true) {
            try {
                end.run();
                return;
            } catch (TimeoutException problem) {
                say("again", problem);
            }
        }
    }

    @Override
    public void close() {
        consumer.close();
        producer.close(Duration.ZERO);
    }

    private static void say(String what, Exception problem) {
        System.out.println(Instant.now() + " " + what + ": " + problem);
    }

    public static void main(String[] arguments) throws IOException {
        Path alive = Path.of(arguments[5]);
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            isStopped = true;
            try {
                main.join();
            } catch (InterruptedException problem) {
                Thread.currentThread().interrupt();
            }
        }));
        while (!isStopped) {
            try (Copier copier = new Copier(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])) {
                copier.producer.initTransactions();
                while (!isStopped) {
                    copier.copyNext();
                    Files.setLastModifiedTime(alive, FileTime.from(Instant.now()));
                }
            } catch (KafkaException problem) {
                say("replaced", problem);
            }
        }
    }
}
