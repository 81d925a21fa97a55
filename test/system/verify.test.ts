import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Verification, type VerifyOptions } from '../../verify/verification.ts'
import type { VerifyReport } from '../../verify/verify-report.ts'
import { World } from '../../verify/world.ts'

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
  const seed = Number(process.env['WEIR_SEED'] ?? Date.now() % 1_000_000)
  const said: string[] = [`WEIR_SEED=${seed}, logs in ${folder}`]
  const say = (line: string): void => void said.push(line)
  const report = await Verification.run(world, { seed, minutes: 0, folder, say, ...options })
  if (report.verdict === verdict) rmSync(folder, { recursive: true, force: true })
  else console.log([...said, JSON.stringify(report, undefined, 1)].join('\n'))
  return report
}

describe('the fault verifier', () => {
  it('finds nothing lost, doubled or forbidden when every kind of fault comes once', async () => {
    const report = await verify('passed', {})
    expect(report).toMatchObject({ verdict: 'passed', lost: 0, duplicated: 0, violations: 0 })
    expect(Object.keys(report.faults)).toHaveLength(16)
    expect(report.queriesChecked).toBeGreaterThan(500)
  }, 420_000)

  it('fails a sink that repeats', async () => {
    const faults = ['process-killed']
    const report = await verify('failed', { mutation: 'at-least-once', faults, rounds: 2 })
    expect(report.verdict).toBe('failed')
    expect(report.duplicated).toBeGreaterThan(0)
    expect(report.lost).toBe(0)
  }, 200_000)

  it('fails a fold of deltas that does not drop what came before', async () => {
    const faults = ['slot-killed']
    const report = await verify('failed', { mutation: 'repeated-deltas', faults })
    expect(report.verdict).toBe('failed')
    expect(report.duplicated).toBeGreaterThan(0)
  }, 200_000)
})
