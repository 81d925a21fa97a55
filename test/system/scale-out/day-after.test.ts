import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { partitionJobId } from '../../../src/cluster/scale-out/partition-execution.ts'
import { until } from '../../run/until.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'
import { expectEachOnce } from '../kafka/fold/fixture.ts'
import { JobMember } from './fixture.ts'
import { type ScaledFold, scaledFold, untilVisible } from './fold-fixture.ts'

const PARTITIONS = 2
const BATCH = 300

let broker: SharedKafka
let fold: ScaledFold

beforeAll(async () => {
  broker = await sharedKafka()
  fold = await scaledFold(broker, PARTITIONS)
})

afterAll(async () => {
  await fold?.load.stop()
  fold?.[Symbol.dispose]()
  await broker?.[Symbol.asyncDispose]()
})

/** Runs the job until all that was sent is visible, and kills its process. */
async function runAndKill(): Promise<void> {
  await using member = new JobMember(fold.job)
  await member.untilRunning(PARTITIONS)
  await fold.load.send(BATCH)
  await untilVisible(fold, fold.load.sent)
  await member.kill()
}

/** Deletes a group or a topic, as a person does. A group still has its killed member for a session. */
async function deleteAtBroker(what: { group: string } | { topic: string }): Promise<void> {
  const admin = new Kafka({ brokers: [fold.job.brokers], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    if ('topic' in what) await admin.deleteTopics({ topics: [what.topic] })
    else {
      const { group } = what
      await until(`${group} is deleted`, () =>
        admin.deleteGroups([group]).then(
          () => true,
          () => false,
        ),
      )
    }
  } finally {
    await admin.disconnect()
  }
}

/** Newest manifest of a job partition. */
function newestManifest(partition: number): string {
  const { folder, applicationId } = fold.job
  const place = join(folder, 'checkpoints', partitionJobId(applicationId, partition))
  const numbers = readdirSync(place)
    .flatMap((name) => /^chk-(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
  return join(place, `chk-${Math.max(...numbers)}`, '_metadata')
}

describe('a job in many processes goes on after', () => {
  it('all of them were killed and the group was deleted', async () => {
    await runAndKill()
    await deleteAtBroker({ group: fold.job.applicationId })
    await runAndKill()
    await expectEachOnce(broker, fold.output, fold.load)
  })
})

describe('a job in many processes does not start from nothing when', () => {
  it('the newest checkpoint of a partition is damaged: it says which, and the others run', async () => {
    const manifest = newestManifest(0)
    const whole = readFileSync(manifest)
    writeFileSync(manifest, whole.subarray(0, whole.length >> 1))
    await using member = new JobMember(fold.job)
    await member.process.printed(/partition 0 is given back: [A-Z_]+: /)
    await until('partition 1 runs', () => member.running.includes(1))
    expect(member.printed).toMatch(/partition 0 is given back: CHECKPOINT_[A-Z]+: .*chk-\d+/)
    expect(member.running).not.toContain(0)
    await member.kill()
    writeFileSync(manifest, whole)
  })

  it('its exchange topic was deleted: no partition runs, and each says what is missing', async () => {
    const topic = `${fold.job.applicationId}-fold-repartition`
    await deleteAtBroker({ topic })
    await using member = new JobMember(fold.job)
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await member.process.printed(new RegExp(`partition ${partition} is given back: [A-Z_]+: `))
    }
    expect(member.printed).toContain(topic)
  })
})
