import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Kafka's own assignors on the questions of bench_assignors.py: name of the row, tab, median milliseconds. */
public class Peer {
    static final int GENERATION = 1;

    public static void main(String[] arguments) {
        int members = Integer.parseInt(arguments[0]);
        int topics = Integer.parseInt(arguments[1]);
        int partitions = Integer.parseInt(arguments[2]);
        int repeats = Integer.parseInt(arguments[3]);
        for (String row : Arrays.copyOfRange(arguments, 4, arguments.length)) {
            String[] words = row.split(" ");
            boolean equal = words[1].equals("equal");
            Map<String, Subscription> fresh = subscriptions(words[0], members, topics, equal, Map.of());
            Map<String, Subscription> asked = fresh;
            if (words[2].equals("lost")) {
                Map<String, Assignment> before = assign(words[0], cluster(topics, partitions), fresh);
                asked = subscriptions(words[0], members, topics, equal, before);
                asked.remove(member(0));
            }
            System.out.println(row + "\t" + median(words[0], cluster(topics, partitions), asked, repeats));
        }
    }

    static double median(String name, Cluster cluster, Map<String, Subscription> asked, int repeats) {
        double[] took = new double[repeats];
        for (int i = -repeats; i < repeats; i++) { // the first half only warms up
            long started = System.nanoTime();
            assign(name, cluster, asked);
            if (i >= 0) {
                took[i] = (System.nanoTime() - started) / 1e6;
            }
        }
        Arrays.sort(took);
        return took[repeats / 2];
    }

    static ConsumerPartitionAssignor assignor(String name) {
        switch (name) {
            case "range": return new RangeAssignor();
            case "roundrobin": return new RoundRobinAssignor();
            case "sticky": return new StickyAssignor();
            default: return new CooperativeStickyAssignor();
        }
    }

    static Map<String, Assignment> assign(String name, Cluster cluster, Map<String, Subscription> subscriptions) {
        subscriptions.values().forEach(each -> {
            if (each.userData() != null) {
                each.userData().rewind();
            }
        });
        return assignor(name).assign(cluster, new GroupSubscription(subscriptions)).groupAssignment();
    }

    static String member(int number) {
        return String.format("consumer-%04d", number);
    }

    static Map<String, Subscription> subscriptions(
            String name, int members, int topics, boolean equal, Map<String, Assignment> before) {
        Map<String, Subscription> found = new LinkedHashMap<>();
        for (int m = 0; m < members; m++) {
            List<String> wanted = new ArrayList<>();
            for (int t = 0; t < topics; t++) {
                if (equal || (m * 31 + t * 17) % topics < topics / 2) {
                    wanted.add(String.format("topic-%03d", t));
                }
            }
            Assignment had = before.get(member(m));
            if (had == null) {
                found.put(member(m), new Subscription(wanted));
                continue;
            }
            ConsumerPartitionAssignor remembering = assignor(name);
            remembering.onAssignment(had, new ConsumerGroupMetadata("g", GENERATION, member(m), Optional.empty()));
            ByteBuffer userData = remembering.subscriptionUserData(Set.copyOf(wanted));
            List<TopicPartition> owned = name.equals("sticky") ? List.of() : had.partitions();
            found.put(member(m), new Subscription(wanted, userData, owned, GENERATION, Optional.empty()));
        }
        return found;
    }

    static Cluster cluster(int topics, int partitions) {
        Node node = new Node(0, "localhost", 9092);
        Node[] replicas = {node};
        List<PartitionInfo> all = new ArrayList<>();
        for (int t = 0; t < topics; t++) {
            for (int p = 0; p < partitions; p++) {
                all.add(new PartitionInfo(String.format("topic-%03d", t), p, node, replicas, replicas));
            }
        }
        return new Cluster("bench", List.of(node), all, Set.of(), Set.of());
    }
}
