import { expect, it } from 'vitest'
import type { ServedState } from '../../../src/gateway/port/services.ts'
import { ModelRows } from '../../../src/gateway/recommender/model-rows.ts'

it('top lists that are asked for in one turn of the event loop reach the job together', async () => {
  const order: string[] = []
  const topK: ServedState['topK'] = async (_state, user) => {
    order.push(`ask ${String(user)}`)
    // A connection writes its frames at the end of the tick.
    process.nextTick(() => order.push('write'))
    return { ok: true, value: [], envelope: {} as never }
  }
  const state = { topK } as Partial<ServedState> as ServedState
  const rows = new ModelRows(state, 'ALS_MODEL')
  const page = { howMany: 10, offset: 0 }
  // As connections do: each request in a callback of its own.
  const asked = ['1-U', '2-U', '3-U'].map(
    (user) =>
      new Promise((resolve) => {
        setImmediate(() => resolve(rows.bestItems(user, page, {})))
      }),
  )
  await Promise.all(asked)
  await new Promise((resolve) => setImmediate(resolve))
  expect(order).toEqual(['ask 1-U', 'ask 2-U', 'ask 3-U', 'write', 'write', 'write'])
  await rows.bestItems('4-U', page, {})
  expect(order).toContain('ask 4-U')
})
