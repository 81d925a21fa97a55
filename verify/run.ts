import { freePorts } from '../test/services/free-port.ts'
import { judge } from './judge.ts'
import type { VerifyReport } from './report.ts'
import { Verification, type VerifyOptions } from './verification.ts'
import type { World } from './world/world.ts'

/** Runs loads, faults and queries against the world, and judges the result. Stops all that it started. */
export async function runVerification(world: World, options: VerifyOptions): Promise<VerifyReport> {
  const verification = new Verification(world, options, await freePorts(2))
  try {
    await verification.begin()
    await verification.injectFaults()
    return await judge(verification)
  } finally {
    await verification.close()
  }
}
