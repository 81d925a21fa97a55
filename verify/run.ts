import { join } from 'node:path'
import { freePorts } from '../test/services/free-port.ts'
import { BuiltJobs } from './jobs/built-jobs.ts'
import { judge } from './judge.ts'
import type { VerifyReport } from './report.ts'
import { Verification, type VerifyOptions } from './verification.ts'
import type { World } from './world/world.ts'

const SOURCE = join(import.meta.dirname, '..')

/** Runs loads, faults and queries against the world, and judges the result. Stops all that it started. */
export async function runVerification(world: World, options: VerifyOptions): Promise<VerifyReport> {
  using built = await BuiltJobs.of(options.sourceFolder ?? SOURCE)
  const { program } = built
  const verification = new Verification(world, options, { program, ports: await freePorts(2) })
  try {
    await verification.begin()
    await verification.injectFaults()
    return await judge(verification)
  } finally {
    await verification.close()
  }
}
