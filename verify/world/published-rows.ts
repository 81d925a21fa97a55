import { WeirClient } from '../../src/client/weir-client.ts'
import { QUERY_HOST } from './query-line.ts'

const LOOK_MS = 50

/** Rows that were published, and the query port of the job that has them. */
export interface PublishedRows {
  readonly port: number
  readonly state: string
  readonly keys: readonly string[]
  readonly limitMs: number
}

/**
 * Waits until the level `checkpoint` has every published row: on a slow machine, the first checkpoints complete
 * before the rows are read, and then it is right that they have no row. Throws after `limitMs`.
 */
export async function rowsAreInCheckpoint({
  port,
  state,
  keys,
  limitMs,
}: PublishedRows): Promise<void> {
  const client = await WeirClient.connect({ host: QUERY_HOST, port, deadlineMs: 60_000 })
  const options = { consistency: { level: 'checkpoint' }, version: 1 } as const
  const giveUpAt = performance.now() + limitMs
  try {
    for (;;) {
      // The state is unknown until its first table is open.
      const answers = await client.rows(state, keys, options).catch(() => undefined)
      if (answers?.every(({ ok }) => ok) === true) return
      if (performance.now() > giveUpAt) throw new Error('no checkpoint has all published rows')
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  } finally {
    await client.close()
  }
}
