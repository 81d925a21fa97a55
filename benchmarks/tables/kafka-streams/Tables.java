import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;

/**
 * The tables of the benchmarks in Kafka Streams: `Tables PROGRAM BROKERS RESULTS FOLDER`. Ends after that many
 * results, and prints the time of a result behind the first fifth as JSON. Stores are in memory, its faster ones.
 */
public final class Tables {
  private static final LongAdder RESULTS = new LongAdder();
  private static final LongAdder UNMATCHED = new LongAdder();
  private static final OperatingSystemMXBean SYSTEM =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private static void join(StreamsBuilder builder) {
    KTable<String, String> rows = builder.table("rows");
    builder.<String, String>stream("stream").leftJoin(rows, (value, row) -> {
      if (row == null) UNMATCHED.increment();
      return value + row;
    }).foreach((key, value) -> RESULTS.increment());
  }

  private static void foreignKey(StreamsBuilder builder) {
    KTable<String, String> rows = builder.table("rows");
    builder.<String, String>table("stream")
        .join(rows, value -> value.substring(0, 9), (value, row) -> value + row)
        .toStream()
        .foreach((key, value) -> RESULTS.increment());
  }

  private static void retract(StreamsBuilder builder) {
    builder.<String, String>table("stream")
        .groupBy((key, value) -> KeyValue.pair(value.substring(0, 5), value))
        .aggregate(() -> 0L, (key, value, count) -> {
          RESULTS.increment();
          return count + 1;
        }, (key, value, count) -> count - 1, Materialized.with(Serdes.String(), Serdes.Long()));
  }

  private static Properties settings(String brokers, String folder) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "tables-" + System.nanoTime());
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, folder);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 1000);
    settings.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG,
        BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    // As in Weir, each change is a result: a cache leaves some out, by the time of the commits.
    settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    settings.put("auto.offset.reset", "earliest");
    return settings;
  }

  private static void waitFor(long results) throws InterruptedException {
    while (RESULTS.sum() < results) Thread.sleep(10);
  }

  public static void main(String[] args) throws Exception {
    StreamsBuilder builder = new StreamsBuilder();
    switch (args[0]) {
      case "join" -> join(builder);
      case "foreign-key" -> foreignKey(builder);
      case "retract" -> retract(builder);
      default -> throw new IllegalArgumentException(args[0]);
    }
    long results = Long.parseLong(args[2]);
    try (KafkaStreams streams = new KafkaStreams(builder.build(), settings(args[1], args[3]))) {
      streams.start();
      waitFor(results / 5);
      long first = RESULTS.sum();
      long startNs = System.nanoTime();
      long startCpu = SYSTEM.getProcessCpuTime();
      waitFor(results);
      double measured = 1000.0 * (RESULTS.sum() - first);
      double us = (System.nanoTime() - startNs) / measured;
      double cpuUs = (SYSTEM.getProcessCpuTime() - startCpu) / measured;
      System.out.printf("{\"us\":%.3f,\"cpuUs\":%.3f,\"unmatched\":%d}%n", us, cpuUs, UNMATCHED.sum());
      streams.close(Duration.ofSeconds(10));
    }
  }
}
