import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.KeyedStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.ProcessJoinFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * The jobs of operators.ts for Flink, in one subtask with state on the heap and no checkpoints. Prints the us of a record,
 * and those of processors, after the first fifth; for timers the seconds from the first that fires to the end of the job:
 * {@code Operators NAME RECORDS KEYS PER_MS BEHIND_MS}.
 */
public final class Operators {
  /** Share of the records before the clock starts. */
  private static final double WARM_UP = 0.2;

  private static volatile long startNanos;
  private static volatile long startCpu;

  public static final class Reading {
    public int key;
    public long time;
    public int value;
  }

  /** The readings of operators.ts. */
  public static final class Readings implements SourceFunction<Reading> {
    private final long records;
    private final int keys;
    private final long perMs;
    private volatile boolean canceled;

    Readings(long records, int keys, long perMs) {
      this.records = records;
      this.keys = keys;
      this.perMs = perMs;
    }

    @Override
    public void run(SourceContext<Reading> context) {
      long from = Math.round(records * WARM_UP);
      for (long index = 0; index < records && !canceled; index++) {
        if (index == from) start();
        Reading reading = new Reading();
        reading.key = ((int) index * 0x9e3779b1) % keys;
        reading.time = index / perMs;
        reading.value = (int) ((index ^ (index >>> 5)) & 1);
        synchronized (context.getCheckpointLock()) {
          context.collectWithTimestamp(reading, reading.time);
        }
      }
    }

    @Override
    public void cancel() {
      canceled = true;
    }
  }

  public static final class Nothing extends ProcessJoinFunction<Reading, Reading, Integer> {
    @Override
    public void processElement(Reading left, Reading right, Context context, Collector<Integer> out) {}
  }

  public static final class Size extends ProcessWindowFunction<Reading, Integer, Integer, TimeWindow> {
    @Override
    public void process(Integer key, Context context, Iterable<Reading> elements, Collector<Integer> out) {
      int size = 0;
      for (Reading ignored : elements) size++;
      out.collect(size);
    }
  }

  public static final class Timers extends KeyedProcessFunction<Integer, Reading, Integer> {
    @Override
    public void processElement(Reading reading, Context context, Collector<Integer> out) {
      context.timerService().registerEventTimeTimer(Long.MAX_VALUE - 1);
    }

    @Override
    public void onTimer(long timestamp, OnTimerContext context, Collector<Integer> out) {
      if (startNanos == 0) start();
    }
  }

  private static void start() {
    startCpu = cpu();
    startNanos = System.nanoTime();
  }

  private static long cpu() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  private static KeyedStream<Reading, Integer> side(DataStream<Reading> readings, int value) {
    return readings.filter(reading -> reading.value == value).keyBy(reading -> reading.key);
  }

  private static DataStream<?> join(DataStream<Reading> readings, long boundMs) {
    return side(readings, 0)
        .intervalJoin(side(readings, 1))
        .between(Duration.ofMillis(0), Duration.ofMillis(boundMs))
        .process(new Nothing());
  }

  private static Reading sum(Reading a, Reading b) {
    Reading sum = new Reading();
    sum.key = a.key;
    sum.time = a.time;
    sum.value = a.value + b.value;
    return sum;
  }

  private static DataStream<?> job(String name, DataStream<Reading> readings) {
    KeyedStream<Reading, Integer> keyed = readings.keyBy(reading -> reading.key);
    switch (name) {
      case "map":
        return readings.map(reading -> reading).returns(Reading.class);
      case "stream-join-hot":
        return join(readings, 1);
      case "stream-join-small":
        return join(readings, 1000);
      case "stream-count-window":
        return keyed.countWindow(100, 1).reduce((a, b) -> a.value > b.value ? a : b);
      case "stream-sliding-process":
        return keyed
            .window(SlidingEventTimeWindows.of(Duration.ofSeconds(10), Duration.ofSeconds(1)))
            .process(new Size());
      case "stream-tumbling-late":
        return keyed
            .window(TumblingEventTimeWindows.of(Duration.ofSeconds(1000)))
            .allowedLateness(Duration.ofSeconds(500))
            .reduce(Operators::sum);
      case "stream-timers":
        return keyed.process(new Timers());
      default:
        throw new IllegalArgumentException("no job " + name);
    }
  }

  /** What makes a job of readings. */
  interface Job {
    DataStream<?> of(StreamExecutionEnvironment env, DataStream<Reading> readings);
  }

  public static void main(String[] args) throws Exception {
    measure(args, (env, readings) -> job(args[0], readings));
  }

  /** Runs a job and prints what it took. */
  static void measure(String[] args, Job job) throws Exception {
    long records = Long.parseLong(args[1]);
    Configuration configuration = new Configuration();
    configuration.setString("rest.bind-port", "0");
    configuration.setString("state.backend.type", "hashmap");
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.createLocalEnvironment(1, configuration);
    Readings source = new Readings(records, Integer.parseInt(args[2]), Long.parseLong(args[3]));
    DataStream<Reading> readings =
        env.addSource(source)
            .returns(Reading.class)
            .assignTimestampsAndWatermarks(
                WatermarkStrategy.<Reading>forBoundedOutOfOrderness(
                        Duration.ofMillis(Long.parseLong(args[4])))
                    .withTimestampAssigner((reading, timestamp) -> reading.time));
    discard(job.of(env, readings));
    boolean areTimers = args[0].equals("stream-timers");
    env.execute(args[0]);
    double us = (System.nanoTime() - startNanos) / 1e3;
    double cpuUs = (cpu() - startCpu) / 1e3;
    double measured = areTimers ? records : records - Math.round(records * WARM_UP);
    System.out.println("{\"us\":" + us / measured + ",\"cpuUs\":" + cpuUs / measured + "}");
    System.exit(0);
  }

  private static <T> void discard(DataStream<T> results) {
    results.sinkTo(new DiscardingSink<>());
  }

  private Operators() {}
}
