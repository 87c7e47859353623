import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** Names of certificates as Java writes them, and the principals that Kafka makes of names. */
public class Record {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ObjectNode row = (ObjectNode) json.readTree(line);
            if (row.has("der")) {
                row.put("name", new X500Principal(HexFormat.of().parseHex(row.get("der").asText())).getName());
            } else {
                row.put("principal", principal(row.get("rules").asText(), row.get("name").asText()));
            }
            System.out.println(json.writeValueAsString(row));
        }
    }

    private static String principal(String rules, String name) throws Exception {
        try {
            return SslPrincipalMapper.fromRules(rules).getName(name);
        } catch (Exception problem) {
            return null;
        }
    }
}
