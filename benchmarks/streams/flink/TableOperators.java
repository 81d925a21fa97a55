import java.time.Duration;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.Collector;

/** The jobs of table-operators.ts for Flink: as {@link Operators}, with Flink's CEP library and its SQL. */
public final class TableOperators {
  private static final int STEPS = 5;

  private static int step(Operators.Reading reading) {
    return (int) ((reading.time ^ (reading.time >>> 7)) + reading.key) & 7;
  }

  private static SimpleCondition<Operators.Reading> isStep(int wanted) {
    return SimpleCondition.of(reading -> step(reading) == wanted);
  }

  private static DataStream<?> pattern(DataStream<Operators.Reading> readings, long withinMs) {
    Pattern<Operators.Reading, Operators.Reading> pattern =
        Pattern.<Operators.Reading>begin("0").where(isStep(0));
    for (int each = 1; each < STEPS; each++) {
      pattern = pattern.followedBy(String.valueOf(each)).where(isStep(each));
    }
    return CEP.pattern(readings.keyBy(reading -> reading.key), pattern.within(Duration.ofMillis(withinMs)))
        .process(
            new PatternProcessFunction<Operators.Reading, Integer>() {
              @Override
              public void processMatch(
                  java.util.Map<String, java.util.List<Operators.Reading>> match,
                  Context context,
                  Collector<Integer> out) {
                out.collect(match.size());
              }
            });
  }

  private static Schema.Builder timed() {
    return Schema.newBuilder()
        .columnByMetadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()");
  }

  /** One reading of ten is a new rate of its key; the others meet the rate of their time. */
  private static DataStream<?> temporal(
      StreamExecutionEnvironment env, DataStream<Operators.Reading> readings) {
    StreamTableEnvironment tables = StreamTableEnvironment.create(env);
    DataStream<Row> orders =
        readings
            .filter(reading -> reading.time % 10 != 0)
            .map(reading -> Row.of(reading.key, reading.value))
            .returns(Types.ROW_NAMED(new String[] {"k", "v"}, Types.INT, Types.INT));
    DataStream<Row> rates =
        readings
            .filter(reading -> reading.time % 10 == 0)
            .map(reading -> Row.ofKind(RowKind.UPDATE_AFTER, reading.key, (int) reading.time))
            .returns(Types.ROW_NAMED(new String[] {"k", "rate"}, Types.INT, Types.INT));
    tables.createTemporaryView(
        "orders", orders, timed().column("k", "INT").column("v", "INT").build());
    Schema keyed = timed().column("k", "INT NOT NULL").column("rate", "INT").primaryKey("k").build();
    tables.createTemporaryView(
        "rates", tables.fromChangelogStream(rates, keyed, ChangelogMode.upsert()));
    return tables.toDataStream(
        tables.sqlQuery(
            "SELECT o.k, o.v, r.rate FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.rowtime AS r ON o.k = r.k"));
  }

  public static void main(String[] args) throws Exception {
    Operators.measure(
        args,
        (env, readings) ->
            args[0].equals("table-cep")
                ? pattern(readings, 1_000_000)
                : temporal(env, readings));
  }

  private TableOperators() {}
}
