import java.util.LinkedHashSet;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.utils.Utils;

/** Prints 1,000 names as JSON lines with the partition that Kafka gives them; README.md says how to run it. */
class Record {
    private static final int NAMES = 1000;
    private static final int[] PARTITION_COUNTS = {1, 7, 50, 2147483647};
    private static final int[][] ALPHABETS = {
        {'a', 'z'}, {' ', '~'}, {0, 0x7F}, {0xA0, 0x17F}, {0x4E00, 0x9FFF}, {0xE000, 0xFFFD}, {0x1F300, 0x1F6FF}, {0x10000, 0x10FFFF},
    };

    public static void main(String[] arguments) {
        Set<String> names = new LinkedHashSet<>();
        names.add("");
        names.add("billing");
        names.add("polygenelubricants"); // the hash is -2^31, which has no absolute value
        names.add("GydZG_");
        names.add("DESIGNING WORKHOUSES");
        names.add("\uD83D\uDE00");
        names.add("群组");
        names.add("x".repeat(249));
        names.add("\uD83D\uDE00".repeat(10_000));
        Random random = new Random(1);
        while (names.size() < NAMES) {
            int[] alphabet = ALPHABETS[random.nextInt(ALPHABETS.length)];
            int length = 1 + random.nextInt(random.nextInt(20) == 0 ? 300 : 24);
            StringBuilder name = new StringBuilder();
            for (int i = 0; i < length; i++) {
                name.appendCodePoint(alphabet[0] + random.nextInt(alphabet[1] - alphabet[0] + 1));
            }
            names.add(name.toString());
        }
        names.forEach(Record::print);
    }

    private static void print(String name) {
        StringBuilder line = new StringBuilder("{\"name\": \"");
        for (char unit : name.toCharArray()) {
            line.append(unit >= ' ' && unit <= '~' && unit != '"' && unit != '\\' ? String.valueOf(unit) : String.format("\\u%04x", (int) unit));
        }
        line.append("\", \"hash\": ").append(name.hashCode()).append(", \"partitions\": {");
        String separator = "";
        for (int count : PARTITION_COUNTS) {
            line.append(separator).append('"').append(count).append("\": ").append(Utils.abs(name.hashCode()) % count);
            separator = ", ";
        }
        System.out.println(line.append("}}"));
    }
}
