import com.sun.management.OperatingSystemMXBean;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.RichParallelSourceFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.CloseableIterator;
import org.apache.flink.util.Collector;

/**
 * The queries of nexmark-queries.ts on the events of nexmark-events.ts, for Flink's heap backend with object reuse.
 * Prints events/s and CPU seconds per million events of the time after the warm-up:
 * {@code Nexmark QUERY WARM_UP_SECONDS SECONDS CHECKPOINT_URL}.
 *
 * <p>{@code Nexmark rows EVENTS FILE QUERY...} writes the rows of queries on the first events instead, one a line:
 * the query's name, then the fields of the row.
 */
public final class Nexmark {
  private static final int PARALLELISM = 2;
  /** Events of each source so far. */
  private static final AtomicLongArray READ = new AtomicLongArray(PARALLELISM);

  public static final class Person {
    public long id;
    public String name;
    public String emailAddress;
    public String city;
    public String state;
    public long dateTime;
  }

  public static final class Auction {
    public long id;
    public String itemName;
    public String description;
    public long initialBid;
    public long reserve;
    public long dateTime;
    public long expires;
    public long seller;
    public long category;
  }

  public static final class Bid {
    public long auction;
    public long bidder;
    public long price;
    public String channel;
    public String url;
    public long dateTime;
    public String extra;

    @Override
    public String toString() {
      return auction + "," + bidder + "," + price + "," + channel + "," + url + "," + dateTime + "," + extra;
    }
  }

  public static final class Event {
    public Person person;
    public Auction auction;
    public Bid bid;

    long time() {
      return bid != null ? bid.dateTime : auction != null ? auction.dateTime : person.dateTime;
    }
  }

  public static final class Count {
    public long key;
    public long count;
    public long start;

    @Override
    public String toString() {
      return key + "," + count + "," + start;
    }
  }

  public static final class AuctionDay {
    public long bids;
    public long low;
    public long middle;
    public long high;
    public long least = Long.MAX_VALUE;
    public long most;
    public long sum;

    @Override
    public String toString() {
      return bids + "," + low + "," + middle + "," + high + "," + least + "," + most + "," + sum;
    }
  }

  private static final String[] CHANNELS = {"apple", "google", "facebook", "baidu"};
  private static final String[] CITIES = {"phoenix", "portland", "boise", "seattle", "kent", "bend"};
  private static final String[] STATES = {"az", "or", "id", "wa", "ca", "wy"};

  private static long pick(long n, int question, long bound) {
    int hash = ((int) n * 0x9e3779b1) ^ ((question + 1) * 0x85ebca6b);
    hash = (hash ^ (hash >>> 16)) * 0x21f0aaad;
    hash = (hash ^ (hash >>> 15)) * 0x735a2d97;
    return Integer.toUnsignedLong(hash ^ (hash >>> 15)) % bound;
  }

  private static long hot(long newest) {
    return newest - newest % 100;
  }

  private static long recent(long newest, long offset) {
    return Math.max(0, newest - offset);
  }

  private static Event event(long n) {
    long round = n / 50;
    long turn = n % 50;
    long time = n / 10;
    if (pick(n, 9, 16) == 0) time = Math.max(0, time - pick(n, 10, 100));
    Event event = new Event();
    if (turn == 0) event.person = person(n, round, time);
    else if (turn <= 3) event.auction = auction(n, round * 3 + turn - 1, time);
    else event.bid = bid(n, round, time);
    return event;
  }

  private static Person person(long n, long id, long time) {
    int place = (int) pick(n, 1, CITIES.length);
    Person person = new Person();
    person.id = id;
    person.name = "person " + id;
    person.emailAddress = id + "@example.org";
    person.city = CITIES[place];
    person.state = STATES[place];
    person.dateTime = time;
    return person;
  }

  private static Auction auction(long n, long id, long time) {
    long round = id / 3;
    Auction auction = new Auction();
    auction.id = id;
    auction.itemName = "item " + id;
    auction.description = "as good as new";
    auction.initialBid = 1 + pick(n, 1, 1000);
    auction.reserve = auction.initialBid + pick(n, 2, 1000);
    auction.dateTime = time;
    auction.expires = time + 1 + pick(n, 3, 2000);
    auction.seller = pick(n, 4, 4) > 0 ? hot(round) : recent(round, pick(n, 5, 1000));
    auction.category = 10 + pick(n, 6, 5);
    return auction;
  }

  private static Bid bid(long n, long round, long time) {
    long newest = round * 3 + 2;
    Bid bid = new Bid();
    bid.auction = pick(n, 1, 2) > 0 ? hot(newest) : recent(newest, pick(n, 2, 100));
    bid.bidder = pick(n, 3, 4) > 0 ? hot(round) : recent(round, pick(n, 4, 1000));
    bid.price = 100 + pick(n, 6, 10_000_000);
    bid.channel = CHANNELS[(int) pick(n, 5, CHANNELS.length)];
    bid.url = "https://example.org/" + bid.channel + "/item.htm";
    bid.dateTime = time;
    bid.extra = "nothing more to say";
    return bid;
  }

  public static final class Events extends RichParallelSourceFunction<Event>
      implements CheckpointedFunction {
    /** Events of all subtasks. */
    private final long events;
    private volatile boolean running = true;
    private long next;
    private transient ListState<Long> state;

    Events(long events) {
      this.events = events;
    }

    @Override
    public void run(SourceContext<Event> context) {
      int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
      int parallelism = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
      while (running && next * parallelism + subtask < events) {
        synchronized (context.getCheckpointLock()) {
          context.collect(event(next * parallelism + subtask));
          next += 1;
        }
        if ((next & 1023) == 0) READ.set(subtask, next);
      }
    }

    @Override
    public void cancel() {
      running = false;
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
      state.clear();
      state.add(next);
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
      state = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("next", Types.LONG));
      for (Long stored : state.get()) next = stored;
    }
  }

  public static final class Counting<T> implements AggregateFunction<T, Long, Long> {
    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(T record, Long count) {
      return count + 1;
    }

    @Override
    public Long getResult(Long count) {
      return count;
    }

    @Override
    public Long merge(Long a, Long b) {
      return a + b;
    }
  }

  public static final class CountOfWindow extends ProcessWindowFunction<Long, Count, Long, TimeWindow> {
    @Override
    public void process(Long key, Context context, Iterable<Long> counts, Collector<Count> out) {
      Count count = new Count();
      count.key = key;
      count.count = counts.iterator().next();
      count.start = context.window().getStart();
      out.collect(count);
    }
  }

  public static final class Statistics
      extends KeyedProcessFunction<Tuple2<Long, Long>, Bid, AuctionDay> {
    private transient ValueState<AuctionDay> state;

    @Override
    public void open(Configuration ignored) {
      state = getRuntimeContext().getState(new ValueStateDescriptor<>("statistics", AuctionDay.class));
    }

    @Override
    public void processElement(Bid bid, Context context, Collector<AuctionDay> out) throws Exception {
      AuctionDay before = state.value();
      if (before == null) before = new AuctionDay();
      AuctionDay after = new AuctionDay();
      after.bids = before.bids + 1;
      after.low = before.low + (bid.price < 10_000 ? 1 : 0);
      after.middle = before.middle + (bid.price >= 10_000 && bid.price < 1_000_000 ? 1 : 0);
      after.high = before.high + (bid.price >= 1_000_000 ? 1 : 0);
      after.least = Math.min(before.least, bid.price);
      after.most = Math.max(before.most, bid.price);
      after.sum = before.sum + bid.price;
      state.update(after);
      out.collect(after);
    }
  }

  public static final class LastBid extends KeyedProcessFunction<Tuple2<Long, Long>, Bid, Bid> {
    private transient ValueState<Bid> last;

    @Override
    public void open(Configuration ignored) {
      last = getRuntimeContext().getState(new ValueStateDescriptor<>("last", Bid.class));
    }

    @Override
    public void processElement(Bid bid, Context context, Collector<Bid> out) throws Exception {
      Bid before = last.value();
      if (before != null && before.dateTime > bid.dateTime) return;
      last.update(bid);
      out.collect(bid);
    }
  }

  private static DataStream<?> query(String name, DataStream<Bid> bids) {
    TypeInformation<Tuple2<Long, Long>> pair = Types.TUPLE(Types.LONG, Types.LONG);
    Duration ten = Duration.ofSeconds(10);
    Duration two = Duration.ofSeconds(2);
    switch (name) {
      case "q5":
        return bids.keyBy(bid -> bid.auction)
            .window(SlidingEventTimeWindows.of(ten, two))
            .aggregate(new Counting<Bid>(), new CountOfWindow())
            .windowAll(TumblingEventTimeWindows.of(two))
            .reduce((a, b) -> b.count > a.count ? b : a);
      case "q7":
        return bids.windowAll(TumblingEventTimeWindows.of(ten))
            .reduce((a, b) -> b.price > a.price ? b : a);
      case "q11":
        return bids.keyBy(bid -> bid.bidder)
            .window(EventTimeSessionWindows.withGap(ten))
            .aggregate(new Counting<Bid>(), new CountOfWindow());
      case "q12":
        return bids.keyBy(bid -> bid.bidder)
            .window(TumblingProcessingTimeWindows.of(ten))
            .aggregate(new Counting<Bid>(), new CountOfWindow());
      case "q17":
        return bids.keyBy(bid -> Tuple2.of(bid.auction, bid.dateTime / 86_400_000), pair)
            .process(new Statistics());
      case "q18":
        return bids.keyBy(bid -> Tuple2.of(bid.bidder, bid.auction), pair).process(new LastBid());
      default:
        throw new IllegalArgumentException("no query " + name);
    }
  }

  private static long read() {
    long sum = 0;
    for (int i = 0; i < PARALLELISM; i++) sum += READ.get(i);
    return sum;
  }

  private static StreamExecutionEnvironment environment(int parallelism, Configuration configuration) {
    configuration.setString("state.backend.type", "hashmap");
    configuration.setString("rest.bind-port", "0");
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
    env.getConfig().enableObjectReuse();
    return env;
  }

  private static DataStream<Bid> bids(StreamExecutionEnvironment env, long events) {
    WatermarkStrategy<Event> watermarks =
        WatermarkStrategy.<Event>forBoundedOutOfOrderness(Duration.ofSeconds(4))
            .withTimestampAssigner((event, timestamp) -> event.time());
    return env.addSource(new Events(events))
        .assignTimestampsAndWatermarks(watermarks)
        .filter(event -> event.bid != null)
        .map(event -> event.bid)
        .returns(Bid.class);
  }

  private static void writeRows(String[] args) throws Exception {
    try (PrintWriter file = new PrintWriter(args[2], StandardCharsets.UTF_8)) {
      for (int i = 3; i < args.length; i++) {
        StreamExecutionEnvironment env = environment(1, new Configuration());
        DataStream<?> results = query(args[i], bids(env, Long.parseLong(args[1])));
        try (CloseableIterator<?> rows = results.executeAndCollect()) {
          while (rows.hasNext()) file.println(args[i] + "," + rows.next());
        }
      }
    }
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("rows")) {
      writeRows(args);
      System.exit(0);
    }
    Configuration configuration = new Configuration();
    configuration.setString("execution.checkpointing.dir", args[3]);
    StreamExecutionEnvironment env = environment(PARALLELISM, configuration);
    env.enableCheckpointing(1000);
    DataStream<Bid> bids = bids(env, Long.MAX_VALUE / 2);
    discard(query(args[0], bids));
    env.executeAsync("nexmark");
    while (read() == 0) Thread.sleep(10);
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    Thread.sleep((long) (Double.parseDouble(args[1]) * 1000));
    long events = read();
    long time = System.nanoTime();
    long cpu = system.getProcessCpuTime();
    Thread.sleep((long) (Double.parseDouble(args[2]) * 1000));
    double millions = (read() - events) / 1e6;
    double seconds = (System.nanoTime() - time) / 1e9;
    double cpuSeconds = (system.getProcessCpuTime() - cpu) / 1e9;
    System.out.println(
        "{\"eventsPerSecond\":" + millions * 1e6 / seconds
            + ",\"cpuSecondsPerMillion\":" + cpuSeconds / millions + "}");
    System.exit(0);
  }

  private static <T> void discard(DataStream<T> results) {
    results.sinkTo(new DiscardingSink<>());
  }

  private Nexmark() {}
}
