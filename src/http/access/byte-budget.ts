import type { Cancel } from '../../core/clock.ts'

/** Limits of a budget, in bytes. */
export interface ByteBudgetLimits {
  /** Of all clients together. */
  readonly most: number
  /** Of one client; at least the largest message, which could otherwise never be whole. */
  readonly mostPerClient: number
}

interface Waiting {
  readonly client: string
  readonly bytes: number
  readonly go: () => void
}

/** Messages of one client, and of all, that may wait for room: each holds some bytes that are not counted. */
const MOST_WAITING_PER_CLIENT = 32
const MOST_WAITING = 256

/**
 * Memory for bytes that have arrived and are not yet of use, such as unfinished bodies. Each client has a share, so that
 * one that sends many and finishes none leaves room for the others. What finds no room waits, in its order,
 * unless too many wait.
 */
export class ByteBudget {
  private readonly limits: ByteBudgetLimits
  private readonly perClient = new Map<string, number>()
  private readonly waiting = new Set<Waiting>()
  private total = 0

  constructor(limits: ByteBudgetLimits) {
    this.limits = limits
  }

  /** Bytes that are taken now. */
  get taken(): number {
    return this.total
  }

  /** Takes bytes if there is room; false if there is none. */
  tryTake(client: string, bytes: number): boolean {
    const { most, mostPerClient } = this.limits
    const own = this.perClient.get(client) ?? 0
    if (own + bytes > mostPerClient || this.total + bytes > most) return false
    this.perClient.set(client, own + bytes)
    this.total += bytes
    return true
  }

  /**
   * Calls `go` when the bytes are taken, now or when there is room. Returns what ends the wait; undefined if too many
   * wait, and `go` is not called.
   */
  take(client: string, bytes: number, go: () => void): Cancel | undefined {
    if (this.tryTake(client, bytes)) {
      go()
      return () => {}
    }
    if (!this.mayWait(client)) return undefined
    const waiting = { client, bytes, go }
    this.waiting.add(waiting)
    return () => this.waiting.delete(waiting)
  }

  private mayWait(client: string): boolean {
    if (this.waiting.size >= MOST_WAITING) return false
    let own = 0
    for (const waiting of this.waiting) if (waiting.client === client) own += 1
    return own < MOST_WAITING_PER_CLIENT
  }

  /** Gives bytes back. */
  give(client: string, bytes: number): void {
    if (bytes === 0) return
    const left = (this.perClient.get(client) ?? 0) - bytes
    if (left > 0) this.perClient.set(client, left)
    else this.perClient.delete(client)
    this.total -= bytes
    for (const waiting of this.waiting) {
      if (!this.tryTake(waiting.client, waiting.bytes)) continue
      this.waiting.delete(waiting)
      waiting.go()
    }
  }
}
