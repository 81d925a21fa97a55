import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.CoGroupFunction;
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
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.streaming.api.functions.co.RichCoFlatMapFunction;
import org.apache.flink.streaming.api.functions.sink.SinkFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.RichParallelSourceFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingProcessingTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * The queries of nexmark-queries.ts on the events of nexmark-events.ts, for Flink with object reuse. Prints events/s,
 * CPU seconds per million events of the time after the warm-up, and the most memory that was resident:
 * {@code Nexmark QUERY WARM_UP_SECONDS WARM_UP_EVENTS SECONDS SPREAD KEY=VALUE...}, with keys of Flink's configuration.
 *
 * <p>{@code Nexmark rows EVENTS FILE QUERY...} writes the rows of queries on the first events instead, one a line:
 * the query's name, then the fields of the row.
 */
public final class Nexmark {
  private static final int PARALLELISM = 2;
  private static final long DAY_MS = 86_400_000;
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
    public long auction;
    public long day;
    public long bids;
    public long low;
    public long middle;
    public long high;
    public long least = Long.MAX_VALUE;
    public long most;
    public long sum;

    @Override
    public String toString() {
      return auction + "," + day + "," + bids + "," + low + "," + middle + "," + high + "," + least + "," + most + ","
          + sum;
    }
  }

  /** An auction of a seller. */
  public static final class Sale {
    public String name;
    public String city;
    public String state;
    public long auction;

    @Override
    public String toString() {
      return name + "," + city + "," + state + "," + auction;
    }
  }

  /** Someone who opened an auction in the window in which she came. */
  public static final class NewSeller {
    public long id;
    public String name;
    public long start;

    @Override
    public String toString() {
      return id + "," + name + "," + start;
    }
  }

  /** The winning bid of an auction. */
  public static final class Winner {
    public long auction;
    public String itemName;
    public long category;
    public long seller;
    public long bidder;
    public long price;
    public long dateTime;

    @Override
    public String toString() {
      return auction + "," + itemName + "," + category + "," + seller + "," + bidder + "," + price + "," + dateTime;
    }
  }

  /** Winning prices of a category. */
  public static final class Prices {
    public long category;
    public long count;
    public long sum;
  }

  /** The average winning price of a category. */
  public static final class Average {
    public long category;
    public long count;
    public double average;

    @Override
    public String toString() {
      boolean isWhole = average == Math.rint(average);
      return category + "," + count + "," + (isWhole ? Long.toString((long) average) : Double.toString(average));
    }
  }

  /** A bid with its place among the bids of its auction, 1 for the highest. */
  public static final class RankedBid {
    public long auction;
    public long rank;
    public long bidder;
    public long price;
    public long dateTime;

    @Override
    public String toString() {
      return auction + "," + rank + "," + bidder + "," + price + "," + dateTime;
    }
  }

  /** A bid with what it is for. */
  public static final class BidOfAuction {
    public long auction;
    public long bidder;
    public long price;
    public String channel;
    public String url;
    public long dateTime;
    public String itemName;
    public String description;
    public long seller;
    public long category;

    @Override
    public String toString() {
      return auction + "," + bidder + "," + price + "," + channel + "," + url + "," + dateTime + "," + itemName + ","
          + description + "," + seller + "," + category;
    }
  }

  private static final String[] CHANNELS = {"apple", "google", "facebook", "baidu"};
  private static final String[] CITIES = {"phoenix", "portland", "boise", "seattle", "kent", "bend"};
  private static final String[] STATES = {"az", "or", "id", "wa", "ca", "wy"};
  private static final List<String> STATES_OF_Q3 = List.of("or", "id", "ca");

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

  private static Event event(long n, long spread) {
    long round = n / 50;
    long turn = n % 50;
    long time = n / 10;
    if (pick(n, 9, 16) == 0) time = Math.max(0, time - pick(n, 10, 100));
    Event event = new Event();
    if (turn == 0) event.person = person(n, round, time);
    else if (turn <= 3) event.auction = auction(n, round * 3 + turn - 1, time, spread);
    else event.bid = bid(n, round, time, spread);
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

  private static Auction auction(long n, long id, long time, long spread) {
    long round = id / 3;
    Auction auction = new Auction();
    auction.id = id;
    auction.itemName = "item " + id;
    auction.description = "as good as new";
    auction.initialBid = 1 + pick(n, 1, 1000);
    auction.reserve = auction.initialBid + pick(n, 2, 1000);
    auction.dateTime = time;
    auction.expires = time + 1 + pick(n, 3, 2000 * spread);
    auction.seller = pick(n, 4, 4) > 0 ? hot(round) : recent(round, pick(n, 5, 1000 * spread));
    auction.category = 10 + pick(n, 6, 5);
    return auction;
  }

  private static Bid bid(long n, long round, long time, long spread) {
    long newest = round * 3 + 2;
    Bid bid = new Bid();
    bid.auction = pick(n, 1, 2) > 0 ? hot(newest) : recent(newest, pick(n, 2, 100 * spread));
    bid.bidder = pick(n, 3, 4) > 0 ? hot(round) : recent(round, pick(n, 4, 1000 * spread));
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
    private final long spread;
    private volatile boolean running = true;
    private long next;
    private transient ListState<Long> state;

    Events(long events, long spread) {
      this.events = events;
      this.spread = spread;
    }

    @Override
    public void run(SourceContext<Event> context) {
      int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
      int parallelism = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
      while (running && next * parallelism + subtask < events) {
        synchronized (context.getCheckpointLock()) {
          context.collect(event(next * parallelism + subtask, spread));
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
      after.auction = bid.auction;
      after.day = bid.dateTime / DAY_MS;
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

  /** Keeps the bids of a key in the order of their ranks; emits those whose rank a bid changes. */
  public static final class BestBids extends KeyedProcessFunction<Long, Bid, RankedBid> {
    private static final int BEST = 10;
    private transient ListState<Bid> best;

    @Override
    public void open(Configuration ignored) {
      best = getRuntimeContext().getListState(new ListStateDescriptor<>("best", Bid.class));
    }

    @Override
    public void processElement(Bid bid, Context context, Collector<RankedBid> out) throws Exception {
      List<Bid> ranked = new ArrayList<>(BEST + 1);
      for (Bid other : best.get()) ranked.add(other);
      int place = 0;
      while (place < ranked.size() && !isBetter(bid, ranked.get(place))) place += 1;
      if (place == BEST) return;
      ranked.add(place, bid);
      if (ranked.size() > BEST) ranked.remove(BEST);
      best.update(ranked);
      for (int i = place; i < ranked.size(); i++) out.collect(row(i + 1, ranked.get(i)));
    }

    private static RankedBid row(long rank, Bid bid) {
      RankedBid row = new RankedBid();
      row.auction = bid.auction;
      row.rank = rank;
      row.bidder = bid.bidder;
      row.price = bid.price;
      row.dateTime = bid.dateTime;
      return row;
    }
  }

  /** Of two bids the higher one is better, and of equal ones the earlier one. */
  private static boolean isBetter(Bid a, Bid b) {
    return a.price > b.price || (a.price == b.price && a.dateTime < b.dateTime);
  }

  /** Joins one record of the first stream with all of the second of its key, whichever comes first. */
  public abstract static class OneToMany<A, B, R> extends RichCoFlatMapFunction<A, B, R> {
    private final Class<A> first;
    private final Class<B> second;
    private transient ValueState<A> one;
    private transient ListState<B> waiting;

    OneToMany(Class<A> first, Class<B> second) {
      this.first = first;
      this.second = second;
    }

    abstract R row(A one, B other);

    @Override
    public void open(Configuration ignored) {
      one = getRuntimeContext().getState(new ValueStateDescriptor<>("one", first));
      waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("waiting", second));
    }

    @Override
    public void flatMap1(A record, Collector<R> out) throws Exception {
      one.update(record);
      for (B other : waiting.get()) out.collect(row(record, other));
      waiting.clear();
    }

    @Override
    public void flatMap2(B other, Collector<R> out) throws Exception {
      A known = one.value();
      if (known == null) waiting.add(other);
      else out.collect(row(known, other));
    }
  }

  public static final class SaleOfPerson extends OneToMany<Person, Auction, Sale> {
    SaleOfPerson() {
      super(Person.class, Auction.class);
    }

    @Override
    Sale row(Person person, Auction auction) {
      Sale sale = new Sale();
      sale.name = person.name;
      sale.city = person.city;
      sale.state = person.state;
      sale.auction = auction.id;
      return sale;
    }
  }

  public static final class BidWithAuction extends OneToMany<Auction, Bid, BidOfAuction> {
    BidWithAuction() {
      super(Auction.class, Bid.class);
    }

    @Override
    BidOfAuction row(Auction auction, Bid bid) {
      BidOfAuction row = new BidOfAuction();
      row.auction = bid.auction;
      row.bidder = bid.bidder;
      row.price = bid.price;
      row.channel = bid.channel;
      row.url = bid.url;
      row.dateTime = bid.dateTime;
      row.itemName = auction.itemName;
      row.description = auction.description;
      row.seller = auction.seller;
      row.category = auction.category;
      return row;
    }
  }

  /** The best bid of an auction within its time, when it expires. */
  public static final class WinningBid extends KeyedCoProcessFunction<Long, Auction, Bid, Winner> {
    private transient ValueState<Auction> auction;
    private transient ListState<Bid> bids;

    @Override
    public void open(Configuration ignored) {
      auction = getRuntimeContext().getState(new ValueStateDescriptor<>("auction", Auction.class));
      bids = getRuntimeContext().getListState(new ListStateDescriptor<>("bids", Bid.class));
    }

    @Override
    public void processElement1(Auction opened, Context context, Collector<Winner> out) throws Exception {
      auction.update(opened);
      context.timerService().registerEventTimeTimer(opened.expires);
    }

    @Override
    public void processElement2(Bid bid, Context context, Collector<Winner> out) throws Exception {
      bids.add(bid);
    }

    @Override
    public void onTimer(long time, OnTimerContext context, Collector<Winner> out) throws Exception {
      Auction over = auction.value();
      Bid best = null;
      for (Bid bid : bids.get()) {
        boolean isInTime = bid.dateTime >= over.dateTime && bid.dateTime <= over.expires;
        if (isInTime && (best == null || isBetter(bid, best))) best = bid;
      }
      if (best != null) out.collect(winner(over, best));
      auction.clear();
      bids.clear();
    }

    private static Winner winner(Auction auction, Bid bid) {
      Winner winner = new Winner();
      winner.auction = auction.id;
      winner.itemName = auction.itemName;
      winner.category = auction.category;
      winner.seller = auction.seller;
      winner.bidder = bid.bidder;
      winner.price = bid.price;
      winner.dateTime = bid.dateTime;
      return winner;
    }
  }

  public static final class NewSellers implements CoGroupFunction<Person, Auction, NewSeller> {
    @Override
    public void coGroup(Iterable<Person> persons, Iterable<Auction> auctions, Collector<NewSeller> out) {
      if (!auctions.iterator().hasNext()) return;
      for (Person person : persons) {
        NewSeller seller = new NewSeller();
        seller.id = person.id;
        seller.name = person.name;
        seller.start = person.dateTime - person.dateTime % 10_000;
        out.collect(seller);
      }
    }
  }

  private static DataStream<Bid> bidsOf(DataStream<Event> events) {
    return events.filter(event -> event.bid != null).map(event -> event.bid).returns(Bid.class);
  }

  private static DataStream<Auction> auctionsOf(DataStream<Event> events) {
    return events.filter(event -> event.auction != null).map(event -> event.auction).returns(Auction.class);
  }

  private static DataStream<Person> personsOf(DataStream<Event> events) {
    return events.filter(event -> event.person != null).map(event -> event.person).returns(Person.class);
  }

  private static DataStream<Winner> winners(DataStream<Event> events) {
    return auctionsOf(events)
        .connect(bidsOf(events))
        .keyBy(auction -> auction.id, bid -> bid.auction)
        .process(new WinningBid());
  }

  private static DataStream<Average> averages(DataStream<Event> events) {
    return winners(events)
        .map(winner -> prices(winner.category, 1, winner.price))
        .returns(Prices.class)
        .keyBy(prices -> prices.category)
        .reduce((a, b) -> prices(a.category, a.count + b.count, a.sum + b.sum))
        .map(Nexmark::average)
        .returns(Average.class);
  }

  private static Prices prices(long category, long count, long sum) {
    Prices prices = new Prices();
    prices.category = category;
    prices.count = count;
    prices.sum = sum;
    return prices;
  }

  private static Average average(Prices prices) {
    Average average = new Average();
    average.category = prices.category;
    average.count = prices.count;
    average.average = (double) prices.sum / prices.count;
    return average;
  }

  private static DataStream<?> query(String name, DataStream<Event> events) {
    TypeInformation<Tuple2<Long, Long>> pair = Types.TUPLE(Types.LONG, Types.LONG);
    Duration ten = Duration.ofSeconds(10);
    Duration two = Duration.ofSeconds(2);
    switch (name) {
      case "q3":
        return personsOf(events)
            .filter(person -> STATES_OF_Q3.contains(person.state))
            .connect(auctionsOf(events).filter(auction -> auction.category == 10))
            .keyBy(person -> person.id, auction -> auction.seller)
            .flatMap(new SaleOfPerson());
      case "q4":
        return averages(events);
      case "q5":
        return bidsOf(events)
            .keyBy(bid -> bid.auction)
            .window(SlidingEventTimeWindows.of(ten, two))
            .aggregate(new Counting<Bid>(), new CountOfWindow())
            .windowAll(TumblingEventTimeWindows.of(two))
            .reduce((a, b) -> b.count > a.count ? b : a);
      case "q7":
        return bidsOf(events)
            .windowAll(TumblingEventTimeWindows.of(ten))
            .reduce((a, b) -> b.price > a.price ? b : a);
      case "q8":
        return personsOf(events)
            .coGroup(auctionsOf(events))
            .where(person -> person.id)
            .equalTo(auction -> auction.seller)
            .window(TumblingEventTimeWindows.of(ten))
            .apply(new NewSellers());
      case "q9":
        return winners(events);
      case "q11":
        return bidsOf(events)
            .keyBy(bid -> bid.bidder)
            .window(EventTimeSessionWindows.withGap(ten))
            .aggregate(new Counting<Bid>(), new CountOfWindow());
      case "q12":
        return bidsOf(events)
            .keyBy(bid -> bid.bidder)
            .window(TumblingProcessingTimeWindows.of(ten))
            .aggregate(new Counting<Bid>(), new CountOfWindow());
      case "q17":
        return bidsOf(events)
            .keyBy(bid -> Tuple2.of(bid.auction, bid.dateTime / DAY_MS), pair)
            .process(new Statistics());
      case "q18":
        return bidsOf(events)
            .keyBy(bid -> Tuple2.of(bid.bidder, bid.auction), pair)
            .process(new LastBid());
      case "q19":
        return bidsOf(events).keyBy(bid -> bid.auction).process(new BestBids());
      case "q20":
        return auctionsOf(events)
            .filter(auction -> auction.category == 10)
            .connect(bidsOf(events))
            .keyBy(auction -> auction.id, bid -> bid.auction)
            .flatMap(new BidWithAuction());
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
    configuration.setString("rest.bind-port", "0");
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.createLocalEnvironment(parallelism, configuration);
    env.getConfig().enableObjectReuse();
    return env;
  }

  private static DataStream<Event> events(StreamExecutionEnvironment env, long count, long spread) {
    WatermarkStrategy<Event> watermarks =
        WatermarkStrategy.<Event>forBoundedOutOfOrderness(Duration.ofSeconds(4))
            .withTimestampAssigner((event, timestamp) -> event.time());
    return env.addSource(new Events(count, spread)).assignTimestampsAndWatermarks(watermarks);
  }

  /** Writes each row behind the name of its query; all sinks of this process share a file. */
  public static final class RowsOf<T> implements SinkFunction<T> {
    private static PrintWriter file;
    private final String query;

    RowsOf(String query) {
      this.query = query;
    }

    @Override
    public void invoke(T row, Context context) {
      file.println(query + "," + row);
    }
  }

  /** One job with all queries, so that the events are made once and the program is compiled once. */
  private static void writeRows(String[] args) throws Exception {
    try (PrintWriter file = new PrintWriter(args[2], StandardCharsets.UTF_8)) {
      RowsOf.file = file;
      StreamExecutionEnvironment env = environment(1, new Configuration());
      DataStream<Event> events = events(env, Long.parseLong(args[1]), 1);
      for (int i = 3; i < args.length; i++) writeRows(args[i], query(args[i], events));
      env.execute("rows");
    }
  }

  private static <T> void writeRows(String query, DataStream<T> results) {
    results.addSink(new RowsOf<>(query));
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("rows")) {
      writeRows(args);
      System.exit(0);
    }
    Configuration configuration = new Configuration();
    for (int i = 6; i < args.length; i++) {
      String[] entry = args[i].split("=", 2);
      configuration.setString(entry[0], entry[1]);
    }
    StreamExecutionEnvironment env = environment(PARALLELISM, configuration);
    env.enableCheckpointing(1000);
    discard(query(args[0], events(env, Long.MAX_VALUE / 2, Long.parseLong(args[5]))));
    env.executeAsync("nexmark");
    while (read() == 0) Thread.sleep(10);
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    Thread.sleep((long) (Double.parseDouble(args[1]) * 1000));
    long warmUp = Long.parseLong(args[2]);
    double limit = Double.parseDouble(args[3]);
    long end = System.nanoTime() + (long) (limit * 1e9);
    while (read() < warmUp && System.nanoTime() < end) Thread.sleep(10);
    double measured = read() < warmUp ? limit : Double.parseDouble(args[4]);
    long events = read();
    long time = System.nanoTime();
    long cpu = system.getProcessCpuTime();
    Thread.sleep((long) (measured * 1000));
    double millions = (read() - events) / 1e6;
    double seconds = (System.nanoTime() - time) / 1e9;
    double cpuSeconds = (system.getProcessCpuTime() - cpu) / 1e9;
    System.out.println(
        "{\"eventsPerSecond\":" + millions * 1e6 / seconds
            + ",\"eventsBefore\":" + events
            + ",\"cpuSecondsPerMillion\":" + cpuSeconds / millions
            + ",\"residentBytes\":" + mostResidentBytes() + "}");
    System.exit(0);
  }

  /** The most memory of this process that was resident at one time (VmHWM of Linux). */
  private static long mostResidentBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
    }
    throw new IOException("/proc/self/status has no VmHWM");
  }

  private static <T> void discard(DataStream<T> results) {
    results.sinkTo(new DiscardingSink<>());
  }

  private Nexmark() {}
}
