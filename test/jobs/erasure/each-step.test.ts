import { describe, expect, it } from 'vitest'
import type { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { TopicStore } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { type ForgetOptions, forget } from '../../../src/jobs/erasure/forget.ts'
import { Person } from '../../../src/jobs/erasure/person.ts'
import { isLeft, prove } from '../../../src/jobs/erasure/prove.ts'
import { ModelDeltaBuffer } from '../../../src/models/als/online/model-delta.ts'
import { rowPartition } from '../../../src/models/topic/row-partition.ts'
import { asKafka, fill, newLog, type Sent } from './log-topics.ts'

const USER = '5'
const USERS = ['4', USER, '6', USER, '7', '6']
const named = {
  ...{ user: USER, model: 'm', observations: 'ratings', also: ['golden'], quarantine: ['refused'] },
}
const ENDED = 'the process ends here'

async function filledLog(): Promise<LogTopics> {
  const log = newLog()
  const config = { partitions: 1, segmentBytes: 1 }
  const ratings = USERS.map((user): Sent => ({ value: `${user},1,1` }))
  const topics = ['ratings', 'golden', 'refused']
  const filled = topics.map((topic) => fill(log, topic, ratings, config))
  const delta = new ModelDeltaBuffer('step', 2)
  const deltas = USERS.map((_, offset): Sent => {
    delta.setOrigin(1, 0, offset, 1)
    return { value: delta.bytes.slice() }
  })
  filled.push(fill(log, 'm-deltas', deltas, config))
  const rows = [...new Set(USERS)].flatMap((user) =>
    [1, 2].map((version): Sent => {
      const partition = rowPartition(`${user}-U`, 2)
      return { key: `${user}-U@${version}`, value: 'floats', partition }
    }),
  )
  const compacted = { partitions: 2, segmentBytes: 1, cleanupPolicy: 'compact' } as const
  filled.push(fill(log, 'm', rows, compacted))
  await Promise.all(filled)
  return log
}

/** A store whose process ends before its `steps`-th change, or after it and before the caller hears of it. */
function endingAfter(store: TopicStore, steps: number, when: 'before' | 'after') {
  const made = { steps: 0 }
  const change = async <T>(run: () => Promise<T>): Promise<T> => {
    made.steps++
    if (made.steps === steps && when === 'before') throw new Error(ENDED)
    const result = await run()
    if (made.steps === steps) throw new Error(ENDED)
    return result
  }
  const topics: TopicStore = Object.create(store, {
    deleteRecords: {
      value: (topic: string, before: readonly number[]) =>
        change(() => store.deleteRecords(topic, before)),
    },
    producer: {
      value: async (topic: string) => {
        const producer = await store.producer(topic)
        const sync = () => change(() => producer.sync())
        return Object.create(producer, { sync: { value: sync } })
      },
    },
    stored: {
      value: store.stored && {
        visit: store.stored.visit.bind(store.stored),
        erase: (topic: string, offsets: ReadonlyMap<number, readonly number[]>) =>
          change(() => store.stored!.erase(topic, offsets)),
      },
    },
  })
  return { topics, made }
}

/** The records of all topics that are of others, by place. */
async function othersIn(log: LogTopics): Promise<ReadonlyMap<string, string>> {
  const person = new Person(USER)
  const others = new Map<string, string>()
  for (const topic of await log.topics()) {
    await log.stored.visit(topic, {
      record(record, partition) {
        const value = Buffer.from(record.value() ?? 'none')
        const isDelta = topic === 'm-deltas'
        const isOwn = isDelta
          ? USERS[value.readUInt32LE(8)] === USER
          : person.hasRated(record) ||
            person.isForgottenIn(record) ||
            person.rowIn(record) !== undefined
        if (isOwn) return
        const key = Buffer.from(record.key() ?? 'none').toString()
        others.set(`${topic}/${partition}/${record.offset}`, `${key} ${value.toString('hex')}`)
      },
    })
  }
  return others
}

const options = (topics: TopicStore, onKafka?: ForgetOptions['onKafka']): ForgetOptions => ({
  ...{ ...named, topics, versions: [1, 2, 3], clock: systemClock, onKafka },
})

async function isProved(topics: TopicStore): Promise<boolean> {
  const found = await prove({
    ...{ ...named, topics, versions: [], storage: undefined, served: [], files: [] },
  })
  return !isLeft(found)
}

/** How many changes a command makes that is not ended. */
async function stepsOf(as: (log: LogTopics) => TopicStore, onKafka?: ForgetOptions['onKafka']) {
  const { topics, made } = endingAfter(as(await filledLog()), 0, 'before')
  await forget(options(topics, onKafka))
  return made.steps
}

describe.each(['before', 'after'] as const)('a command that ends %s one of its changes', (when) => {
  it('leaves the rest to the next one in an embedded log, and the records of others as they were', async () => {
    const steps = await stepsOf((log) => log)
    expect(steps).toBeGreaterThan(6)
    for (let step = 1; step <= steps; step++) {
      const log = await filledLog()
      const before = await othersIn(log)
      const { topics } = endingAfter(log, step, when)
      await expect(forget(options(topics)), `${step}`).rejects.toThrow(ENDED)
      await forget(options(log))
      expect(await isProved(log), `${step}`).toBe(true)
      expect(await othersIn(log), `${step}`).toEqual(before)
    }
  })

  it('leaves the rest to the next one in a Kafka, and the records of others behind the last one', async () => {
    const steps = await stepsOf(asKafka, 'delete-before')
    expect(steps).toBeGreaterThan(5)
    for (let step = 1; step <= steps; step++) {
      const log = await filledLog()
      const before = await othersIn(log)
      const { topics } = endingAfter(asKafka(log), step, when)
      await expect(forget(options(topics, 'delete-before')), `${step}`).rejects.toThrow(ENDED)
      await forget(options(asKafka(log), 'delete-before'))
      const after = await othersIn(log)
      // Offsets 0 to 3 of topics of ratings and deltas are deleted with the last rating of the person, at 3.
      const kept = [...before].filter(([place]) => {
        const [topic, , offset] = place.split('/')
        return topic === 'm' || Number(offset) > 3
      })
      expect([...after].toSorted(), `${step}`).toEqual(kept.toSorted())
      const person = new Person(USER)
      for (const topic of ['ratings', 'golden', 'refused']) {
        await log.stored.visit(topic, {
          record: (record) => expect(person.hasRated(record), topic).toBe(false),
        })
      }
    }
  })
})
