import { expect, it } from 'vitest'
import type { ServedState } from '../../../src/gateway/port/services.ts'
import { Recommender } from '../../../src/gateway/recommender/recommender.ts'

it('top lists that are asked for in one turn of the event loop reach the job together', async () => {
  const order: string[] = []
  const topK: ServedState['topK'] = async (_state, user) => {
    order.push(`ask ${String(user)}`)
    // A connection writes its frames at the end of the tick.
    process.nextTick(() => order.push('write'))
    return { ok: true, value: [], envelope: {} as never }
  }
  const state = { topK } as Partial<ServedState> as ServedState
  const recommender = new Recommender(state, 'ALS_MODEL', () => undefined)
  const page = { howMany: 10, offset: 0 }
  // As connections do: each request in a callback of its own.
  const asked = ['1', '2', '3'].map(
    (user) =>
      new Promise((resolve) => {
        setImmediate(() => resolve(recommender.recommend(user, page, {})))
      }),
  )
  await Promise.all(asked)
  await new Promise((resolve) => setImmediate(resolve))
  expect(order).toEqual(['ask 1-U', 'ask 2-U', 'ask 3-U', 'write', 'write', 'write'])
  await recommender.recommend('4', page, {})
  expect(order).toContain('ask 4-U')
})
