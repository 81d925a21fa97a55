import { beforeEach, describe, expect, it } from 'vitest'
import type { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import type { TopicStore } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { type ForgetOptions, forget } from '../../../src/jobs/erasure/forget.ts'
import type { ForgottenPart } from '../../../src/jobs/erasure/places.ts'
import { type Finding, prove } from '../../../src/jobs/erasure/prove.ts'
import { ModelDeltaBuffer } from '../../../src/models/als/online/model-delta.ts'
import { asKafka, fill, newLog } from './log-topics.ts'

/** Users of the ratings at the offsets 0, 1, ...; each rating has a delta at the same offset. */
const USERS = ['4', '5', '6', '5', '6', '7']
const OWN = [1, 3]

let log: LogTopics
let topics: TopicStore

function deltaAt(offset: number): Uint8Array {
  const delta = new ModelDeltaBuffer('step', 2)
  delta.setOrigin(3, 0, offset, 1)
  return delta.bytes.slice()
}

beforeEach(async () => {
  log = newLog()
  topics = asKafka(log)
  // Segments of one record each: only whole ones are deleted.
  const config = { partitions: 1, segmentBytes: 1 }
  const ratings = USERS.map((user) => ({ value: `${user},1,1` }))
  await fill(log, 'ratings', ratings, config)
  await fill(
    log,
    'm-deltas',
    USERS.map((_, offset) => ({ value: deltaAt(offset) })),
    config,
  )
  await fill(log, 'm', [], { ...config, cleanupPolicy: 'compact' })
})

const named = () => ({
  ...{ topics, user: '5', versions: [], model: 'm', observations: 'ratings' },
  ...{ also: [], quarantine: [] },
})
const forgetWith = (onKafka: ForgetOptions['onKafka']): Promise<readonly ForgottenPart[]> =>
  forget({ ...named(), onKafka, clock: systemClock })

async function provedDeltas(): Promise<readonly Finding[]> {
  const findings = await prove({ ...named(), storage: undefined, served: [], files: [] })
  return findings.filter(({ place }) => place === 'deltas')
}

/** Offsets of the deltas that are there. */
async function deltaOffsets(): Promise<number[]> {
  const found: number[] = []
  await log.stored.visit('m-deltas', { record: ({ offset }) => found.push(offset) })
  return found
}

describe('deltas of a person in a Kafka', () => {
  it('are found by the offsets of the ratings, and stay where "keep" says so', async () => {
    const detail = '2 deltas of ratings by the user'
    expect(await provedDeltas()).toMatchObject([{ verdict: 'found', detail }])
    const part = (await forgetWith('keep')).find(({ place }) => place === 'deltas')
    expect(part).toEqual({
      ...{ place: 'deltas', topic: 'm-deltas', count: OWN.length, did: 'kept' },
      left: [{ partition: 0, first: 1, last: 3, count: 2, notBeforeMs: null }],
    })
    expect(await deltaOffsets()).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('go with all before them with "delete-before", and those after stay', async () => {
    const part = (await forgetWith('delete-before')).find(({ place }) => place === 'deltas')
    expect(part).toMatchObject({ count: 4, did: 'deleted-before' })
    expect(await deltaOffsets()).toEqual([4, 5])
    expect(await provedDeltas()).toMatchObject([{ verdict: 'not-found' }])
  })

  it('go when the command is repeated after it was killed between ratings and deltas', async () => {
    await topics.deleteRecords('ratings', [4])
    // Whose they are is not known now; that is said.
    expect((await provedDeltas()).map(({ verdict }) => verdict)).toEqual([
      ...['not-found', 'not-searched'],
    ])
    await forgetWith('delete-before')
    expect(await deltaOffsets()).toEqual([4, 5])
  })

  it('are none where the person has not rated', async () => {
    const findings = await prove({
      ...{ ...named(), user: '9', storage: undefined, served: [], files: [] },
    })
    expect(findings.find(({ place }) => place === 'deltas')).toMatchObject({ verdict: 'not-found' })
  })
})
