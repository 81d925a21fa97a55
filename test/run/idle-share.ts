import type { CpuInfo } from 'node:os'

/** The share of the time of all cores between two looks in which they did nothing, from 0 to 1. */
export function idleShare(before: readonly CpuInfo[], after: readonly CpuInfo[]): number {
  const spent = (which: (times: CpuInfo['times']) => number): number =>
    after.reduce((sum, { times }, n) => sum + which(times) - which(before[n]!.times), 0)
  const all = spent(({ user, nice, sys, irq, idle }) => user + nice + sys + irq + idle)
  return spent(({ idle }) => idle) / all
}
