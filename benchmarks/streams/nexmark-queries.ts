import type { DataStream } from '../../src/dataflow/data-stream.ts'
import type { Collector } from '../../src/operators/process/function.ts'
import {
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import type { WindowContext } from '../../src/operators/windows/function.ts'
import type { AggregateFunction } from '../../src/state/port/descriptors.ts'
import type { Auction, Bid, NexmarkEvent, Person } from './nexmark-events.ts'
import {
  type BidOfAuction,
  bidsWithAuction,
  type Sale,
  salesOf,
  type Winner,
  winners,
} from './nexmark-joins.ts'
import {
  type AuctionDay,
  AuctionStatistics,
  BestBids,
  DAY_MS,
  LastBid,
  type RankedBid,
} from './nexmark-keyed.ts'

const SECOND = 1000
const STATES_OF_Q3: readonly string[] = ['or', 'id', 'ca']
const CATEGORY = 10

/** Records of a key in a window. */
interface Count {
  readonly key: number
  readonly count: number
  readonly start: number
}

/** The average winning price of a category. */
interface Average {
  readonly category: number
  readonly count: number
  readonly average: number
}

/** Someone who opened an auction in the window in which she came. */
interface NewSeller {
  readonly id: number
  readonly name: string
  readonly start: number
}

const COUNT: AggregateFunction<unknown, number, number> = {
  createAccumulator: () => 0,
  add: (_record, count) => count + 1,
  merge: (a, b) => a + b,
  getResult: (count) => count,
}

const countOfWindow = () => ({
  process(
    key: number,
    { window }: WindowContext,
    [count]: readonly number[],
    out: Collector<Count>,
  ): void {
    out.collect({ key, count: count!, start: window.start })
  },
})

function personsOf(events: DataStream<NexmarkEvent>): DataStream<Person> {
  return events.filter(({ person }) => person !== undefined).map(({ person }) => person!)
}

function auctionsOf(events: DataStream<NexmarkEvent>): DataStream<Auction> {
  return events.filter(({ auction }) => auction !== undefined).map(({ auction }) => auction!)
}

function bidsOf(events: DataStream<NexmarkEvent>): DataStream<Bid> {
  return events.filter(({ bid }) => bid !== undefined).map(({ bid }) => bid!)
}

type Row = Count | Average | NewSeller | AuctionDay | Bid | BidOfAuction | RankedBid | Sale | Winner
/** A stream of one of these types: `DataStream<A | B>` is another type than `DataStream<A>`. */
type RowsOf<R> = R extends Row ? DataStream<R> : never

/** Queries of Nexmark, by their names there, as one writes them in the DataStream API. */
export const NEXMARK_QUERIES = {
  /** Who sells in three states. */
  q3: (events) =>
    salesOf(
      personsOf(events).filter(({ state }) => STATES_OF_Q3.includes(state)),
      auctionsOf(events).filter(({ category }) => category === CATEGORY),
    ),
  /** The average winning price of a category, after every auction. */
  q4: (events) =>
    winners(auctionsOf(events), bidsOf(events))
      .map(({ category, price }) => ({ category, count: 1, sum: price }))
      .keyBy(({ category }) => category)
      .reduce((a, b) => ({ category: a.category, count: a.count + b.count, sum: a.sum + b.sum }))
      .map(({ category, count, sum }) => ({ category, count, average: sum / count })),
  /** Which auctions had the most bids of the last 10 s, every 2 s. */
  q5: (events) =>
    bidsOf(events)
      .keyBy(({ auction }) => auction)
      .window(slidingEventTimeWindows(10 * SECOND, 2 * SECOND))
      .aggregate(COUNT, {}, countOfWindow)
      .windowAll(tumblingEventTimeWindows(2 * SECOND))
      .maxBy('count'),
  /** The highest bid of every 10 s. */
  q7: (events) =>
    bidsOf(events)
      .windowAll(tumblingEventTimeWindows(10 * SECOND))
      .maxBy('price'),
  /** Persons who open an auction in the 10 s in which they come. */
  q8: (events) =>
    personsOf(events)
      .coGroup(auctionsOf(events))
      .where(({ id }) => id)
      .equalTo(({ seller }) => seller)
      .window(tumblingEventTimeWindows(10 * SECOND))
      .apply<NewSeller>((persons, auctions, out) => {
        if (auctions.length === 0) return
        for (const { id, name, dateTime } of persons) {
          out.collect({ id, name, start: dateTime - (dateTime % (10 * SECOND)) })
        }
      }),
  /** The winning bid of each auction. */
  q9: (events) => winners(auctionsOf(events), bidsOf(events)),
  /** Bids of a user in each of her sessions. */
  q11: (events) =>
    bidsOf(events)
      .keyBy(({ bidder }) => bidder)
      .window(eventTimeSessionWindows(10 * SECOND))
      .aggregate(COUNT, {}, countOfWindow),
  /** Bids of a user in every 10 s of the wall clock. */
  q12: (events) =>
    bidsOf(events)
      .keyBy(({ bidder }) => bidder)
      .window(tumblingProcessingTimeWindows(10 * SECOND))
      .aggregate(COUNT, {}, countOfWindow),
  /** Statistics of an auction and day, after every bid. */
  q17: (events) =>
    bidsOf(events)
      .keyBy(({ auction, dateTime }) => [auction, Math.floor(dateTime / DAY_MS)] as const)
      .process(() => new AuctionStatistics()),
  /** The last bid of a user for an auction, after every bid. */
  q18: (events) =>
    bidsOf(events)
      .keyBy(({ bidder, auction }) => [bidder, auction] as const)
      .process(() => new LastBid()),
  /** The ten best bids of each auction: those whose rank changes, after every bid. */
  q19: (events) =>
    bidsOf(events)
      .keyBy(({ auction }) => auction)
      .process(() => new BestBids()),
  /** Bids for auctions of a category, with the auction. */
  q20: (events) =>
    bidsWithAuction(
      auctionsOf(events).filter(({ category }) => category === CATEGORY),
      bidsOf(events),
    ),
} as const satisfies Record<string, (events: DataStream<NexmarkEvent>) => RowsOf<Row>>

/** Name of a query. */
export type NexmarkQuery = keyof typeof NEXMARK_QUERIES

/** The rows of a query. */
export function nexmarkRows(
  query: NexmarkQuery,
  events: DataStream<NexmarkEvent>,
): DataStream<object> {
  return NEXMARK_QUERIES[query](events) as unknown as DataStream<object>
}
