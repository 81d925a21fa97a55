import { runCheckpointSchedule } from './checkpoint-schedule.ts'
import { runLogSchedule } from './log-schedule.ts'
import { runRegistrySchedule } from './registry-schedule.ts'
import { runSeed, type Schedule, type ScheduleReport } from './schedule.ts'

/** A part of Weir that the campaign crashes. */
export type CrashedPart = 'checkpoints' | 'log' | 'registry'

const PARTS: Readonly<Record<CrashedPart, (schedule: Schedule) => Promise<ScheduleReport>>> = {
  checkpoints: runCheckpointSchedule,
  log: runLogSchedule,
  registry: runRegistrySchedule,
}

/** Options of the campaign. */
export interface CrashCampaignOptions {
  /** The first seed; the following numbers are the next seeds. */
  readonly seed: number
  /** Least number of schedules of each part. */
  readonly schedules: Readonly<Record<CrashedPart, number>>
  /** A crash at every file operation of a seed (1), every second one (2) and so on. @default 1 */
  readonly stride?: number
  /** Called for every broken invariant. */
  readonly onViolation?: (text: string) => void
}

/** Result of the campaign. */
export interface CrashCampaignReport {
  readonly campaign: 'disk'
  readonly seed: number
  /** Seeds used, by part. */
  readonly seeds: Readonly<Record<string, number>>
  /** Schedules run, by part. */
  readonly schedules: Readonly<Record<string, number>>
  readonly violations: readonly string[]
}

/**
 * Crashes checkpoints, log and model registry at file operations of their first process, seed after seed, until
 * enough schedules have run. A violation names what repeats it: part, seed and crash.
 */
export async function runCrashCampaign(
  options: CrashCampaignOptions,
): Promise<CrashCampaignReport> {
  const violations: string[] = []
  const seeds: Record<string, number> = {}
  const schedules: Record<string, number> = {}
  const { stride = 1 } = options
  for (const [part, run] of Object.entries(PARTS)) {
    const wanted = options.schedules[part as CrashedPart]
    let count = 0
    let seed = options.seed
    for (; count < wanted; seed++) {
      count += await runSeed(run, seed, { limit: wanted - count, stride }, (schedule, found) => {
        const text = `${part} ${JSON.stringify(schedule)}: ${found.join('; ')}`
        violations.push(text)
        options.onViolation?.(text)
      })
    }
    seeds[part] = seed - options.seed
    schedules[part] = count
  }
  return { campaign: 'disk', seed: options.seed, seeds, schedules, violations }
}
