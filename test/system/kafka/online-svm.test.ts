import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WeirClient } from '../../../src/client/weir-client.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { SvmLearningFixture } from '../../recovery/online-svm-fixture.ts'
import { type SharedKafka, sharedKafka } from '../../services/lending/kafka.ts'

let broker: SharedKafka
let root: string

beforeAll(async () => {
  broker = await sharedKafka()
  root = mkdtempSync(join(tmpdir(), 'weir-online-svm-kafka-'))
})

afterAll(async () => {
  await broker?.[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true })
})

describe('online learning of a linear model on Kafka', () => {
  it('keeps every block at its base plus the distinct deltas, under a kill and a restart', async () => {
    await using fixture = await SvmLearningFixture.start({
      root,
      place: { kafka: { brokers: broker.bootstrap } },
      random: seededRandom(7),
      // Only those that the test asks for: what came after one is certainly learned again.
      checkpointInterval: '1 h',
    })
    await fixture.observe(500)
    await fixture.untilLearned(200)
    await fixture.job.execution.triggerCheckpoint()
    await fixture.observe(500)
    await fixture.untilLearned(800)
    await fixture.killSlot(1)
    await fixture.observe(500)
    await fixture.untilLearned(1300)
    const total = (await fixture.allDeltas()).length
    expect(total).toBeGreaterThan((await fixture.distinctDeltas()).length)
    await fixture.restart()
    await fixture.observe(500)
    await fixture.untilLearned(2000)
    const deltas = await fixture.distinctDeltas()
    expect(deltas.length).toBe(2000)
    const client = await WeirClient.connect({ port: fixture.job.port, deadlineMs: 60_000 })
    await fixture.untilServed(client, deltas)
    await client.close()
  })
})
