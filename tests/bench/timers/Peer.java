import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.kafka.server.util.timer.TimerTask;

/**
 * Kafka's SystemTimer on the work of peers.py: COUNT in, one JSON object out; warmed up by the same work. Cancel and start is
 * CPU time of the measuring thread, so the collector's threads are not in it; expiry is by the clock.
 */
public class Peer {
    static final int SHORTEST_MS = 30_000;
    static final int SPREAD_MS = 60_000;
    static final int STARTS_PER_TURN = 1000;
    static final int EXPIRY_SPREAD_MS = 100;
    static final int WARM_UP_ROUNDS = 3;

    static final AtomicInteger due = new AtomicInteger();

    static class Task extends TimerTask {
        final String key;

        Task(String key, long delayMs) {
            super(delayMs);
            this.key = key;
        }

        @Override
        public void run() {
            due.incrementAndGet();
        }
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        Random chance = new Random(1);
        String[] keys = new String[count];
        for (int place = 0; place < count; place++) {
            keys[place] = "group-" + place;
        }
        SystemTimer timer = new SystemTimer("bench");
        Task[] tasks = new Task[count];
        long before = usedBytes();
        for (int place = 0; place < count; place++) {
            tasks[place] = start(timer, keys[place], SHORTEST_MS + chance.nextInt(SPREAD_MS));
        }
        long taken = usedBytes() - before;
        int[] order = new int[count];
        int[] delays = new int[count];
        for (int turn = 0; turn < count; turn++) {
            order[turn] = chance.nextInt(count);
            delays[turn] = SHORTEST_MS + chance.nextInt(SPREAD_MS);
        }
        for (int round = 0; round < WARM_UP_ROUNDS; round++) {
            churn(timer, tasks, keys, order, delays);
        }
        long started = threadNanoseconds();
        churn(timer, tasks, keys, order, delays);
        double churned = (threadNanoseconds() - started) / (double) count;
        double expired = 0;
        for (int round = 0; round <= WARM_UP_ROUNDS; round++) { // the last one counts
            expired = expire(timer, tasks, keys, delays);
        }
        timer.close();
        System.out.printf(Locale.ROOT,
            "{\"cancel_and_start_ns\": %.1f, \"restart_ns\": null, \"expiry_ns\": %.1f, \"bytes_per_timer\": %.1f}%n",
            churned, expired, taken / (double) count);
    }

    static Task start(SystemTimer timer, String key, long delayMs) {
        Task task = new Task(key, delayMs);
        timer.add(task);
        return task;
    }

    static void churn(SystemTimer timer, Task[] tasks, String[] keys, int[] order, int[] delays) throws Exception {
        for (int turn = 0; turn < order.length; turn++) {
            int place = order[turn];
            tasks[place].cancel();
            tasks[place] = start(timer, keys[place], delays[turn]);
            if (turn % STARTS_PER_TURN == 0) {
                timer.advanceClock(0);
            }
        }
    }

    /** Nanoseconds a timer, until its task has run on the timer's own thread. */
    static double expire(SystemTimer timer, Task[] tasks, String[] keys, int[] delays) throws Exception {
        for (int place = 0; place < tasks.length; place++) {
            tasks[place].cancel();
            tasks[place] = start(timer, keys[place], 1000 + delays[place] % EXPIRY_SPREAD_MS);
        }
        Thread.sleep(1000 + 2 * EXPIRY_SPREAD_MS);
        due.set(0);
        long started = System.nanoTime();
        while (due.get() < tasks.length) {
            timer.advanceClock(1);
        }
        return (System.nanoTime() - started) / (double) tasks.length;
    }

    static long threadNanoseconds() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    static long usedBytes() throws Exception {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(50);
        }
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }
}
