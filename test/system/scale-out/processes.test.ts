import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { until } from '../../run/until.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { drain, newTopic, openReader } from '../kafka/fixture.ts'
import { expectEachOnce, Load, OUTPUT_PARTITIONS } from '../kafka/fold/fixture.ts'
import { JobMember, type ScaledJob } from './fixture.ts'

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const PARTITIONS = 4

/** The fold of operations in several processes, with its topics and its load. */
async function newFold(): Promise<{ job: ScaledJob; load: Load; output: string }> {
  const client = { brokers: broker.bootstrap }
  const folder = mkdtempSync(join(tmpdir(), 'weir-scale-out-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const input = await newTopic(client, { partitions: 3 })
  const output = await newTopic(client, { partitions: OUTPUT_PARTITIONS })
  const job = {
    ...client,
    applicationId: `fold-${randomUUID()}`,
    partitions: PARTITIONS,
    module: join(import.meta.dirname, 'fold-job.ts'),
    options: { ...client, input, output },
    folder,
  }
  return { job, load: await Load.to(broker.bootstrap, input), output }
}

describe('one job in several processes', () => {
  it('loses and repeats nothing while processes join, are killed, stand still and leave', async () => {
    const { job, load, output } = await newFold()
    await using first = new JobMember(job)
    await first.untilRunning(PARTITIONS)
    load.start()
    await using second = new JobMember(job)
    await untilShared(first, second)
    await first.kill()
    await second.untilRunning(PARTITIONS)
    await using third = new JobMember(job)
    await untilShared(second, third)
    second.process.signal('SIGSTOP')
    await third.untilRunning(PARTITIONS)
    second.process.signal('SIGCONT')
    await untilShared(second, third)
    const { code, stderr } = await third.leave()
    expect({ code, stderr }).toMatchObject({ code: 0 })
    await second.untilRunning(PARTITIONS)
    await load.stop()
    await drain(
      await openReader(KafkaSource.raw({ brokers: job.brokers, topic: output })),
      load.sent,
    )
    await second.leave()
    await expectEachOnce(broker, output, load)
  })

  it('starts several processes at once, and one again that is killed', async () => {
    const { job, load } = await newFold()
    await load.stop()
    await using both = new JobMember(job, ['--processes', '2'])
    const pids = () => both.events('started').map(({ pid }) => pid as number)
    await until('two have started', () => pids().length === 2)
    await until(
      'both are members',
      () => new Set(both.events('joined').map(({ memberId }) => memberId)).size === 2,
    )
    process.kill(pids()[0]!, 'SIGKILL')
    await until('a third has started', () => pids().length === 3)
    const { code, stderr } = await both.leave()
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stderr).toContain('was ended by SIGKILL; it is started again')
  })
})

/** Resolves when each of two processes runs half of the partitions, and together they run all. */
async function untilShared(a: JobMember, b: JobMember): Promise<void> {
  await until(
    () => `two processes share the partitions:\n${a.printed}\n${b.printed}`,
    () => {
      const all = [...a.running, ...b.running].toSorted()
      return a.running.length === PARTITIONS / 2 && all.join() === '0,1,2,3'
    },
  )
}
