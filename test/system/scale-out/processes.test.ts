import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { newTopic } from '../kafka/fixture.ts'
import { expectEachOnce, Load, OUTPUT_PARTITIONS } from '../kafka/fold/fixture.ts'
import { JobMember, type ScaledJob } from './fixture.ts'

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const PARTITIONS = 4

describe('one job in several processes', () => {
  it('loses and repeats nothing while processes join, leave and are killed', async () => {
    const client = { brokers: broker.bootstrap }
    const folder = mkdtempSync(join(tmpdir(), 'weir-scale-out-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const input = await newTopic(client, { partitions: 3 })
    const output = await newTopic(client, { partitions: OUTPUT_PARTITIONS })
    const job: ScaledJob = {
      brokers: broker.bootstrap,
      applicationId: `fold-${randomUUID()}`,
      partitions: PARTITIONS,
      module: new URL('./fold-job.ts', import.meta.url).pathname,
      options: { brokers: broker.bootstrap, input, output },
      folder,
    }
    const load = await Load.to(broker.bootstrap, input)
    await using first = new JobMember(job)
    await first.untilRunning(PARTITIONS)
    load.start()
    await using second = new JobMember(job)
    await until(() => `two processes share the partitions: ${first.running} / ${second.running}\n${first.process.printedOutput}${first.process.printedErrors}\n----\n${second.process.printedOutput}${second.process.printedErrors}`, () => shared(first, second), { timeoutMs: 100_000 })
    await first.kill()
    await second.untilRunning(PARTITIONS)
    await using third = new JobMember(job)
    await until('two processes share the partitions again', () => shared(second, third))
    await second.leave()
    await third.untilRunning(PARTITIONS)
    await load.stop()
    await pause(1000, 'x')
    await third.leave()
    await using last = new JobMember(job)
    await last.untilRunning(PARTITIONS)
    await pause(3000, 'x')
    await last.leave()
    await expectEachOnce(broker, output, load)
  })
})

/** Whether each of two processes runs half of the partitions, and together they run all. */
function shared(a: JobMember, b: JobMember): boolean {
  const all = [...a.running, ...b.running].toSorted()
  return a.running.length === PARTITIONS / 2 && all.join() === '0,1,2,3'
}
expect(1)
