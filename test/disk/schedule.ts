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

/** How much of a seed runs. */
export interface SeedPart {
  /** Most schedules. */
  readonly limit: number
  /** A crash at every file operation (1), every second one (2) and so on, from one that the seed says. */
  readonly stride: number
}

/** The schedules of one seed: without a crash, and with crashes at file operations; returns their number. */
export async function runSeed(
  run: (schedule: Schedule) => Promise<ScheduleReport>,
  seed: number,
  { limit, stride }: SeedPart,
  onViolation: (schedule: Schedule, violations: readonly string[]) => void,
): Promise<number> {
  const faultRate = seed % 3 === 0 ? 0.02 : 0
  const laterCrashes = seed % 4
  let operations = Number.POSITIVE_INFINITY
  let count = 0
  for (let crashAt = -1; crashAt < operations && count < limit; ) {
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
    crashAt = crashAt < 0 ? seed % stride : crashAt + stride
  }
  return count
}
