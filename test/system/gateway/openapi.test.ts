import { describe, expect, it } from 'vitest'
import { pythonWithSchemathesis, runOpenApi } from '../../../verify/openapi/campaign.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { needs } from '../../run/needs.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const python = await pythonWithSchemathesis()

/** The short part compares a tenth of the paths. */
const PARTS = campaignSize(10, 1)

describe('schemathesis from PyPI', needs(python, 'schemathesis cannot be installed here'), () => {
  it('finds no answer of the gateway that its OpenAPI document does not have', async () => {
    const seed = commitSeed()
    const { violations, summary } = await runOpenApi(python!, {
      seed,
      cases: 3,
      parts: PARTS,
      say: () => {},
    })
    process.stdout.write(`${summary}\n`)
    expect(violations, `WEIR_SEED=${seed}`).toEqual([])
  })
})
