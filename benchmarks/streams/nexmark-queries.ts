import type { DataStream } from '../../src/dataflow/data-stream.ts'
import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../src/operators/process/function.ts'
import {
  eventTimeSessionWindows,
  slidingEventTimeWindows,
  tumblingEventTimeWindows,
  tumblingProcessingTimeWindows,
} from '../../src/operators/windows/assigner.ts'
import type { WindowContext } from '../../src/operators/windows/function.ts'
import { type AggregateFunction, valueState } from '../../src/state/port/descriptors.ts'
import type { ValueState } from '../../src/state/port/handles.ts'
import type { Bid, NexmarkEvent } from './nexmark-events.ts'

const SECOND = 1000
const DAY_MS = 86_400_000

/** Records of a key in a window. */
interface Count {
  readonly key: number
  readonly count: number
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

/** Bids of an auction on a day. */
interface AuctionDay {
  bids: number
  low: number
  middle: number
  high: number
  least: number
  most: number
  sum: number
}

class AuctionStatistics
  implements KeyedProcessFunction<readonly [number, number], Bid, AuctionDay>
{
  private state!: ValueState<AuctionDay>

  open(context: KeyedFunctionContext): void {
    this.state = context.getState(valueState<AuctionDay>('statistics'))
  }

  processElement(
    { price }: Bid,
    _context: KeyedProcessContext<readonly [number, number]>,
    out: Collector<AuctionDay>,
  ): void {
    const before = this.state.value() ?? NO_BIDS
    const after = {
      bids: before.bids + 1,
      low: before.low + (price < 10_000 ? 1 : 0),
      middle: before.middle + (price >= 10_000 && price < 1_000_000 ? 1 : 0),
      high: before.high + (price >= 1_000_000 ? 1 : 0),
      least: Math.min(before.least, price),
      most: Math.max(before.most, price),
      sum: before.sum + price,
    }
    this.state.update(after)
    out.collect(after)
  }
}

const NO_BIDS: AuctionDay = {
  bids: 0,
  low: 0,
  middle: 0,
  high: 0,
  least: Number.MAX_SAFE_INTEGER,
  most: 0,
  sum: 0,
}

class LastBid implements KeyedProcessFunction<readonly [number, number], Bid, Bid> {
  private last!: ValueState<Bid>

  open(context: KeyedFunctionContext): void {
    this.last = context.getState(valueState<Bid>('last'))
  }

  processElement(
    bid: Bid,
    _context: KeyedProcessContext<readonly [number, number]>,
    out: Collector<Bid>,
  ): void {
    const last = this.last.value()
    if (last !== undefined && last.dateTime > bid.dateTime) return
    this.last.update(bid)
    out.collect(bid)
  }
}

function bidsOf(events: DataStream<NexmarkEvent>): DataStream<Bid> {
  return events.filter(({ bid }) => bid !== undefined).map(({ bid }) => bid!)
}

type Results = DataStream<Count> | DataStream<AuctionDay> | DataStream<Bid>

/** Queries of Nexmark on a stream of events, by their names there. */
export const NEXMARK_QUERIES = {
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
} as const satisfies Record<string, (events: DataStream<NexmarkEvent>) => Results>

/** Name of a query. */
export type NexmarkQuery = keyof typeof NEXMARK_QUERIES
