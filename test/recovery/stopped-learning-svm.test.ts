import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { WeirClient } from '../../src/client/weir-client.ts'
import { seededRandom } from '../../src/core/random.ts'
import { until } from '../run/until.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { SvmLearningFixture } from './online-svm-fixture.ts'

const SLOTS = 2

it('what a linear model has learned before a stop is forgotten, and what it learns after it counts once, under kills', async () => {
  const seed = commitSeed()
  console.log(`WEIR_SEED=${seed}`)
  const random = seededRandom(seed)
  const root = mkdtempSync(join(tmpdir(), 'weir-stopped-svm-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  await using fixture = await SvmLearningFixture.start({
    root,
    place: { logDirectory: join(root, 'log') },
    random,
    checkpointInterval: '100 ms',
  })
  await using client = await WeirClient.connect({ port: fixture.job.port, deadlineMs: 60_000 })
  const kill = async (): Promise<void> => fixture.killSlot(random.below(SLOTS))
  await fixture.observe(1500)
  // The stop comes while examples and deltas are on their way.
  const some = 300 + random.below(900)
  await until(`${some} deltas`, async () => (await fixture.allDeltas()).length > some)
  // What was learned is in the checkpoint that the kill goes back to.
  await fixture.job.execution.triggerCheckpoint()
  fixture.learning.setPhase(1, 1)
  await kill()
  await fixture.observe(500)
  await fixture.untilStopped(SLOTS)
  await fixture.untilRead()
  await fixture.untilServed(client, [])
  await kill()
  await fixture.untilStopped(SLOTS)
  await fixture.untilServed(client, [])

  // The other phase is in a checkpoint before the next kill: what came while learning was stopped is left out.
  await fixture.untilRead()
  fixture.learning.setPhase(1, 2)
  await fixture.untilStopped(0)
  await fixture.job.execution.triggerCheckpoint()
  for (let batch = 0; batch < 3; batch++) {
    await fixture.observe(300)
    await kill()
  }
  const ofPhase = async () => {
    const all = await fixture.distinctDeltas()
    return all.filter(({ phase }) => phase === 2)
  }
  let learned = await ofPhase()
  await until(
    () => `deltas of 900 observations, there are ${learned.length}`,
    async () => {
      learned = await ofPhase()
      return learned.length >= 900
    },
  )
  expect(learned).toHaveLength(900)
  await fixture.untilServed(client, learned)
})
