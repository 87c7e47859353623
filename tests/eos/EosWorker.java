import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
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

/** Copies records from one topic to another, each batch and its offsets in one transaction (see worker.py). */
public class EosWorker {
    public static void main(String[] arguments) throws Exception {
        Path alive = Path.of(arguments[5]);
        while (true) {
            try (KafkaConsumer<byte[], byte[]> consumer = consumer(arguments[0], arguments[1]);
                 KafkaProducer<byte[], byte[]> producer = producer(arguments[0], arguments[2])) {
                untilDone(producer::initTransactions);
                consumer.subscribe(List.of(arguments[3]));
                while (true) {
                    copyNext(consumer, producer, arguments[4]);
                    Files.setLastModifiedTime(alive, FileTime.fromMillis(System.currentTimeMillis()));
                }
            } catch (KafkaException problem) {
                System.out.println("replaced: " + problem);
            }
        }
    }

    private static void copyNext(
            KafkaConsumer<byte[], byte[]> consumer, KafkaProducer<byte[], byte[]> producer, String sink) {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
        if (records.isEmpty()) {
            return;
        }
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> each : records) {
            producer.send(new ProducerRecord<>(sink, each.partition(), null, each.value()));
            next.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
        }
        producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
        untilDone(producer::commitTransaction);
    }

    /** A call that timed out has to be repeated; nothing else may be called. */
    private static void untilDone(Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException late) {
                System.out.println("again: " + late);
            }
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, String group) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("isolation.level", "read_committed");
        settings.put("session.timeout.ms", "6000");
        settings.put("heartbeat.interval.ms", "500");
        settings.put("max.poll.records", "25");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String transactionalId) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("transactional.id", transactionalId);
        settings.put("transaction.timeout.ms", "10000");
        return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }
}
