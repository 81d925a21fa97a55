import { expect, it } from 'vitest'
import { TESTED_MUTANTS } from '../../../verify/mutants/tested.ts'
import { missedMutants } from '../../../verify/tested-mutants.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()
/** `npm run verify -- --campaign mutants` has all of them: they take ten minutes. */
const MUTANTS = Array.from(
  { length: campaignSize(1, 6) },
  (_, n) => TESTED_MUTANTS[(seed + n) % TESTED_MUTANTS.length]!,
)

it('a test fails on a Weir with an error that it once had', async () => {
  const said: string[] = []
  const missed = await missedMutants(MUTANTS, (line) => said.push(line))
  process.stdout.write(`${said.join('\n')}\n`)
  expect(missed, `WEIR_SEED=${seed}`).toEqual([])
}, 600_000)
