/** A person who sells and bids. */
export interface Person {
  readonly id: number
  readonly name: string
  readonly emailAddress: string
  readonly city: string
  readonly state: string
  readonly dateTime: number
}

/** Something for sale. */
export interface Auction {
  readonly id: number
  readonly itemName: string
  readonly description: string
  readonly initialBid: number
  readonly reserve: number
  readonly dateTime: number
  readonly expires: number
  readonly seller: number
  readonly category: number
}

/** An offer for an auction. */
export interface Bid {
  readonly auction: number
  readonly bidder: number
  readonly price: number
  readonly channel: string
  readonly url: string
  readonly dateTime: number
  readonly extra: string
}

/** One event: exactly one of the three is there. */
export interface NexmarkEvent {
  readonly person: Person | undefined
  readonly auction: Auction | undefined
  readonly bid: Bid | undefined
}

/** Events of one round: one person, three auctions, 46 bids. */
const ROUND = 50
const AUCTIONS = 3
/** Events a millisecond of event time. */
const EVENTS_PER_MS = 10
/** Auctions and persons that are still active: uniform choices are among the last ones of these. */
const ACTIVE_AUCTIONS = 100
const ACTIVE_PERSONS = 1000
/** The longest time of an auction, ms. */
const LONGEST_AUCTION_MS = 2000
/** A hot id changes every so many ids. */
const HOT_EVERY = 100
const CHANNELS = ['apple', 'google', 'facebook', 'baidu'] as const
const CITIES = ['phoenix', 'portland', 'boise', 'seattle', 'kent', 'bend'] as const
const STATES = ['az', 'or', 'id', 'wa', 'ca', 'wy'] as const

/**
 * A random whole number of 32 bits that depends on the event and the question only. Callers divide it themselves, by a
 * constant: the engine multiplies instead then. Ids and times are cut to int32 (`| 0`), so that the engine need not check
 * whether a double fits a field. Both together halve what an event costs.
 */
function draw(n: number, question: number): number {
  let hash = Math.imul(n, 0x9e3779b1) ^ Math.imul(question + 1, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad)
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
  return hash ^ (hash >>> 15)
}

function hot(newest: number): number {
  return newest - (newest % HOT_EVERY)
}

function recent(newest: number, offset: number): number {
  return Math.max(0, newest - offset)
}

/** Event time of an event, ms; one of 16 is up to 100 ms before its turn. */
function timeOf(n: number): number {
  const time = (n / EVENTS_PER_MS) | 0
  return (draw(n, 9) >>> 0) % 16 === 0 ? Math.max(0, time - ((draw(n, 10) >>> 0) % 100)) : time
}

/**
 * Event `n` of an endless auction site: persons, auctions and bids as 1 to 3 to 46; half of the bids are for
 * a hot auction, three of four bidders and sellers are hot ones. The program for Flink makes the same events.
 * With a `spread` above 1 so many times as many auctions and persons are active, and auctions last so many times as long:
 * more state is in use.
 */
export function nexmarkEvent(n: number, spread = 1): NexmarkEvent {
  const round = (n / ROUND) | 0
  const turn = n % ROUND
  const dateTime = timeOf(n)
  if (turn === 0)
    return { person: personOf(n, round, dateTime), auction: undefined, bid: undefined }
  if (turn <= AUCTIONS) {
    const auction = auctionOf(n, round * AUCTIONS + turn - 1, dateTime, spread)
    return { person: undefined, auction, bid: undefined }
  }
  return { person: undefined, auction: undefined, bid: bidOf(n, round, dateTime, spread) }
}

function personOf(n: number, id: number, dateTime: number): Person {
  const place = (draw(n, 1) >>> 0) % CITIES.length
  return {
    id,
    name: `person ${id}`,
    emailAddress: `${id}@example.org`,
    city: CITIES[place]!,
    state: STATES[place]!,
    dateTime,
  }
}

function auctionOf(n: number, id: number, dateTime: number, spread: number): Auction {
  const round = (id / AUCTIONS) | 0
  const initialBid = 1 + ((draw(n, 1) >>> 0) % 1000)
  return {
    id,
    itemName: `item ${id}`,
    description: 'as good as new',
    initialBid,
    reserve: initialBid + ((draw(n, 2) >>> 0) % 1000),
    dateTime,
    expires: dateTime + 1 + ((draw(n, 3) >>> 0) % (LONGEST_AUCTION_MS * spread)),
    seller:
      (draw(n, 4) >>> 0) % 4 > 0
        ? hot(round)
        : recent(round, (draw(n, 5) >>> 0) % (ACTIVE_PERSONS * spread)),
    category: 10 + ((draw(n, 6) >>> 0) % 5),
  }
}

function bidOf(n: number, round: number, dateTime: number, spread: number): Bid {
  const newest = round * AUCTIONS + AUCTIONS - 1
  const channel = CHANNELS[(draw(n, 5) >>> 0) % CHANNELS.length]!
  return {
    auction:
      (draw(n, 1) >>> 0) % 2 > 0
        ? hot(newest)
        : recent(newest, (draw(n, 2) >>> 0) % (ACTIVE_AUCTIONS * spread)),
    bidder:
      (draw(n, 3) >>> 0) % 4 > 0
        ? hot(round)
        : recent(round, (draw(n, 4) >>> 0) % (ACTIVE_PERSONS * spread)),
    price: 100 + ((draw(n, 6) >>> 0) % 10_000_000),
    channel,
    url: `https://example.org/${channel}/item.htm`,
    dateTime,
    extra: 'nothing more to say',
  }
}
