import { describe, expect, it } from 'vitest'
import { pythonWithSchemathesis, runOpenApi } from '../../../verify/openapi/campaign.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { needs } from '../../run/needs.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const python = await pythonWithSchemathesis()

/** The short part compares a fifth of the paths. */
const PARTS = campaignSize(5, 1)

describe('schemathesis from PyPI', needs(python, 'schemathesis cannot be installed here'), () => {
  it('finds no answer of a JobManager that its OpenAPI document does not have', async () => {
    const seed = commitSeed()
    const options = { seed, cases: 2, parts: PARTS, say: () => {}, port: 'jobmanager' } as const
    const { violations, summary } = await runOpenApi(python!, options)
    process.stdout.write(`${summary}\n`)
    expect(violations, `WEIR_SEED=${seed}`).toEqual([])
  })
})
