import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { raceObservations } from '../../inference/cache/observation-race.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()

it(`an observation never leaves a stale answer: 10^6 interleavings, seed ${seed}`, async () => {
  const { stale, answers, ways } = await raceObservations(seededRandom(seed), 1_000_000)
  expect({ stale, ways }).toEqual({ stale: 0, ways: ['hit', 'joined', 'run'] })
  expect(answers).toBeGreaterThan(200_000)
})
