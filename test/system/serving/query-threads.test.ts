import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import { QueryThreads } from '../../../src/serving/threads/query-threads.ts'
import { ServedWorld } from '../../serving/threads/world.ts'

const open: { close(): unknown }[] = []

afterEach(async () => {
  for (const resource of open.splice(0)) await resource.close()
})

describe('query worker threads', () => {
  it('read rows in place that the main thread writes, and answer at once after a write', async () => {
    const threads = await QueryThreads.start({ threads: 2, port: 0, models: ['ALS_MODEL'] })
    const world = new ServedWorld()
    world.put('7-I', [1, 0, 0, 0])
    world.serve(threads)
    await threads.listening()
    const client = await WeirClient.connect({ port: threads.port, deadlineMs: 60_000 })
    open.push(client, threads, world)
    for (let i = 1; i <= 200; i++) {
      world.put('1-U', [i, i, i, i])
      expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(i)
    }
    world.putCount('a', Uint8Array.of(7))
    expect(await client.values('COUNTS', ['a'])).toMatchObject([{ value: Uint8Array.of(7) }])
  })

  it('come back when one ends by itself, and no prediction fails meanwhile', async () => {
    const lost: number[] = []
    const threads = await QueryThreads.start({
      threads: 2,
      port: 0,
      models: ['ALS_MODEL'],
    })
    threads.onThreadLost((thread) => lost.push(thread))
    const world = new ServedWorld()
    world.put('1-U', [1, 2, 3, 4])
    world.put('7-I', [1, 0, 0, 0])
    world.serve(threads)
    await threads.listening()
    const client = await WeirClient.connect({ port: threads.port, deadlineMs: 60_000 })
    open.push(client, threads, world)
    const before = threads.routing.endpoints
    const { members } = threads as unknown as { members: { worker: Worker }[] }
    await members[0]!.worker.terminate()
    for (let i = 0; i < 200; i++) {
      expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(1)
    }
    expect(lost).toEqual([0])
    await expect.poll(() => threads.routing.endpoints.length).toBe(2)
    expect(threads.routing.endpoints[0]?.port).not.toBe(before[0]?.port)
    await expect
      .poll(() => client.predict('ALS_MODEL', '1-U', '7-I').then(() => client.routing.endpoints))
      .toEqual(threads.routing.endpoints)
  })
})
