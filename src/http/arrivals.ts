import type { Socket } from 'node:net'

/** Time for which new connections are only accepted while more of them come, ms. */
const HOLD_MS = 5
/** A connection that has sent so many bytes before it is begun is begun after those that sent less. */
const LARGE_BYTES = 16 * 1024

/** A handshake of TLS begins with more bytes: a connection that has sent fewer is begun after the others. */
const HELLO_BYTES = 128

/** A connection, as far as its beginning needs it. */
export type Arrival = Pick<Socket, 'destroyed' | 'readableLength'>

/** A connection that waits. */
interface Waiting {
  readonly arrival: Arrival
  readonly begin: () => void
  /** A beginning that can be answered has as many bytes. */
  readonly leastBytes: number
}

/**
 * Shares the beginnings of connections among the clients of a port. Node.js accepts one connection in each turn of its event
 * loop: where each turn also reads a megabyte of the one before, hundreds wait in the system's queue, and a good client
 * behind them. Here all are accepted first, and then begun one in each turn, one of each client after the other; of a client
 * those first that have sent little, but as much as they must: who opens thousands, fills them and leaves holds up large
 * requests of its own, and who sends half handshakes its own half handshakes.
 */
export class Arrivals {
  private readonly monotonicMs: () => number
  private readonly schedule: (turn: () => void) => void
  private readonly waiting = new Map<string, Waiting[]>()
  /** Whether one has come since the last turn. */
  private hasCome = false
  private isScheduled = false
  /** When one was begun last. */
  private begunMs = Number.NEGATIVE_INFINITY

  /** `monotonicMs`: the clock. `schedule`: calls back in the next turn. */
  constructor(
    monotonicMs: () => number,
    schedule: (turn: () => void) => void = (turn) => void setImmediate(turn),
  ) {
    this.monotonicMs = monotonicMs
    this.schedule = schedule
  }

  /**
   * Begins at once, unless another one came in this turn or in the one before, or waits. `isTls`: whether it begins with a
   * handshake.
   */
  add(client: string, arrival: Arrival, begin: () => void, isTls = false): void {
    const isFirst = !this.isScheduled
    this.hasCome = true
    this.next()
    if (isFirst) this.start(begin)
    else this.wait(client, { arrival, begin, leastBytes: isTls ? HELLO_BYTES : 0 })
  }

  private wait(client: string, one: Waiting): void {
    const own = this.waiting.get(client)
    if (own === undefined) this.waiting.set(client, [one])
    else own.push(one)
  }

  private start(begin: () => void): void {
    this.begunMs = this.monotonicMs()
    begin()
  }

  private next(): void {
    if (this.isScheduled) return
    this.isScheduled = true
    this.schedule(this.turn)
  }

  private readonly turn = (): void => {
    this.isScheduled = false
    const { hasCome } = this
    this.hasCome = false
    if (!hasCome && this.waiting.size === 0) return
    this.next()
    const isHeld = hasCome && this.monotonicMs() - this.begunMs < HOLD_MS
    const one = isHeld ? undefined : this.shift()
    if (one !== undefined) this.start(one.begin)
  }

  /** The next one of the client whose turn it is; undefined when none waits. */
  private shift(): Waiting | undefined {
    for (const [client, all] of this.waiting) {
      const own = all.filter(({ arrival }) => !arrival.destroyed)
      const [one] = own.splice(firstOf(own), 1)
      // Deleted and set again, the client comes last.
      this.waiting.delete(client)
      if (own.length > 0) this.waiting.set(client, own)
      if (one !== undefined) return one
    }
    return undefined
  }
}

/** Where the first of those is that come first. */
function firstOf(waiting: readonly Waiting[]): number {
  let first = 0
  let least = Number.POSITIVE_INFINITY
  for (const [place, one] of waiting.entries()) {
    const rank = rankOf(one)
    if (rank === 0) return place
    if (rank >= least) continue
    first = place
    least = rank
  }
  return first
}

/** 0 for a whole and small beginning, 1 for a large one, 2 for half of one. */
function rankOf({ arrival: { readableLength }, leastBytes }: Waiting): number {
  if (readableLength < leastBytes) return 2
  return readableLength < LARGE_BYTES ? 0 : 1
}
