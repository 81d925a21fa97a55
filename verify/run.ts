import { join } from 'node:path'
import { freePorts } from '../test/services/free-port.ts'
import { resultOf } from './checks/stage.ts'
import { BuiltJobs } from './jobs/built-jobs.ts'
import { judge, unjudged } from './judge.ts'
import type { VerifyReport } from './report.ts'
import { Verification, type VerifyOptions } from './verification.ts'
import type { World } from './world/world.ts'

const SOURCE = join(import.meta.dirname, '..')

/** Limits of the stages beside the faults, each of which has one of its own: what takes longer hangs. */
const START_LIMIT_MS = 600_000
const VERDICT_LIMIT_MS = 900_000
const END_LIMIT_MS = 120_000

/**
 * Runs loads, faults and queries against the world, and judges the result. Stops all that it started. What fails or
 * hangs is a violation in the report.
 */
export async function runVerification(world: World, options: VerifyOptions): Promise<VerifyReport> {
  using built = await BuiltJobs.of(options.sourceFolder ?? SOURCE)
  const { program } = built
  const verification = new Verification(world, options, { program, ports: await freePorts(2) })
  const { violations } = verification
  const stage = <T>(what: string, limitMs: number, work: () => Promise<T>) =>
    resultOf({ what, limitMs, work }, violations)
  try {
    const began = await stage('start', START_LIMIT_MS, async () => {
      await verification.begin()
      return true
    })
    if (began === true) await verification.injectFaults()
    const judged =
      began === true && (await stage('verdict', VERDICT_LIMIT_MS, () => judge(verification)))
    return judged || unjudged(verification)
  } finally {
    await stage('end', END_LIMIT_MS, () => verification.close())
  }
}
