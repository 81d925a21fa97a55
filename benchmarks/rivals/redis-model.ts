import type { Redis } from 'ioredis'
import { generateAlsRow } from '../../src/models/als/model-generator.ts'
import { type AlsRowKind, alsKey } from '../../src/models/als/row-key.ts'
import type { Ask } from '../load/generator.ts'
import type { KeySchedule } from '../load/key-schedule.ts'
import type { ModelShape } from '../load/model-shape.ts'

const ROWS_PER_COMMAND = 500
const COMMANDS_UNDER_WAY = 16
const SEED = 1

/** Loads the model that Weir serves under the same keys; rows are raw float32. */
export async function loadRedisModel(client: Redis, shape: ModelShape): Promise<void> {
  const underWay = new Set<Promise<unknown>>()
  for (const [kind, count] of [
    ['U', shape.users],
    ['I', shape.items],
  ] as const) {
    for (let from = 0; from < count; from += ROWS_PER_COMMAND) {
      const length = Math.min(count - from, ROWS_PER_COMMAND)
      const indexes = Array.from({ length }, (_, i) => from + i)
      const sent = client
        .mset(commandOf(kind, indexes, shape.factors))
        .finally(() => underWay.delete(sent))
      underWay.add(sent)
      if (underWay.size >= COMMANDS_UNDER_WAY) await Promise.race(underWay)
    }
  }
  await Promise.all(underWay)
}

/** The words of a command that sets these rows. */
function commandOf(
  kind: AlsRowKind,
  indexes: readonly number[],
  factors: number,
): (string | Buffer)[] {
  return indexes.flatMap((index) => {
    const row = new Float32Array(factors)
    generateAlsRow(kind, index, SEED, row)
    return [alsKey(String(index + 1), kind), Buffer.from(row.buffer)]
  })
}

/**
 * Predictions of a schedule's pairs from Redis: `MGET` of both rows, and the inner product here. Copying rows
 * to aligned memory first is faster than reading unaligned floats one by one.
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
