import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** The broker's own assignors on the questions of bench_assignors.py: name of the row, tab, median milliseconds. */
public class ServerPeer {
    public static void main(String[] arguments) throws Exception {
        int members = Integer.parseInt(arguments[0]);
        int partitions = Integer.parseInt(arguments[1]);
        int repeats = Integer.parseInt(arguments[2]);
        for (String row : Arrays.copyOfRange(arguments, 3, arguments.length)) {
            String[] words = row.split(" ");
            Group group = new Group(words[0], members, Integer.parseInt(words[1]), partitions, words[3].equals("equal"));
            Map<String, MemberAssignment> before = Map.of();
            if (words[4].equals("lost")) {
                before = group.assign(Map.of(), 0);
            }
            double[] took = new double[repeats];
            for (int i = -repeats; i < repeats; i++) { // the first half only warms up
                long nanoseconds = group.nanoseconds(before, words[4].equals("lost") ? 1 : 0);
                if (i >= 0) {
                    took[i] = nanoseconds / 1e6;
                }
            }
            Arrays.sort(took);
            System.out.println(row + "\t" + took[repeats / 2]);
        }
    }

    static class Group implements SubscribedTopicDescriber {
        final ConsumerGroupPartitionAssignor assignor;
        final int members;
        final Uuid[] topics;
        final int partitions;
        final boolean equal;

        Group(String assignor, int members, int topics, int partitions, boolean equal) {
            this.assignor = assignor.equals("uniform") ? new UniformAssignor() : new RangeAssignor();
            this.members = members;
            this.topics = new Uuid[topics];
            for (int t = 0; t < topics; t++) {
                this.topics[t] = new Uuid(t, t * 7919L);
            }
            this.partitions = partitions / topics;
            this.equal = equal;
        }

        public int numPartitions(Uuid topic) {
            return partitions;
        }

        public Set<String> racksForPartition(Uuid topic, int partition) {
            return Set.of();
        }

        GroupSpecImpl spec(Map<String, MemberAssignment> before, int first) {
            Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
            Map<String, MemberSubscriptionAndAssignmentImpl> specs = new HashMap<>();
            Set<Uuid> all = new HashSet<>(Arrays.asList(topics));
            for (int m = first; m < members; m++) {
                String id = String.format("consumer-%04d", m);
                Set<Uuid> subscribed = equal ? all : new HashSet<>();
                for (int t = 0; t < topics.length && !equal; t++) {
                    if ((m * 31 + t * 17) % topics.length < topics.length / 2) {
                        subscribed.add(topics[t]);
                    }
                }
                Map<Uuid, Set<Integer>> had = before.isEmpty() ? Map.of() : before.get(id).partitions();
                had.forEach((topic, numbers) -> numbers.forEach(
                        number -> owners.computeIfAbsent(topic, none -> new HashMap<>()).put(number, id)));
                specs.put(id, new MemberSubscriptionAndAssignmentImpl(
                        Optional.empty(), Optional.empty(), subscribed, new Assignment(had)));
            }
            return new GroupSpecImpl(
                    specs, equal ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, owners);
        }

        Map<String, MemberAssignment> assign(Map<String, MemberAssignment> before, int first) throws Exception {
            return assignor.assign(spec(before, first), this).members();
        }

        long nanoseconds(Map<String, MemberAssignment> before, int first) throws Exception {
            GroupSpecImpl spec = spec(before, first);
            long started = System.nanoTime();
            assignor.assign(spec, this);
            return System.nanoTime() - started;
        }
    }
}
