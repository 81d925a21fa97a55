import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/core/random.ts'
import type { ResumeOffset } from '../../src/jobs/learning/resume-offsets.ts'
import { generateRatings } from '../../src/models/ratings/generator.ts'
import type { Rating } from '../../src/models/ratings/rating.ts'
import type { AlsModel } from '../../src/training/als/solver/model.ts'
import { trainAls } from '../../src/training/als/train.ts'
import { ratingsTable } from '../../src/training/data/ratings-table.ts'
import { campaignSize } from '../run/campaign-size.ts'
import { pause } from '../run/pause.ts'
import { until } from '../run/until.ts'
import { commitSeed } from '../services/commit-seed.ts'
import { LearningFixture } from './online-fixture.ts'

const RULE = { rule: 'sgd', learningRate: 0.002, deltas: 'step' } as const

let root: string
let model: AlsModel
let stream: Rating[]

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'weir-switch-'))
  const all = [...generateRatings({ users: 200, items: 80, ratings: 24_000, seed: 7 })]
  model = await trainAls(ratingsTable(all.slice(0, 4000)), {
    factors: 4,
    iterations: 3,
    threads: 0,
  })
  stream = all.slice(4000)
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A steady load of some thousand ratings a second. */
class SteadyLoad {
  sent = 0
  private readonly fixture: LearningFixture
  private isStopped = false
  private readonly running: Promise<void>

  constructor(fixture: LearningFixture) {
    this.fixture = fixture
    this.running = this.run()
  }

  private async run(): Promise<void> {
    while (!this.isStopped && this.sent < stream.length) {
      await this.fixture.rate(stream.slice(this.sent, this.sent + 25))
      this.sent += 25
      await pause(10, 'load comes over time')
    }
  }

  async until(sent: number): Promise<void> {
    await until(`${sent} ratings are sent`, () => this.sent >= sent)
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await this.running
  }
}

/** Checks that each user row of a version was written once for each observation from the offsets on. */
async function expectLearned(
  fixture: LearningFixture,
  version: number,
  resumeOffsets: readonly ResumeOffset[],
): Promise<void> {
  const observed = await fixture.observed(resumeOffsets)
  const total = [...observed.values()].reduce((sum, count) => sum + count, 0)
  await fixture.untilWritten('user-rows', model.users.length + total, version)
  await fixture.untilWritten('item-rows', model.items.length + total, version)
  const rows = fixture.rows('user-rows', version)
  const items = [...fixture.rows('item-rows', version).values()]
  const folds = items.reduce((sum, { updateCount }) => sum + updateCount, 0)
  expect(folds).toBe(model.items.length + total)
  for (const [user, count] of observed) {
    const published = model.rowOf('U', user) === undefined ? 0 : 1
    const { updateCount } = rows.get(`${user}-U`)!
    expect(updateCount, `version ${version}, user ${user}`).toBe(published + count)
  }
  console.info(`version ${version} has learned ${total} observations, each once`)
}

describe('a switch of versions under a steady load', () => {
  it('learns each observation exactly once, on every version, under kills', async () => {
    const seed = commitSeed()
    console.log(`WEIR_SEED=${seed}`)
    const random = seededRandom(seed)
    await using fixture = await LearningFixture.start({
      root,
      model,
      rule: RULE,
      parallelism: 2,
      checkpointInterval: '100 ms',
    })
    fixture.versions.setDesired({ live: 1, rollback: 0 })
    const load = new SteadyLoad(fixture)
    await load.until(500)
    // The candidate has learned up to here. It gets later observations only when it is live.
    const learned = await fixture.ends()
    fixture.resumeOffsets.set(2, learned)
    await load.until(1000)
    await fixture.publish(model, 2)
    const kill = async (): Promise<void> => {
      await pause(random.below(100), 'a random moment of a kill')
      const failures = fixture.job.failures.length
      fixture.job.killSlot(random.below(2))
      await until('the slot is lost', () => fixture.job.failures.length > failures)
      await fixture.job.waitFor('RUNNING')
    }
    for (let n = 0; n < campaignSize(2, 4); n++) {
      fixture.versions.setDesired(n % 2 === 0 ? { live: 2, rollback: 1 } : { live: 1, rollback: 2 })
      await kill()
      await load.until(load.sent + 500)
    }
    await load.stop()
    await expectLearned(fixture, 1, [])
    fixture.versions.setDesired({ live: 2, rollback: 1 })
    // Without new ratings, the switch still replays the observations that the version lacks.
    await expectLearned(fixture, 2, learned)
  })
})
