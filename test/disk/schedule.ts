/** A run of a part of Weir on a simulated disk, decided by its seeds. */
export interface Schedule {
  /** Seed of what the processes do. */
  readonly seed: number
  /** Seed of the disk and of later crashes. */
  readonly chaosSeed: number
  /** Number of the first process's file operation at which it dies; undefined for never. */
  readonly crashAt: number | undefined
  /** Processes after the first one that die, too. */
  readonly laterCrashes: number
  /** Chance of a fault per file operation: a failed sync, a full disk. */
  readonly faultRate: number
}

/** Result of a schedule. */
export interface ScheduleReport {
  /** Broken invariants, as sentences. */
  readonly violations: readonly string[]
  /** File operations of the first process. */
  readonly operations: number
}

/** Resolves when everything that can go on without another event has. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** The schedules of one seed: without a crash, and with a crash at every file operation. */
export async function runSeed(
  run: (schedule: Schedule) => Promise<ScheduleReport>,
  seed: number,
  limit: number,
  onViolation: (schedule: Schedule, violations: readonly string[]) => void,
): Promise<number> {
  const faultRate = seed % 3 === 0 ? 0.02 : 0
  const laterCrashes = seed % 4
  let operations = Number.POSITIVE_INFINITY
  let count = 0
  for (let crashAt = -1; crashAt < operations && count < limit; crashAt++) {
    const schedule: Schedule = {
      seed,
      chaosSeed: seed * 100_003 + crashAt,
      crashAt: crashAt < 0 ? undefined : crashAt,
      laterCrashes,
      faultRate,
    }
    const report = await run(schedule)
    if (crashAt < 0) operations = report.operations
    if (report.violations.length > 0) onViolation(schedule, report.violations)
    count += 1
  }
  return count
}
