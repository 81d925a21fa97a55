import type { Random } from '../../src/core/random.ts'
import type { LoadMessage } from '../kafka/client.ts'
import type { TimedOperation } from './job.ts'
import { INPUT_PARTITIONS } from './site.ts'

const KEYS = 200
const MOST_AMOUNT = 1_000
/** Event time after all others, from the present one, ms. */
const LATER_MS = 600_000

/** The operations that a run writes: random ones, and those that it waits for. */
export class Operations {
  private readonly random: Random
  private readonly next: LoadMessage[] = []
  private latestMs = 0

  constructor(random: Random) {
    this.random = random
  }

  /** The next message of the load. */
  message(): LoadMessage {
    const waiting = this.next.shift()
    if (waiting !== undefined) return waiting
    return this.of(`k${this.random.below(KEYS)}`)
  }

  /** Sends a record of each key next. */
  probe(keys: readonly string[]): void {
    this.next.push(...keys.map((key) => this.of(key)))
  }

  /** The last record of each partition of the input, and the start of a window before which all windows fire, ms. */
  close(): { readonly messages: readonly LoadMessage[]; readonly startMs: number } {
    const startMs = Math.ceil((this.latestMs + LATER_MS) / 1_000) * 1_000
    const messages = Array.from({ length: INPUT_PARTITIONS }, (_, partition) => ({
      ...{ key: `close-${partition}`, partition },
      value: Buffer.from(`close-${partition},1,${startMs}`),
    }))
    return { messages, startMs }
  }

  private of(key: string): LoadMessage {
    this.latestMs = Math.max(this.latestMs, Date.now())
    const value = Buffer.from(`${key},${this.random.below(MOST_AMOUNT)},${this.latestMs}`)
    return { key, value, partition: partitionOf(key) }
  }
}

/** The operation in a message. */
export function operationOf(value: Buffer): TimedOperation {
  const [key, amount, time] = value.toString().split(',')
  return { key: key!, amount: Number(amount), time: Number(time) }
}

/** Partition of the input with all records of a key. */
function partitionOf(key: string): number {
  let hash = 0
  for (const char of key) hash = (hash * 31 + char.codePointAt(0)!) % 1_000_003
  return hash % INPUT_PARTITIONS
}
