import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { KafkaSource } from '../../../src/connectors/kafka/source.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { weir } from '../cli/command-process.ts'
import { drain, newTopic, openReader } from '../kafka/fixture.ts'
import { expectEachOnce, Load, OUTPUT_PARTITIONS } from '../kafka/fold/fixture.ts'
import { JobMember, type ScaledJob } from './fixture.ts'

let broker: SharedKafka

beforeAll(async () => {
  broker = await sharedKafka()
})

afterAll(() => broker?.[Symbol.asyncDispose]())

const PARTITIONS = 4

/** A command about the job, to one of its processes; resolves with what it has printed. */
async function ask(member: JobMember, ...words: readonly string[]): Promise<string> {
  await using command = weir([...words, '-m', restOf(member)])
  const { code, stdout, stderr } = await command.ended
  if (code !== 0) throw new Error(`weir ${words.join(' ')} failed: ${stderr}`)
  return stdout
}

/** The address of the REST interface of a process. */
function restOf(member: JobMember): string {
  const [{ url } = { url: '' }] = member.events('rest') as { url: string }[]
  return url
}

describe('commands to any process of a job', () => {
  it('drain a process, stop all, and the job stays stopped until it is started where it was', async () => {
    const client = { brokers: broker.bootstrap }
    const folder = mkdtempSync(join(tmpdir(), 'weir-operations-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const input = await newTopic(client, { partitions: 3 })
    const output = await newTopic(client, { partitions: OUTPUT_PARTITIONS })
    const job: ScaledJob = {
      ...client,
      applicationId: `operations-${randomUUID()}`,
      partitions: PARTITIONS,
      module: join(import.meta.dirname, 'fold-job.ts'),
      options: { ...client, input, output },
      folder,
      // No process is lost here; on a busy machine a short session would remove one that is only slow.
      settings: { 'session.timeout.ms': '60 s' },
    }
    const load = await Load.to(broker.bootstrap, input)
    await using first = new JobMember(job)
    await first.untilRunning(PARTITIONS)
    load.start()
    await using second = new JobMember(job)
    await second.untilRunning(PARTITIONS / 2)
    await first.untilRunning(PARTITIONS / 2)
    const members = await ask(second, 'members', job.applicationId)
    expect(members).toContain('2 processes, 4 job partitions')
    // By its address: on a busy machine it may not answer in time to be known by its id.
    await ask(second, 'rebalance', job.applicationId, '--drain', restOf(first))
    await second.untilRunning(PARTITIONS)
    await first.untilRunning(0)
    const stopped = await ask(first, 'stop', job.applicationId, '--json')
    const { location } = JSON.parse(stopped) as { location: string }
    for (const { process } of [first, second]) {
      const { code, stderr } = await process.ended
      expect({ code, stderr }).toMatchObject({ code: 0 })
    }
    // A supervisor starts it again.
    await using again = new JobMember(job)
    expect(await again.process.ended).toMatchObject({ code: 0 })
    expect(again.events('stopped')).toEqual([expect.objectContaining({ place: location })])
    await using third = new JobMember(job, ['--restore-from', location])
    await third.untilRunning(PARTITIONS)
    await load.stop()
    await drain(
      await openReader(KafkaSource.raw({ brokers: job.brokers, topic: output })),
      load.sent,
    )
    await third.leave()
    await expectEachOnce(broker, output, load)
  })
})
