import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openTopics } from '../../../src/connectors/topics/open.ts'
import type { TopicStore } from '../../../src/connectors/topics/store.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { WeirError } from '../../../src/core/errors.ts'
import { DecisionLogs } from '../../../src/jobs/pipelines/decision-logs.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'

const decision = (n: number) => ({
  id: String(n),
  timeMs: 1000 + n,
  pipeline: 'p',
  version: 1,
  context: `u${n}`,
  versions: {},
  choices: [],
  arm: undefined,
  confidence: undefined,
  isDefault: undefined,
  ms: 1,
})

/** Ids of the decisions that a topic has. */
async function idsIn(topics: TopicStore, topic: string): Promise<string[]> {
  const ids: string[] = []
  await topics.stored!.visit(topic, {
    record: (record) => {
      const { id } = JSON.parse(new TextDecoder().decode(record.value()!)) as {
        readonly id: string
      }
      ids.push(id)
    },
  })
  return ids
}

it('what was written before the end is in the topic, which is made where it is missing', async () => {
  const logDirectory = await mkdtemp(join(tmpdir(), 'weir-decisions-'))
  const failures: string[] = []
  {
    await using logs = new DecisionLogs({
      openTopics: () => openTopics({ logDirectory }),
      clock: systemClock,
      onFailure: (topic) => failures.push(topic),
    })
    const sink = await logs.open('made')
    expect(await logs.open('made')).toBe(sink)
    for (let n = 0; n < 500; n++) sink.write(decision(n))
  }
  await using topics = await openTopics({ logDirectory })
  const ids = await idsIn(topics, 'made')
  expect(ids.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 500 }, (_, n) => n))
  expect(failures).toEqual([])
  await rm(logDirectory, { recursive: true })
})

it('counts what a topic that fails does not have, reports it once, and goes on when it works again', async () => {
  const logDirectory = await mkdtemp(join(tmpdir(), 'weir-decisions-'))
  const clock = new ManualClock()
  const failures: WeirError[] = []
  let isBroken = true
  const broken = async (): Promise<TopicStore> => {
    const topics = await openTopics({ logDirectory })
    return new Proxy(topics, {
      get: (target, name) => {
        if (name !== 'producer') {
          const member: unknown = Reflect.get(target, name)
          return typeof member === 'function' ? member.bind(target) : member
        }
        return async (topic: string) => {
          const producer = await target.producer(topic)
          const sync = async (): Promise<void> => {
            if (isBroken) throw new Error('the disk is gone')
            await producer.sync()
          }
          return {
            ready: () => producer.ready(),
            whenReady: () => producer.whenReady(),
            sendRecord: (...record: Parameters<typeof producer.sendRecord>) =>
              producer.sendRecord(...record),
            sync,
            close: () => producer.close(),
          }
        }
      },
    })
  }
  await using logs = new DecisionLogs({
    openTopics: broken,
    clock,
    onFailure: (_, error) => failures.push(error),
  })
  const sink = await logs.open('made')
  for (const n of [1, 2]) {
    sink.write(decision(n))
    clock.advance(5)
    await expect.poll(() => sink.lost, { timeout: 60_000 }).toBe(n)
  }
  expect(failures.map(({ message }) => message)).toEqual(['the disk is gone'])
  isBroken = false
  sink.write(decision(3))
  await expect.poll(() => clock.pending, { timeout: 60_000 }).toBe(1)
  clock.advance(5)
  await using topics = await openTopics({ logDirectory })
  await expect
    .poll(async () => (await idsIn(topics, 'made')).includes('3'), { timeout: 60_000 })
    .toBe(true)
  expect(sink.lost).toBe(2)
})

it('says that a process has no log for decisions', async () => {
  await using logs = new DecisionLogs({
    openTopics: undefined,
    clock: systemClock,
    onFailure: () => {},
  })
  await expect(logs.open('made')).rejects.toMatchObject({ code: 'UNSUPPORTED' })
})
