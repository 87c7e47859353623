import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
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

/** Asks the broker's assignors random questions: Record SEED QUESTIONS MEMBERS TOPICS PARTITIONS (largest numbers). */
public class Record {
    static final SubscriptionType SAME = SubscriptionType.HOMOGENEOUS;
    static final SubscriptionType DIFFERENT = SubscriptionType.HETEROGENEOUS;

    public static void main(String[] arguments) throws Exception {
        int[] numbers = java.util.Arrays.stream(arguments).mapToInt(Integer::parseInt).toArray();
        for (int seed = numbers[0]; seed < numbers[0] + numbers[1]; seed++) {
            new Record(seed).record(numbers[2], numbers[3], numbers[4]);
        }
    }

    final Random random;
    final int seed;
    final List<Uuid> topics = new ArrayList<>();
    final Map<Uuid, Integer> partitions = new HashMap<>();
    final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
    final Map<String, Map<Uuid, Set<Integer>>> targets = new HashMap<>();
    final Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();

    Record(int seed) {
        this.seed = seed;
        this.random = new Random(seed);
    }

    void record(int membersMax, int topicsMax, int partitionsMax) throws Exception {
        SubscriptionType type = random.nextInt(3) == 0 ? SAME : DIFFERENT;
        ConsumerGroupPartitionAssignor assignor =
                random.nextInt(4) == 0 ? new RangeAssignor() : new UniformAssignor();
        for (int t = 1 + random.nextInt(topicsMax); t > 0; t--) {
            Uuid id = new Uuid(random.nextLong(), random.nextLong());
            topics.add(id);
            partitions.put(id, 1 + random.nextInt(partitionsMax));
        }
        List<String> ids = new ArrayList<>();
        for (int m = 1 + random.nextInt(membersMax); m > 0; m--) {
            ids.add("m" + Long.toString(random.nextLong(), 36));
        }
        drawTargets(ids);
        drawMembers(ids, type);
        Map<String, MemberAssignment> answer = assignor.assign(new GroupSpecImpl(members, type, owners), describer()).members();
        System.out.println(line(assignor.name(), type, answer));
    }

    /** A part of the partitions, evenly or lopsided. */
    void drawTargets(List<String> ids) {
        boolean lopsided = random.nextBoolean();
        int part = random.nextInt(101);
        ids.forEach(id -> targets.put(id, new HashMap<>()));
        for (Uuid topic : topics) {
            for (int p = 0; p < partitions.get(topic); p++) {
                if (random.nextInt(100) < part) {
                    double place = lopsided ? Math.pow(random.nextDouble(), 3) : random.nextDouble();
                    String owner = ids.get((int) (ids.size() * place));
                    targets.get(owner).computeIfAbsent(topic, none -> new HashSet<>()).add(p);
                    owners.computeIfAbsent(topic, none -> new HashMap<>()).put(p, owner);
                }
            }
        }
    }

    void drawMembers(List<String> ids, SubscriptionType type) {
        double density = random.nextDouble();
        for (String id : ids) {
            Set<Uuid> subscribed = new HashSet<>();
            for (Uuid topic : topics) {
                if (type == SAME || random.nextDouble() < density) {
                    subscribed.add(topic);
                }
            }
            Optional<String> instance = random.nextInt(4) == 0 ? Optional.of("i" + id.substring(3)) : Optional.empty();
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                    Optional.empty(), instance, subscribed, new Assignment(targets.get(id))));
        }
    }

    SubscribedTopicDescriber describer() {
        return new SubscribedTopicDescriber() {
            public int numPartitions(Uuid topic) {
                return partitions.getOrDefault(topic, -1);
            }

            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
    }

    String name(Uuid topic) {
        return "\"t" + topics.indexOf(topic) + "\"";
    }

    String line(String assignor, SubscriptionType type, Map<String, MemberAssignment> answer) {
        return "{\"case\":\"random-" + seed + "\",\"assignor\":\"" + assignor + "\",\"source\":\"4.3.1\",\"subscription_type\":\""
                + type.toString().toLowerCase() + "\",\"topics\":[" + topics.stream().map(this::topic).collect(Collectors.joining(","))
                + "],\"topic_order\":" + names(new HashSet<>(topics)) + ",\"members\":["
                + members.keySet().stream().map(this::member).collect(Collectors.joining(",")) + "],\"assignment\":{"
                + members.keySet().stream().map(id -> "\"" + id + "\":{" + assigned(answer.get(id)) + "}")
                        .collect(Collectors.joining(",")) + "}}";
    }

    String topic(Uuid id) {
        UUID uuid = new UUID(id.getMostSignificantBits(), id.getLeastSignificantBits());
        return "{\"name\":" + name(id) + ",\"id\":\"" + uuid + "\",\"partitions\":" + partitions.get(id) + "}";
    }

    String names(Set<Uuid> ids) {
        return "[" + ids.stream().map(this::name).collect(Collectors.joining(",")) + "]";
    }

    String member(String id) {
        MemberSubscriptionAndAssignmentImpl member = members.get(id);
        String instance = member.instanceId().map(each -> ",\"instance_id\":\"" + each + "\"").orElse("");
        String target = member.partitions().entrySet().stream()
                .map(each -> "{\"topic\":" + name(each.getKey()) + ",\"partitions\":" + each.getValue() + "}")
                .collect(Collectors.joining(","));
        return "{\"id\":\"" + id + "\"" + instance + ",\"topics\":" + names(member.subscribedTopicIds())
                + ",\"target\":[" + target + "]}";
    }

    String assigned(MemberAssignment assignment) {
        return assignment == null ? "" : assignment.partitions().entrySet().stream()
                .filter(each -> !each.getValue().isEmpty())
                .map(each -> name(each.getKey()) + ":" + new TreeSet<>(each.getValue()))
                .collect(Collectors.joining(","));
    }
}
