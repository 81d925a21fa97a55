import { describe, expect, it } from 'vitest'
import { scanTopic } from '../../src/connectors/topics/scan.ts'
import type { TopicStore } from '../../src/connectors/topics/store.ts'
import { completeModelTopics, createModelTopics } from '../../src/models/topic/topics.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (value: Uint8Array | null): string =>
  value === null ? '' : Buffer.from(value).toString()
const failure = (code: string): unknown => expect.objectContaining({ code })

let topics = 0
const freshName = (): string => `store-${++topics}`

/** The committed records of a topic as `partition:key=value`, partition by partition. */
async function recordsOf(store: TopicStore, topic: string): Promise<string[]> {
  const parts: string[][] = []
  await scanTopic(store, topic, (record, partition) => {
    parts[partition] ??= []
    parts[partition].push(`${partition}:${text(record.key())}=${text(record.value())}`)
    return true
  })
  return parts.flat()
}

async function send(
  store: TopicStore,
  topic: string,
  lines: readonly string[],
  options: { readonly transactionalId?: string; readonly end?: 'sync' | 'close' } = {},
): Promise<void> {
  const producer = await store.producer(topic, options.transactionalId)
  for (const line of lines) {
    const [key, value] = line.split('=')
    producer.sendRecord(bytes(key!), bytes(value!), 1_700_000_000_000, -1, [])
  }
  if (options.end !== 'close') await producer.sync()
  await producer.close()
}

/** Contract of every store of topics. */
export function topicStoreContract(name: string, open: () => Promise<TopicStore>): void {
  describe(`${name} as a store of topics`, () => {
    it('creates a topic with its configuration, lists and describes it', async () => {
      await using store = await open()
      const topic = freshName()
      expect(await store.has(topic)).toBe(false)
      await store.create(topic, { partitions: 3, cleanupPolicy: 'both', retentionMs: 86_400_000 })
      expect(await store.has(topic)).toBe(true)
      expect(await store.topics()).toContain(topic)
      expect(await store.describe(topic)).toMatchObject({
        ...{ topic, partitions: 3, cleanupPolicy: 'both' },
        ...{ retentionMs: 86_400_000, retentionBytes: -1 },
      })
      const empty = [0, 1, 2].map((partition) => ({ partition, start: 0, end: 0 }))
      expect(await store.bounds(topic)).toEqual(empty)
      for (const partitions of [3, 4]) {
        await expect(store.create(topic, { partitions })).rejects.toThrow(failure('TOPIC_EXISTS'))
      }
    })

    it('has an id for each topic, and one for all of them', async () => {
      await using store = await open()
      const topic = freshName()
      for (const name of [topic, `${topic}-other`]) await store.create(name, { partitions: 1 })
      const { id, cluster } = await store.identity(topic)
      expect(id).toMatch(/^[0-9a-f-]{36}$/)
      expect(cluster).toMatch(/^[\w-]{22,36}$/)
      expect(await store.identity(topic)).toEqual({ id, cluster })
      expect(await store.describe(topic)).toMatchObject({ id, cluster })
      const other = await store.identity(`${topic}-other`)
      expect(other.id).not.toBe(id)
      expect(other.cluster).toBe(cluster)
    })

    it('throws UNKNOWN_TOPIC for a missing topic', async () => {
      await using store = await open()
      const unknown = failure('UNKNOWN_TOPIC')
      await expect(store.identity('nothing')).rejects.toThrow(unknown)
      await expect(store.describe('nothing')).rejects.toThrow(unknown)
      await expect(store.bounds('nothing')).rejects.toThrow(unknown)
      await expect(store.producer('nothing')).rejects.toThrow(unknown)
      await expect(scanTopic(store, 'nothing', () => true)).rejects.toThrow(unknown)
    })

    it('shows all sent records in order, each key in the partition that Java chooses', async () => {
      await using store = await open()
      const topic = freshName()
      await store.create(topic, { partitions: 4 })
      await send(store, topic, ['a=1', 'b=1', 'a=2', 'c=1'])
      const found = await recordsOf(store, topic)
      expect(found).toHaveLength(4)
      // As kafka-clients chooses partitions: murmur2 of the key, its sign bit cleared, modulo 4.
      expect(found.filter((line) => line.includes(':a'))).toEqual(['0:a=1', '0:a=2'])
      const sizes = (await store.bounds(topic)).map(({ start, end }) => end - start)
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(4)
    })

    it('deletes no record at or above an offset, and never lowers the start', async () => {
      await using store = await open()
      const topic = freshName()
      await store.create(topic, { partitions: 2, segmentBytes: 1024 })
      const value = 'x'.repeat(700)
      for (let n = 0; n < 6; n++) await send(store, topic, [`a=${value}${n}`])
      const { partition, end } = (await store.bounds(topic)).find((each) => each.end > 0)!
      const before = [0, 1].map((each) => (each === partition ? 4 : 0))
      for (const offsets of [before, [], [0, 0], [1, 1].slice(0, partition + 1)]) {
        await store.deleteRecords(topic, offsets)
      }
      const bounds = (await store.bounds(topic)).find((each) => each.partition === partition)!
      expect(bounds.start).toBeGreaterThan(0)
      expect(bounds.start).toBeLessThanOrEqual(4)
      expect(bounds.end).toBe(end)
      expect((await recordsOf(store, topic)).at(-1)).toContain(`${value}5`)
      await expect(store.deleteRecords('nothing', [1])).rejects.toThrow(failure('UNKNOWN_TOPIC'))
    })

    it('stops a scan when the visitor says so', async () => {
      await using store = await open()
      const topic = freshName()
      await store.create(topic, { partitions: 1 })
      await send(store, topic, ['a=1', 'a=2', 'a=3'])
      const seen: string[] = []
      await scanTopic(store, topic, (record) => {
        seen.push(text(record.value()))
        return seen.length < 2
      })
      expect(seen).toEqual(['1', '2'])
    })

    it('shows a transaction after `sync`, and never when it was closed before', async () => {
      await using store = await open()
      const topic = freshName()
      await store.create(topic, { partitions: 2 })
      const transactionalId = `feed/${topic}`
      await send(store, topic, ['a=dropped', 'b=dropped'], { transactionalId, end: 'close' })
      expect(await recordsOf(store, topic)).toEqual([])
      await send(store, topic, ['a=kept'], { transactionalId })
      expect((await recordsOf(store, topic)).map((line) => line.slice(2))).toEqual(['a=kept'])
      await send(store, topic, [], { transactionalId })
    })

    it('completes the topics of a model that has rows but no deltas', async () => {
      await using store = await open()
      const topic = freshName()
      await store.create(topic, { partitions: 2, cleanupPolicy: 'compact' })
      expect(await createModelTopics(store, topic)).toEqual([])
      expect(await completeModelTopics(store, topic)).toEqual([`${topic}-deltas`])
      expect(await completeModelTopics(store, topic)).toEqual([])
    })

    it('gives a model its two topics, once', async () => {
      await using store = await open()
      const topic = freshName()
      const names = [`${topic}-deltas`, topic]
      expect(await createModelTopics(store, topic, { partitions: 2 })).toEqual(names)
      expect(await createModelTopics(store, topic, { partitions: 2 })).toEqual([])
      expect(await store.describe(topic)).toMatchObject({ partitions: 2, cleanupPolicy: 'compact' })
      expect(await store.describe(`${topic}-deltas`)).toMatchObject({
        ...{ partitions: 2, cleanupPolicy: 'delete', retentionMs: -1, retentionBytes: -1 },
      })
    })
  })
}
