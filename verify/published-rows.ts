import { WeirClient } from '../src/client/weir-client.ts'
import { ITEM_ROWS } from './jobs/deltas.ts'
import { itemKeys } from './workloads.ts'
import { QUERY_HOST } from './world/query-line.ts'

const LOOK_MS = 50

/**
 * Waits until the level `checkpoint` has every published row: on a slow machine, the first checkpoints complete
 * before the rows are read, and then it is right that they have no row. Throws after `limitMs`.
 */
export async function rowsAreInCheckpoint(port: number, limitMs: number): Promise<void> {
  const client = await WeirClient.connect({ host: QUERY_HOST, port, deadlineMs: 5000 })
  const options = { consistency: { level: 'checkpoint' }, version: 1 } as const
  const giveUpAt = performance.now() + limitMs
  try {
    for (;;) {
      // The state is unknown until its first table is open.
      const answers = await client.rows(ITEM_ROWS, itemKeys(), options).catch(() => undefined)
      if (answers?.every(({ ok }) => ok) === true) return
      if (performance.now() > giveUpAt) throw new Error('no checkpoint has all published rows')
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  } finally {
    await client.close()
  }
}
