import { expect, it } from 'vitest'
import { DEFAULT_SETTINGS } from '../../../src/inference/repository/settings.ts'
import { withSamples } from '../../../src/jobs/models/warm-samples.ts'

const golden = [{ inputs: [], outputs: [], tolerance: 0 }]
const warmed = { ...DEFAULT_SETTINGS, deployment: { sloMs: 5, warmUp: { runs: 2 } } }

it('a warm-up runs the golden inputs where there are some', () => {
  expect(withSamples(warmed, golden).deployment).toEqual({
    sloMs: 5,
    warmUp: { runs: 2, samples: [[]] },
  })
  expect(withSamples(warmed, [])).toBe(warmed)
})

it('golden inputs alone are no warm-up', () => {
  expect(withSamples(DEFAULT_SETTINGS, golden)).toBe(DEFAULT_SETTINGS)
})
