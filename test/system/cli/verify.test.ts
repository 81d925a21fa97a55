import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FAULTS } from '../../../verify/faults.ts'
import { isFound, verifyMutant } from '../../../verify/mutant-campaign.ts'
import { MUTANTS } from '../../../verify/mutants/seeded.ts'
import type { VerifyReport } from '../../../verify/report.ts'
import { runVerification } from '../../../verify/run.ts'
import type { VerifyOptions } from '../../../verify/verification.ts'
import { World } from '../../../verify/world/world.ts'
import { commitSeed } from '../../services/commit-seed.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
})

afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

/** Runs a verification; the folder with the logs is kept when the verdict is not the expected one. */
async function verify(
  verdict: VerifyReport['verdict'],
  options: Partial<VerifyOptions>,
): Promise<VerifyReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-verify-'))
  const seed = commitSeed()
  const said: string[] = [`WEIR_SEED=${seed}, logs in ${folder}`]
  const say = (line: string): void => void said.push(line)
  const report = await runVerification(world, { seed, minutes: 0, folder, say, ...options })
  if (report.verdict === verdict) rmSync(folder, { recursive: true, force: true })
  else console.log([...said, JSON.stringify(report, undefined, 1)].join('\n'))
  return report
}

describe('the fault verifier', () => {
  it('finds no lost, duplicate or wrong result after every kind of fault', async () => {
    const report = await verify('passed', {})
    const found = `seed ${report.seed}: ${report.details.join('; ')}`
    expect(report, found).toMatchObject({
      verdict: 'passed',
      lost: 0,
      duplicated: 0,
      violations: 0,
    })
    expect(Object.keys(report.faults)).toEqual(FAULTS.map(({ name }) => name))
    expect(report.queriesChecked).toBeGreaterThan(500)
  }, 600_000)

  it('fails a sink that writes twice', async () => {
    const faults = ['process-killed']
    const report = await verify('failed', { mutation: 'at-least-once', faults, rounds: 2 })
    expect(report.verdict).toBe('failed')
    expect(report.duplicated).toBeGreaterThan(0)
    expect(report.lost).toBe(0)
  }, 200_000)

  it('fails a fold of deltas that does not drop duplicates', async () => {
    const faults = ['slot-killed']
    const report = await verify('failed', { mutation: 'repeated-deltas', faults })
    expect(report.verdict).toBe('failed')
    expect(report.duplicated).toBeGreaterThan(0)
  }, 200_000)

  it.each(['forget-prepared-transactions', 'apply-out-of-order'])(
    'fails the mutant %s',
    async (name) => {
      const mutant = MUTANTS.find((one) => one.name === name)!
      const { faults } = mutant
      const seed = commitSeed()
      const report = await verifyMutant(world, mutant, { seed, faults, say: () => undefined })
      expect(isFound(report)).toBe(true)
    },
    200_000,
  )
})
