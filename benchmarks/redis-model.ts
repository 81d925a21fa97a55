import type { Redis } from 'ioredis'
import { generateAlsRow } from '../src/models/als-model-generator.ts'
import { type AlsRowKind, alsKey } from '../src/models/als-row.ts'
import type { KeySchedule } from './key-schedule.ts'
import type { Ask } from './load-generator.ts'
import type { ModelShape } from './model-shape.ts'

const ROWS_PER_COMMAND = 500
const COMMANDS_UNDER_WAY = 16
const SEED = 1

/** Loads the generated model that Weir serves, under the same keys, rows as raw float32. */
export async function loadRedisModel(client: Redis, shape: ModelShape): Promise<void> {
  const underWay = new Set<Promise<unknown>>()
  for (const [kind, count] of [
    ['U', shape.users],
    ['I', shape.items],
  ] as const) {
    for (let from = 0; from < count; from += ROWS_PER_COMMAND) {
      const words = commandOf(kind, from, Math.min(count, from + ROWS_PER_COMMAND), shape.factors)
      const sent = client.mset(words).finally(() => underWay.delete(sent))
      underWay.add(sent)
      if (underWay.size >= COMMANDS_UNDER_WAY) await Promise.race(underWay)
    }
  }
  await Promise.all(underWay)
}

function commandOf(
  kind: AlsRowKind,
  from: number,
  to: number,
  factors: number,
): (string | Buffer)[] {
  const words: (string | Buffer)[] = []
  for (let index = from; index < to; index++) {
    const row = new Float32Array(factors)
    generateAlsRow(kind, index, SEED, row)
    words.push(alsKey(String(index + 1), kind), Buffer.from(row.buffer))
  }
  return words
}

/**
 * Predictions of a schedule's pairs out of Redis: `MGET` of both rows, inner product here. Rows are
 * copied to where their floats are aligned, which is faster than reading them one by one.
 */
export function redisPredictor(client: Redis, schedule: KeySchedule, factors: number): Ask {
  const { users, items } = schedule
  const left = new Float32Array(factors)
  const right = new Float32Array(factors)
  const leftBytes = new Uint8Array(left.buffer)
  const rightBytes = new Uint8Array(right.buffer)
  return async () => {
    const at = schedule.advance()
    const [user, item] = await client.mgetBuffer(users[at]!, items[at]!)
    leftBytes.set(user!)
    rightBytes.set(item!)
    let score = 0
    for (let i = 0; i < factors; i++) score += left[i]! * right[i]!
    return score
  }
}
