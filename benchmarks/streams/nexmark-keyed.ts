import type {
  Collector,
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../src/operators/process/function.ts'
import { listState, valueState } from '../../src/state/port/descriptors.ts'
import type { ListState, ValueState } from '../../src/state/port/handles.ts'
import type { Bid } from './nexmark-events.ts'
import { isBetter } from './nexmark-joins.ts'

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000
/** Bids of an auction that have a rank. */
const BEST = 10

/** Bids of an auction on a day. */
export interface AuctionDay {
  readonly auction: number
  readonly day: number
  readonly bids: number
  readonly low: number
  readonly middle: number
  readonly high: number
  readonly least: number
  readonly most: number
  readonly sum: number
}

/** A bid with its place among the bids of its auction, 1 for the highest. */
export interface RankedBid {
  readonly auction: number
  readonly rank: number
  readonly bidder: number
  readonly price: number
  readonly dateTime: number
}

const NO_BIDS = {
  bids: 0,
  low: 0,
  middle: 0,
  high: 0,
  least: Number.MAX_SAFE_INTEGER,
  most: 0,
  sum: 0,
}

/** Statistics of the bids of a key, after every bid. */
export class AuctionStatistics
  implements KeyedProcessFunction<readonly [number, number], Bid, AuctionDay>
{
  private state!: ValueState<AuctionDay>

  open(context: KeyedFunctionContext): void {
    this.state = context.getState(valueState<AuctionDay>('statistics'))
  }

  processElement(
    { auction, dateTime, price }: Bid,
    _context: KeyedProcessContext<readonly [number, number]>,
    out: Collector<AuctionDay>,
  ): void {
    const before = this.state.value() ?? NO_BIDS
    const after = {
      auction,
      day: Math.floor(dateTime / DAY_MS),
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

/** The last bid of a key, after every bid that is not earlier. */
export class LastBid implements KeyedProcessFunction<readonly [number, number], Bid, Bid> {
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

/** Keeps the bids of a key in the order of their ranks; emits those whose rank a bid changes. */
export class BestBids implements KeyedProcessFunction<number, Bid, RankedBid> {
  private best!: ListState<Bid>

  open(context: KeyedFunctionContext): void {
    this.best = context.getListState(listState<Bid>('best'))
  }

  processElement(bid: Bid, _context: KeyedProcessContext<number>, out: Collector<RankedBid>): void {
    const ranked = [...this.best.get()]
    let place = 0
    while (place < ranked.length && !isBetter(bid, ranked[place]!)) place += 1
    if (place === BEST) return
    ranked.splice(place, 0, bid)
    if (ranked.length > BEST) ranked.pop()
    this.best.update(ranked)
    for (let i = place; i < ranked.length; i++) {
      const { auction, bidder, price, dateTime } = ranked[i]!
      out.collect({ auction, rank: i + 1, bidder, price, dateTime })
    }
  }
}
