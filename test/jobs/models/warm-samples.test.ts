import { expect, it } from 'vitest'
import { DEFAULT_SETTINGS } from '../../../src/inference/repository/settings.ts'
import { withSamples } from '../../../src/jobs/models/warm-samples.ts'

const golden = [{ inputs: [], outputs: [], tolerance: 0 }]
const warmed = { ...DEFAULT_SETTINGS, deployment: { sloMs: 5, warmUp: { runs: 2 } } }

it('a warm-up runs the golden inputs where there are some', () => {
  expect(withSamples(warmed, golden).deployment).toEqual({
    sloMs: 5,
    warmUp: { runs: 2, samples: [[]] },
    probe: { samples: [[]] },
  })
  expect(withSamples(warmed, []).deployment.warmUp).toEqual({ runs: 2 })
})

it('golden inputs alone are no warm-up, and the probe runs them', () => {
  const { deployment } = withSamples(DEFAULT_SETTINGS, golden)
  expect(deployment).toEqual({ ...DEFAULT_SETTINGS.deployment, probe: { samples: [[]] } })
})
