import org.apache.kafka.coordinator.share.PersisterStateBatchCombiner;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import java.util.*;
public class Record {
  static List<PersisterStateBatch> random(Random r, int n, int span, boolean sorted) {
    List<PersisterStateBatch> out = new ArrayList<>();
    byte[] states = {0, 2, 4};
    long at = 0;
    for (int i = 0; i < n; i++) {
      long first = sorted ? at + r.nextInt(3) : r.nextInt(span);
      long last = first + r.nextInt(span / 3 + 1);
      at = last + 1;
      out.add(new PersisterStateBatch(first, last, states[r.nextInt(3)], (short) (1 + r.nextInt(3))));
    }
    return out;
  }
  static String text(List<PersisterStateBatch> l) {
    StringBuilder s = new StringBuilder("[");
    for (PersisterStateBatch b : l) { if (s.length() > 1) s.append(","); s.append("[" + b.firstOffset() + "," + b.lastOffset() + "," + b.deliveryState() + "," + b.deliveryCount() + "]"); }
    return s.append("]").toString();
  }
  public static void main(String[] a) {
    int count = Integer.parseInt(a[0]);
    Random r = new Random(Long.parseLong(a[1]));
    for (int i = 0; i < count; i++) {
      int span = 4 + r.nextInt(40);
      List<PersisterStateBatch> known = random(r, r.nextInt(8), span, r.nextInt(3) > 0);
      List<PersisterStateBatch> fresh = random(r, r.nextInt(8), span, r.nextBoolean());
      long start = r.nextInt(3) == 0 ? -1 : r.nextInt(span);
      List<PersisterStateBatch> merged = new PersisterStateBatchCombiner(known, fresh, start).combineStateBatches();
      System.out.println("{\"known\": " + text(known) + ", \"new\": " + text(fresh) + ", \"start_offset\": " + start + ", \"merged\": " + text(merged) + "}");
    }
  }
}
