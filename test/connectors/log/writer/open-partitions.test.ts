import { expect, it } from 'vitest'
import type { PartitionWriter } from '../../../../src/connectors/log/storage/partition-writer.ts'
import { OpenPartitions } from '../../../../src/connectors/log/writer/open-partitions.ts'

/** Partitions whose syncs end when the test says so. */
async function world(names: readonly string[]) {
  const running = new Map<string, PromiseWithResolvers<void>>()
  let most = 0
  const sync = (name: string) => async (): Promise<void> => {
    const one = Promise.withResolvers<void>()
    running.set(name, one)
    most = Math.max(most, running.size)
    await one.promise.finally(() => running.delete(name))
  }
  const partitions = new OpenPartitions(
    async (name) => ({ sync: sync(name) }) as Partial<PartitionWriter> as PartitionWriter,
  )
  await Promise.all(names.map((name) => partitions.get(name)))
  return { partitions, running, most: () => most }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('the partitions of a topic are forced at the same time, three of them at most, and no others', async () => {
  const names = ['t/0', 't/1', 't2/0', 't/2', 't/3', 't/4']
  const { partitions, running, most } = await world(names)
  const synced = partitions.sync('t')
  await turn()
  expect([...running.keys()]).toEqual(['t/0', 't/1', 't/2'])
  running.get('t/1')!.resolve()
  await turn()
  expect([...running.keys()]).toEqual(['t/0', 't/2', 't/3'])
  while (running.size > 0) {
    for (const one of running.values()) one.resolve()
    await turn()
  }
  await synced
  expect(most()).toBe(3)
})

it('a partition that fails ends the sync of a topic with its error when the others are done, all of them', async () => {
  const { partitions, running } = await world(['t/0', 't/1', 't/2', 't/3'])
  let isOver = false
  const synced = partitions.sync('t').catch((error: unknown) => {
    isOver = true
    return error
  })
  await turn()
  const error = new Error('EIO')
  running.get('t/1')!.reject(error)
  await turn()
  expect([...running.keys()]).toEqual(['t/0', 't/2', 't/3'])
  expect(isOver).toBe(false)
  for (const one of running.values()) one.resolve()
  expect(await synced).toBe(error)
})
