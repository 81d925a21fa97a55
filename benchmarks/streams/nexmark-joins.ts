import type { DataStream } from '../../src/dataflow/data-stream.ts'
import type {
  Collector,
  KeyedCoProcessFunction,
  KeyedFunctionContext,
  KeyedProcessContext,
  OnTimerContext,
} from '../../src/operators/process/function.ts'
import type { CoFlatMapFunction } from '../../src/operators/process/rich-function.ts'
import { listState, valueState } from '../../src/state/port/descriptors.ts'
import type { ListState, ValueState } from '../../src/state/port/handles.ts'
import type { Auction, Bid, Person } from './nexmark-events.ts'

/** An auction of a seller. */
export interface Sale {
  readonly name: string
  readonly city: string
  readonly state: string
  readonly auction: number
}

/** A bid with what it is for. */
export interface BidOfAuction {
  readonly auction: number
  readonly bidder: number
  readonly price: number
  readonly channel: string
  readonly url: string
  readonly dateTime: number
  readonly itemName: string
  readonly description: string
  readonly seller: number
  readonly category: number
}

/** The winning bid of an auction. */
export interface Winner {
  readonly auction: number
  readonly itemName: string
  readonly category: number
  readonly seller: number
  readonly bidder: number
  readonly price: number
  readonly dateTime: number
}

/** Joins one record of the first stream with all of the second of its key, whichever comes first. */
class OneToMany<A, B, R> implements CoFlatMapFunction<A, B, R, KeyedFunctionContext> {
  private readonly row: (one: A, other: B) => R
  private one!: ValueState<A>
  private waiting!: ListState<B>

  constructor(row: (one: A, other: B) => R) {
    this.row = row
  }

  open(context: KeyedFunctionContext): void {
    this.one = context.getState(valueState<A>('one'))
    this.waiting = context.getListState(listState<B>('waiting'))
  }

  flatMap1(one: A, out: Collector<R>): void {
    this.one.update(one)
    for (const other of this.waiting.get()) out.collect(this.row(one, other))
    this.waiting.clear()
  }

  flatMap2(other: B, out: Collector<R>): void {
    const one = this.one.value()
    if (one === undefined) this.waiting.add(other)
    else out.collect(this.row(one, other))
  }
}

const saleOf = ({ name, city, state }: Person, { id }: Auction): Sale => ({
  name,
  city,
  state,
  auction: id,
})

const bidOf = (auction: Auction, bid: Bid): BidOfAuction => ({
  auction: bid.auction,
  bidder: bid.bidder,
  price: bid.price,
  channel: bid.channel,
  url: bid.url,
  dateTime: bid.dateTime,
  itemName: auction.itemName,
  description: auction.description,
  seller: auction.seller,
  category: auction.category,
})

/** The auctions of each person. */
export function salesOf(persons: DataStream<Person>, auctions: DataStream<Auction>) {
  return persons
    .connect(auctions)
    .keyBy(
      ({ id }) => id,
      ({ seller }) => seller,
    )
    .flatMap<Sale>(() => new OneToMany(saleOf))
}

/** The bids for each auction, with the auction. */
export function bidsWithAuction(auctions: DataStream<Auction>, bids: DataStream<Bid>) {
  return auctions
    .connect(bids)
    .keyBy(
      ({ id }) => id,
      ({ auction }) => auction,
    )
    .flatMap<BidOfAuction>(() => new OneToMany(bidOf))
}

/** Of two bids the higher one is better, and of equal ones the earlier one. */
export function isBetter(a: Bid, b: Bid): boolean {
  return a.price > b.price || (a.price === b.price && a.dateTime < b.dateTime)
}

/** The best bid of an auction within its time, when it expires. */
class WinningBid implements KeyedCoProcessFunction<number, Auction, Bid, Winner> {
  private auction!: ValueState<Auction>
  private bids!: ListState<Bid>

  open(context: KeyedFunctionContext): void {
    this.auction = context.getState(valueState<Auction>('auction'))
    this.bids = context.getListState(listState<Bid>('bids'))
  }

  processElement1(opened: Auction, context: KeyedProcessContext<number>): void {
    this.auction.update(opened)
    context.timerService.registerEventTimeTimer(opened.expires)
  }

  processElement2(bid: Bid): void {
    this.bids.add(bid)
  }

  onTimer(_time: number, _context: OnTimerContext<number>, out: Collector<Winner>): void {
    const over = this.auction.value()!
    let best: Bid | undefined
    for (const bid of this.bids.get()) {
      const isInTime = bid.dateTime >= over.dateTime && bid.dateTime <= over.expires
      if (isInTime && (best === undefined || isBetter(bid, best))) best = bid
    }
    if (best !== undefined) out.collect(winnerOf(over, best))
    this.auction.clear()
    this.bids.clear()
  }
}

const winnerOf = (auction: Auction, { bidder, price, dateTime }: Bid): Winner => ({
  auction: auction.id,
  itemName: auction.itemName,
  category: auction.category,
  seller: auction.seller,
  bidder,
  price,
  dateTime,
})

/** The winning bid of each auction. */
export function winners(auctions: DataStream<Auction>, bids: DataStream<Bid>): DataStream<Winner> {
  return auctions
    .connect(bids)
    .keyBy(
      ({ id }) => id,
      ({ auction }) => auction,
    )
    .process(() => new WinningBid())
}
