import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { TopicProducer } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { type PublishableRow, publishModel } from '../../../src/models/publish/model.ts'
import { retireOldVersions } from '../../../src/models/retention/retire-old.ts'
import { abandonVersions, retireVersions } from '../../../src/models/retention/retire-versions.ts'
import { collectUnfinished } from '../../../src/models/retention/unfinished.ts'
import { Publication } from '../../../src/models/topic/publication.ts'
import { publishedVersions, readyVersions } from '../../../src/models/versions/model-versions.ts'
import { until } from '../../run/until.ts'
import { GONE, MODEL, ModelFolder } from './fixture.ts'

const clock = systemClock
const gone = { process: GONE, atMs: Date.now() }

/** Numbers and states of the versions that are not whole. */
async function unfinished({ administration }: ModelFolder): Promise<readonly string[]> {
  const { unfinished: found } = await administration.all()
  return found.map(({ marker, kind, rows }) => `${marker.version} ${kind} ${rows}`)
}

describe('what a killed publisher has left', () => {
  it('is listed with its rows and bytes, and changes nothing else', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: gone })
    expect(await unfinished(model)).toEqual(['2 incomplete 3'])
    const [found] = (await model.administration.all()).unfinished
    // Three keys of 5 bytes and three rows of one float.
    expect(found?.bytes).toBe(3 * (5 + 4))
    expect(await readyVersions(model.topics, MODEL)).toMatchObject([{ version: 1 }])
  })

  it('is deleted by the next publication, which takes the next number', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: gone })
    expect(await model.publish(1)).toBe(3)
    expect(await model.rows()).toEqual(['1-U@1', '1-U@3', '2-U@1'])
    expect(await unfinished(model)).toEqual([])
  })

  it('does not come back with a version that is published under its number', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: gone })
    expect(await model.publish(1, { version: 2 })).toBe(2)
    expect(await model.rows()).toEqual(['1-U@1', '1-U@2', '2-U@1'])
    expect(await readyVersions(model.topics, MODEL)).toMatchObject([{ version: 1 }, { version: 2 }])
  })

  it('does not come back either where the version is not registered, or its publisher may run', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: gone })
    await model.publish(1, { version: 2, unregistered: true })
    await model.leave(3, { version: 3, publisher: { process: 'there/1-1/1', atMs: Date.now() } })
    await model.publish(1, { version: 3 })
    expect(await model.rows()).toEqual(['1-U@1', '1-U@2', '1-U@3', '2-U@1'])
  })

  it('is not published under the same number while its publisher runs', async () => {
    using publication = new Publication()
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: { process: publication.name, atMs: 1 } })
    await expect(model.publish(1, { version: 2 })).rejects.toMatchObject({ code: 'ILLEGAL_STATE' })
  })

  it('is deleted by a retention that has no version to retire', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: gone })
    const { registry } = model
    const place = { logDirectory: join(model.folder, 'log') }
    const retired = await retireOldVersions({ registry, place, model: MODEL, retain: 9, clock })
    expect(retired).toEqual({ numbers: [2], rows: 3 })
    expect(await model.rows()).toEqual(['1-U@1', '2-U@1'])
  })

  it('stays while its publisher may run', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: { process: 'there/1-1/1', atMs: Date.now() } })
    await model.leave(3, { version: 3 })
    expect(await model.publish(1)).toBe(4)
    expect(await unfinished(model)).toEqual(['2 publishing 3', '3 publishing 3'])
  })

  it('is incomplete where only some partitions have the marker that it is ready', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, publisher: gone })
    const [, second] = (await publishedVersions(model.topics, MODEL)).all
    const producer = await model.topics.producer(MODEL)
    const ready = Buffer.from(JSON.stringify({ ...second!.marker, event: 'ready' }))
    producer.sendRecord(Buffer.from('!version@2'), ready, Date.now(), 1, [])
    await producer.sync()
    await producer.close()
    expect(await unfinished(model)).toEqual(['2 incomplete 3'])
  })
})

describe('a publication that fails', () => {
  async function* failing(): AsyncGenerator<PublishableRow> {
    yield { id: '7', kind: 'U', vector: Float32Array.of(7) }
    throw new Error('the file ends')
  }

  it('says so in the topic, behind its rows', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await expect(model.publish(5, { rows: failing })).rejects.toThrow('the file ends')
    const { all } = await publishedVersions(model.topics, MODEL)
    expect(all.at(-1)?.marker).toMatchObject({ event: 'retire', incomplete: true, rowsLeft: true })
    expect(await unfinished(model)).toEqual(['2 incomplete 1'])
  })

  it('leaves its number free for who names it, and does not touch a version that was whole', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await expect(model.publish(5, { rows: failing })).rejects.toThrow()
    expect(await model.publish(1, { version: 2 })).toBe(2)
    await expect(model.publish(1, { version: 2 })).rejects.toMatchObject({ code: 'VERSION_EXISTS' })
  })

  it('leaves what another process publishes under its number by then', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    async function* replaced(): AsyncGenerator<PublishableRow> {
      yield { id: '7', kind: 'U', vector: Float32Array.of(7) }
      const publisher = { process: 'there/1-1/1', atMs: Date.now() }
      await model.leave(3, { version: 2, publisher })
      await model.leave(0, { version: 2, event: 'ready' })
      throw new Error('the file ends')
    }
    await expect(model.publish(1, { rows: replaced })).rejects.toThrow('the file ends')
    expect(await readyVersions(model.topics, MODEL)).toMatchObject([{ version: 1 }, { version: 2 }])
  })

  it('after its rows are there leaves the version, which the next command registers', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    const { registry } = model
    const adopt = registry.adopt.bind(registry)
    registry.adopt = async (topic, markers, published) => {
      if (published !== undefined) throw new Error('the registry is locked')
      return await adopt(topic, markers)
    }
    await expect(model.publish(1)).rejects.toThrow('the registry is locked')
    expect(await readyVersions(model.topics, MODEL)).toMatchObject([{ version: 1 }, { version: 2 }])
    registry.adopt = adopt
    await model.administration.register()
    expect((await registry.read()).versions.get(MODEL)?.get(2)).toMatchObject({
      state: 'candidate',
    })
  })

  it('because its facts fit no marker sends no row', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    const failed = publishModel(
      { dimension: 1, users: 1, items: 0, rows: () => [] },
      {
        ...{ log: model.topics, topic: MODEL, clock },
        facts: {
          name: '',
          biased: false,
          globalMean: Number.NaN,
          hyperparameters: {},
          metrics: {},
        },
      },
    )
    await expect(failed).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect((await publishedVersions(model.topics, MODEL)).all).toHaveLength(1)
  })

  it('because it was dropped meanwhile never registers its version', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    async function* dropped(): AsyncGenerator<PublishableRow> {
      yield { id: '7', kind: 'U', vector: Float32Array.of(7) }
      const [marker] = await until('version 2 is announced', async () => {
        const { all } = await publishedVersions(model.topics, MODEL)
        const found = all.map((each) => each.marker).filter(({ version }) => version === 2)
        return found.length > 0 && found
      })
      const markers = [marker!]
      await abandonVersions(model.topics, MODEL, { markers, clock })
    }
    await expect(model.publish(1, { rows: dropped })).rejects.toMatchObject({
      code: 'ILLEGAL_STATE',
    })
    expect(await readyVersions(model.topics, MODEL)).toMatchObject([{ version: 1 }])
    expect((await model.registry.read()).versions.get(MODEL)?.has(2)).toBe(false)
  })
})

describe('a retrained version whose process has ended', () => {
  const hyperparameters = { candidate: true, retraining: GONE }

  it('before it was registered is deleted by the next publication', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, event: 'ready', hyperparameters })
    expect(await model.publish(1)).toBe(3)
    expect(await model.rows()).toEqual(['1-U@1', '1-U@3', '2-U@1'])
  })

  it('stays after the registry was lost: it may be live in a job', async () => {
    await using model = new ModelFolder()
    await model.publish(2)
    await model.leave(3, { version: 2, event: 'ready', hyperparameters })
    rmSync(join(model.folder, 'registry'), { recursive: true })
    expect(await model.publish(1)).toBe(3)
    // The registry of the next command has the versions from the topic.
    expect(await model.publish(1)).toBe(4)
    const rows = ['1-U@1', '1-U@2', '1-U@3', '1-U@4', '2-U@1', '2-U@2', '3-U@2']
    expect(await model.rows()).toEqual(rows)
  })
})

/** A log whose next producer fails after some records. */
class FailingTopics extends LogTopics {
  left = Number.POSITIVE_INFINITY

  override async producer(topic: string): Promise<TopicProducer> {
    const producer = await super.producer(topic)
    const send = producer.sendRecord.bind(producer)
    producer.sendRecord = (...record) => {
      if (--this.left < 0) throw new Error('killed')
      return send(...record)
    }
    return producer
  }
}

it('a deletion that was killed is continued by the next publication, wherever it was', async () => {
  await using model = new ModelFolder((folder) => new FailingTopics(folder))
  const topics = model.topics as FailingTopics
  await model.publish(1)
  // It writes two markers, deletes three rows, and writes two markers.
  for (const records of [1, 3, 6]) {
    const number = await model.publish(3)
    await model.registry.require({ kind: 'retire', name: MODEL, number, atMs: 1 })
    topics.left = records
    const deletion = retireVersions(topics, MODEL, { versions: [number], clock })
    await expect(deletion).rejects.toThrow('killed')
    topics.left = Number.POSITIVE_INFINITY
    expect(await unfinished(model)).toHaveLength(1)
    await collectUnfinished(topics, { registry: model.registry, model: MODEL, clock })
    expect(await model.rows()).toEqual(['1-U@1'])
    expect(await unfinished(model)).toEqual([])
  }
})
