import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { FAULTS } from '../../../verify/faults.ts'
import { isFound, verifyMutant } from '../../../verify/mutant-campaign.ts'
import { MUTANTS } from '../../../verify/mutants/seeded.ts'
import { TESTED_MUTANTS } from '../../../verify/mutants/tested.ts'
import type { VerifyReport } from '../../../verify/report.ts'
import { runVerification } from '../../../verify/run.ts'
import { missedMutants } from '../../../verify/tested-mutants.ts'
import type { VerifyOptions } from '../../../verify/verification.ts'
import { World } from '../../../verify/world/world.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()
const random = seededRandom(seed)

/** One of the values, as the seed says. */
const oneOf = <T>(values: readonly T[]): T => values[random.below(values.length)]!

/** `npm run verify -- --minutes 1` has the long ones, too. */
const SHORT = FAULTS.filter(({ isLong }) => isLong !== true)
/** The groups of the run that must pass. The short part has every second one, by the seed, and in every second commit. */
const GROUPS = [...new Set(SHORT.map(({ group }) => group))].filter((_, n) =>
  campaignSize(seed % 2 === 0 && n % 2 === (seed >> 1) % 2, true),
)
/** A fault of each of these groups. */
const ONE_OF_EACH = GROUPS.map(
  (group) => oneOf(SHORT.filter((fault) => fault.group === group)).name,
)
/**
 * Faults of the run that must pass, in the order in which they come. The whole has every second one, by the seed: each
 * takes ten to twenty seconds. `npm run verify -- --minutes 1` has all of them.
 */
const NAMES = SHORT.map(({ name }) => name).filter((name, n) =>
  campaignSize(ONE_OF_EACH.includes(name), n % 2 === seed % 2, ONE_OF_EACH.includes(name)),
)

/** An error in a job or in Weir, which must be found. */
const TRIED = oneOf([
  ...['at-least-once', 'repeated-deltas'],
  ...['forget-prepared-transactions', 'apply-out-of-order'],
])

/** Errors that only a long fault shows; `npm run verify` tries one of them. */
const LONG_TRIED = oneOf([
  'ignores-a-truncation',
  'completes-over-an-aborted-transaction',
  'counts-a-checkpoint-stored-too-late',
])
/** The short part tries none: whether the verifier finds errors changes less often than what it verifies. */
const ALL_TRIED = campaignSize<readonly string[]>([], [TRIED, LONG_TRIED], [TRIED])

/** `npm run verify -- --campaign mutants` has all of them: they take ten minutes. */
const ONCE_HAD = Array.from(
  { length: campaignSize(1, 6, 2) },
  (_, n) => TESTED_MUTANTS[(seed + n) % TESTED_MUTANTS.length]!,
)

it('a test fails on a Weir with an error that it once had', async () => {
  const said: string[] = []
  const missed = await missedMutants(ONCE_HAD, (line) => said.push(line))
  process.stdout.write(`${said.join('\n')}\n`)
  expect(missed, `WEIR_SEED=${seed}`).toEqual([])
}, 900_000)

let world: World

/** Runs a verification; the folder with the logs is kept when the verdict is not the expected one. */
async function verify(
  verdict: VerifyReport['verdict'],
  options: Partial<VerifyOptions>,
): Promise<VerifyReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-verify-'))
  const said: string[] = [`WEIR_SEED=${seed}, logs in ${folder}`]
  const say = (line: string): void => void said.push(line)
  const report = await runVerification(world, { seed, minutes: 0, folder, say, ...options })
  if (report.verdict === verdict) rmSync(folder, { recursive: true, force: true })
  else console.log([...said, JSON.stringify(report, undefined, 1)].join('\n'))
  return report
}

const verifier = (): void => {
  beforeAll(async () => {
    world = await World.start()
  })

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
  })

  it(
    `finds no lost, duplicate or wrong result after faults: ${NAMES.join(', ')}`,
    async () => {
      const report = await verify('passed', { faults: NAMES })
      const found = `WEIR_SEED=${report.seed}: ${report.details.join('; ')}`
      expect(report, found).toMatchObject({
        verdict: 'passed',
        lost: 0,
        duplicated: 0,
        violations: 0,
      })
      expect(Object.keys(report.faults)).toEqual(NAMES)
      // How many a machine answers meanwhile says nothing.
      expect(report.queriesChecked).toBeGreaterThan(0)
    },
    campaignSize(900_000, 1_800_000, 900_000),
  )

  if (ALL_TRIED.includes('at-least-once')) {
    it('fails a sink that writes twice', async () => {
      const faults = ['process-killed']
      const report = await verify('failed', { mutation: 'at-least-once', faults, rounds: 2 })
      expect(report.verdict).toBe('failed')
      expect(report.duplicated).toBeGreaterThan(0)
      expect(report.lost).toBe(0)
    })
  }

  if (ALL_TRIED.includes('repeated-deltas')) {
    it('fails a fold of deltas that does not drop duplicates', async () => {
      const faults = ['slot-killed']
      const report = await verify('failed', { mutation: 'repeated-deltas', faults })
      expect(report.verdict).toBe('failed')
      expect(report.duplicated).toBeGreaterThan(0)
    })
  }

  it.each(MUTANTS.filter(({ name }) => ALL_TRIED.includes(name)))(
    'fails the mutant $name',
    async (mutant) => {
      const { faults } = mutant
      const report = await verifyMutant(world, mutant, { seed, faults, say: () => undefined })
      expect(isFound(report), `WEIR_SEED=${seed}`).toBe(true)
    },
    1_800_000,
  )
}

if (NAMES.length > 0) describe('the fault verifier', verifier)
