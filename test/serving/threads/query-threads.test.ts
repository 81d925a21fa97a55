import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/index.ts'
import type { QueryThreadsOptions } from '../../../src/serving/threads/options.ts'
import { QueryThreads } from '../../../src/serving/threads/query-threads.ts'
import { ServedWorld } from './world.ts'

const open: { close(): unknown }[] = []

async function start(options: Partial<QueryThreadsOptions> = {}): Promise<QueryThreads> {
  const threads = await QueryThreads.start({
    threads: 2,
    inCallingThread: true,
    port: 0,
    models: ['ALS_MODEL', 'WEIGHTS'],
    ...options,
  })
  open.unshift(threads)
  return threads
}

async function serve(threads: QueryThreads): Promise<ServedWorld> {
  const world = new ServedWorld()
  open.push(world)
  world.put('1-U', [1, 2, 3, 4])
  world.put('7-I', [1, 1, 1, 1])
  world.putCount('a', Uint8Array.of(9))
  world.serve(threads)
  await threads.listening()
  await expect.poll(() => threads.routing.endpoints.length).toBe(2)
  return world
}

async function connect(threads: QueryThreads): Promise<WeirClient> {
  const client = await WeirClient.connect({ port: threads.port, job: 'als' })
  open.unshift(client)
  return client
}

/** The first of so many ports in a row that were free a moment ago. */
async function freePorts(count: number): Promise<number> {
  for (;;) {
    const servers: Server[] = []
    try {
      let first = 0
      for (let i = 0; i < count; i++) {
        const server = createServer().listen(i === 0 ? 0 : first + i, '127.0.0.1')
        servers.push(server)
        await once(server, 'listening')
        if (i === 0) first = (server.address() as AddressInfo).port
      }
      return first
    } catch {
      // One of the row is taken: another row.
    } finally {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    }
  }
}

afterEach(async () => {
  for (const resource of open.splice(0)) await resource.close()
})

describe('QueryThreads', () => {
  it('count the rows of a version, as long as no slot restores them', async () => {
    const threads = await start()
    const world = await serve(threads)
    expect(threads.rowCount('ALS_MODEL', 1)).toBe(2)
    world.put('8-I', [1, 1, 1, 1])
    expect(threads.rowCount('ALS_MODEL', 1)).toBe(3)
    expect(threads.rowCount('ALS_MODEL', 2)).toBeUndefined()
    expect(threads.rowCount('OTHER', 1)).toBeUndefined()
    for (const status of ['restoring', 'starting'] as const) {
      world.board.setSlotStatus(1, status)
      expect(threads.rowCount('ALS_MODEL', 1)).toBeUndefined()
    }
    world.board.setSlotStatus(1, 'running')
    world.dropTables(1)
    expect(threads.rowCount('ALS_MODEL', 1)).toBeUndefined()
  })

  it('answer predictions, typed state and metrics on every thread', async () => {
    const threads = await start()
    await serve(threads)
    const client = await connect(threads)
    const scores = [1, 2, 3, 4].map(() => client.predict('ALS_MODEL', '1-U', '7-I'))
    expect((await Promise.all(scores)).map(({ score }) => score)).toEqual([10, 10, 10, 10])
    for (let i = 0; i < 2; i++) {
      expect(await client.values('COUNTS', ['a'])).toMatchObject([{ value: Uint8Array.of(9) }])
    }
    const metrics = await threads.metrics()
    expect([...metrics.keys()]).toEqual(['bootstrap', '0', '1'])
    const asked = [...metrics.values()].map((thread) => thread['query.numRequests.values'])
    expect(asked).toEqual([0, 1, 1])
  })

  it('inform clients of the states, versions and endpoints', async () => {
    const threads = await start()
    await serve(threads)
    const client = await connect(threads)
    expect(client.routing.endpoints.map(({ server }) => server)).toEqual(['query-0', 'query-1'])
    expect(client.routing.states).toContainEqual({
      name: 'ALS_MODEL',
      kind: 'vector',
      dimension: 4,
      versions: [1],
      liveVersion: 1,
    })
  })

  it('report the version that is live now on the bootstrap port, with an epoch that has grown', async () => {
    const threads = await start()
    const world = await serve(threads)
    const before = threads.routing
    world.board.setLiveVersion(0, 2)
    const { epoch, states } = threads.routing
    expect(states.find(({ name }) => name === 'ALS_MODEL')?.liveVersion).toBe(2)
    expect(epoch).toBeGreaterThan(before.epoch)
  })

  it('inform clients of the labels of loaded versions, as they are said last', async () => {
    const threads = await start()
    await serve(threads)
    const labels = { version: 1, positive: 1, negative: 0 }
    threads.versionLabelled('ALS_MODEL', labels)
    threads.versionLabelled('ALS_MODEL', { ...labels, version: 2 })
    const client = await connect(threads)
    const shown = async (): Promise<unknown> => {
      const { states } = await client.refreshRouting()
      return states.find(({ name }) => name === 'ALS_MODEL')?.labels
    }
    await expect.poll(shown).toEqual([labels])
    // A candidate was published again, with other labels.
    const others = { version: 1, positive: 2, negative: 1 }
    threads.versionLabelled('ALS_MODEL', others)
    await expect.poll(shown).toEqual([others])
    threads.versionRetired('ALS_MODEL', 1)
    threads.versionLabelled('ALS_MODEL', { ...labels, version: 3 })
    await expect.poll(shown).toEqual([])
  })

  it('inform clients of the terms of loaded versions of implicit feedback', async () => {
    const threads = await start()
    await serve(threads)
    const terms = { version: 1, alpha: 2, regularization: 0.5, penalty: 'sqrt-n', gram: 'AACAPw==' }
    threads.versionTrained('ALS_MODEL', terms)
    const client = await connect(threads)
    const shown = async (): Promise<unknown> => {
      const { states } = await client.refreshRouting()
      return states.find(({ name }) => name === 'ALS_MODEL')?.terms
    }
    await expect.poll(shown).toEqual([terms])
    threads.versionRetired('ALS_MODEL', 1)
    threads.versionTrained('ALS_MODEL', { ...terms, version: 3 })
    await expect.poll(shown).toEqual([])
  })

  it('fail what a lost slot would have answered and still read its rows', async () => {
    const threads = await start()
    const world = await serve(threads)
    const client = await connect(threads)
    world.slotDown(0)
    world.slotDown(1)
    // The client tries again until its deadline; on a busy machine that may come before the last answer.
    await expect
      .poll(async () => (await client.values('COUNTS', ['a'], { deadlineMs: 200 }))[0])
      .toMatchObject({ ok: false, error: { code: 'SLOT_LOST' } })
    expect((await client.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(10)
  })

  it('stop reading tables that were dropped', async () => {
    const threads = await start()
    const world = await serve(threads)
    const client = await connect(threads)
    world.dropTables(1)
    const codeOf = (version?: number) =>
      client
        .predict('ALS_MODEL', '1-U', '7-I', {
          deadlineMs: 100,
          ...(version === undefined ? {} : { version }),
        })
        .catch((error) => error.code)
    await expect.poll(() => codeOf(1)).toBe('UNKNOWN_VERSION')
    // The live version was read before it went live: a restarted job reads it again. On a busy machine the
    // deadline may come before the answer.
    await expect.poll(() => codeOf()).toBe('RESTORING')
  })

  it('refuse a client of another job, and a client before the job begins', async () => {
    const threads = await start()
    const early = WeirClient.connect({ port: threads.port, deadlineMs: 50 })
    await expect(early).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    await serve(threads)
    await expect(WeirClient.connect({ port: threads.port, job: 'svm' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
  })

  it('give a newer attempt’s table to clients when its slot runs', async () => {
    const threads = await start()
    const world = await serve(threads)
    const client = await connect(threads)
    const restarted = new ServedWorld()
    open.push(restarted)
    restarted.put('1-U', [2, 2, 2, 2])
    restarted.put('7-I', [1, 1, 1, 1])
    world.openTables(restarted, 2)
    const score = async () => (await client.predict('ALS_MODEL', '1-U', '7-I')).score
    expect(await score()).toBe(10)
    world.run(2)
    await expect.poll(score).toBe(8)
  })

  it('read state in the calling thread, as it changes: rows, typed state, lost slots, newer attempts', async () => {
    const threads = await start()
    const world = await serve(threads)
    const [reader, again] = await Promise.all([threads.localReader(), threads.localReader()])
    expect(again).toBe(reader)
    expect((await reader.predict('ALS_MODEL', '1-U', '7-I')).score).toBe(10)
    expect(await reader.values('COUNTS', ['a'])).toMatchObject([{ value: Uint8Array.of(9) }])
    const restarted = new ServedWorld()
    open.push(restarted)
    restarted.put('1-U', [2, 2, 2, 2])
    restarted.put('7-I', [1, 1, 1, 1])
    world.openTables(restarted, 2)
    world.run(2)
    const score = async () => (await reader.predict('ALS_MODEL', '1-U', '7-I')).score
    await expect.poll(score).toBe(8)
    world.slotDown(0)
    world.slotDown(1)
    const count = () => reader.values('COUNTS', ['a'], { deadlineMs: 200 })
    await expect.poll(count).toMatchObject([{ ok: false, error: { code: 'SLOT_LOST' } }])
    world.attachAgain()
    await expect.poll(count).toMatchObject([{ value: Uint8Array.of(9) }])
  })

  it('listen on the ports they are given, on the next one where one is taken', async () => {
    const first = await freePorts(3)
    const neighbour = createServer().listen(first, '127.0.0.1')
    open.push(neighbour)
    await once(neighbour, 'listening')
    const threads = await start({ threadPorts: { first, last: first + 2 } })
    await serve(threads)
    expect(threads.routing.endpoints.map(({ port }) => port)).toEqual([first + 2, first + 1])
  })

  it('report that none of their ports is free, and take a port when it is', async () => {
    const port = await freePorts(1)
    const predecessor = createServer().listen(port, '127.0.0.1')
    await once(predecessor, 'listening')
    const threads = await start({ threads: 1, threadPorts: { first: port, last: port } })
    const reasons: string[] = []
    threads.onThreadLost((_, reason) => {
      reasons.push(reason)
      predecessor.close()
    })
    const world = new ServedWorld()
    open.push(world)
    world.serve(threads)
    await threads.listening()
    expect(reasons[0]).toContain(String(port))
    await expect.poll(() => threads.routing.endpoints[0]?.port).toBe(port)
  })

  it('refuse a range with fewer ports than threads', async () => {
    await expect(start({ threadPorts: { first: 9070, last: 9070 } })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    })
  })

  it('name the port that is taken', async () => {
    const threads = await start()
    await expect(start({ port: threads.port })).rejects.toMatchObject({ code: 'CONNECTOR_FAILED' })
  })
})
