import { expect, it } from 'vitest'
import { Pool, type Pooled } from './pool.ts'

/** A pool of named services, and what happened to them. */
function recordedPool({
  clear = async () => undefined,
}: {
  clear?: (name: string) => Promise<void>
} = {}) {
  const events: string[] = []
  const pool = new Pool(async (): Promise<Pooled> => {
    const name = `service ${events.filter((event) => event.startsWith('start')).length + 1}`
    events.push(`start ${name}`)
    return {
      access: { name },
      clear: async () => {
        events.push(`clear ${name}`)
        await clear(name)
      },
      stop: async () => void events.push(`stop ${name}`),
    }
  })
  return { pool, events }
}

it('starts a service when none is free, and clears one before it is lent again', async () => {
  const { pool, events } = recordedPool()
  const first = await pool.take()
  const second = await pool.take()
  await pool.giveBack(first)
  expect(await pool.take()).toBe(first)
  expect(second).not.toBe(first)
  expect(events).toEqual(['start service 1', 'start service 2', 'clear service 1'])
})

it('stops a service that cannot be cleared, and starts another one', async () => {
  const { pool, events } = recordedPool({
    clear: async () => {
      throw new Error('it was killed')
    },
  })
  const first = await pool.take()
  await pool.giveBack(first)
  expect(await pool.take()).not.toBe(first)
  expect(events).toEqual([
    'start service 1',
    'clear service 1',
    'stop service 1',
    'start service 2',
  ])
})

it('stops all services at the end, after one that is being cleared, and clears none after it', async () => {
  const cleared = Promise.withResolvers<void>()
  const { pool, events } = recordedPool({ clear: () => cleared.promise })
  const [first, second] = [await pool.take(), await pool.take()]
  const returned = pool.giveBack(first)
  const stopped = pool.stop()
  await pool.giveBack(second)
  cleared.resolve()
  await Promise.all([returned, stopped])
  expect(events.slice(2)).toEqual(['clear service 1', 'stop service 1', 'stop service 2'])
})
