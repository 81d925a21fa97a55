import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import type { AnswerEnvelope } from '../../../src/wire/model-reader.ts'
import type { Folded } from '../../recovery/fold/job.ts'
import { until } from '../../run/until.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { textOfFold } from '../kafka/fold/fixture.ts'
import { JobMember } from './fixture.ts'
import { ownFold } from './fold-fixture.ts'

const PARTITIONS = 6
/** Longer than any move on a busy machine. */
const PATIENT = { deadlineMs: 120_000 }

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

/** What was read of a key. */
interface Read {
  readonly fold: Folded | undefined
  readonly envelope: AnswerEnvelope | undefined
}

describe('queries of one job in several processes', () => {
  it('are answered by the owner of each key, rightly, while a process is killed and its partitions move', async () => {
    const { job, load } = await ownFold(broker, PARTITIONS)
    await load.send(2_000)
    const members = [new JobMember(job), new JobMember(job), new JobMember(job)]
    await using all = new AsyncDisposableStack()
    for (const member of members) all.use(member)
    const [first, second, third] = members as [JobMember, JobMember, JobMember]
    await Promise.all(members.map((member) => member.untilRunning(PARTITIONS / 3)))
    await using client = await WeirClient.connect({ port: await first.queryPort(), ...PATIENT })
    const keys = [...load.expected.keys()]
    const partitionOf = new Map<string, string>()

    const readAll = async (): Promise<Map<string, Read>> => {
      const answers = await Promise.all(
        keys.map((key) => client.getWithEnvelope<Folded>('FOLDS', key, PATIENT)),
      )
      const reads = answers.map((answer, at): [string, Read] => {
        const key = keys[at]!
        if (!answer.ok) {
          if (answer.error.code !== 'UNKNOWN_KEY') throw answer.error
          return [key, { fold: undefined, envelope: undefined }]
        }
        const { envelope, value: fold } = answer
        expect({ key: fold.key, isOne: load.folds.has(textOfFold(fold)) }).toEqual({
          key,
          isOne: true,
        })
        const partition = envelope.servedBy.split('/')[1]!
        expect(partition).toBe(partitionOf.get(key) ?? partition)
        partitionOf.set(key, partition)
        return [key, { fold, envelope }]
      })
      return new Map(reads)
    }

    await until('every key has a value', async () =>
      [...(await readAll()).values()].every(({ fold }) => fold !== undefined),
    )
    load.start()
    const owned = new Set(third.running.map(String))
    const killed = third.kill()
    await until('the others answer for what it had', async () => {
      const reads = await readAll()
      const moved = keys.filter((key) => owned.has(partitionOf.get(key)!))
      expect(moved.length).toBeGreaterThan(0)
      return moved.every((key) => reads.get(key)?.envelope !== undefined)
    })
    await killed
    await Promise.all([first, second].map((member) => member.untilRunning(PARTITIONS / 2)))
    await load.stop()
    let last = new Map<string, Read>()
    await until('every key has its last value', async () => {
      last = await readAll()
      return keys.every((key) => last.get(key)?.fold?.count === load.expected.get(key)!.count)
    })
    for (const key of keys) expect(last.get(key)?.fold).toEqual(load.expected.get(key))
    const scanned = new Map<unknown, Folded>()
    for await (const { key, value } of client.entries<string, Folded>('FOLDS', PATIENT)) {
      scanned.set(key, value)
    }
    expect(scanned).toEqual(load.expected)
    const together = await client.values('FOLDS', keys, PATIENT)
    expect(together.map(({ ok }) => ok)).toEqual(keys.map(() => true))
    // Who answered runs the partition of the key, by its own words.
    for (const { envelope } of last.values()) {
      const [server, partition] = envelope!.servedBy.split('/')
      const owner = [first, second].find(
        (member) => server === `process-${member.events('started')[0]!['pid']}`,
      )
      expect(owner?.running).toContain(Number(partition))
    }
  })
})
