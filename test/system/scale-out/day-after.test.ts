import { Kafka, logLevel } from 'kafkajs'
import { afterAll, beforeAll, describe, it } from 'vitest'
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

/** Deletes the group of the job, as a person does. It still has its killed member for a session. */
async function deleteGroup(): Promise<void> {
  const admin = new Kafka({ brokers: [fold.job.brokers], logLevel: logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    await until('the group is deleted', () =>
      admin.deleteGroups([fold.job.applicationId]).then(
        () => true,
        () => false,
      ),
    )
  } finally {
    await admin.disconnect()
  }
}

describe('a job in many processes goes on after', () => {
  it('all of them were killed and the group was deleted', async () => {
    await runAndKill()
    await deleteGroup()
    await runAndKill()
    await expectEachOnce(broker, fold.output, fold.load)
  })
})
