import { isWeirError, messageOf } from '../../src/core/errors.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { CrashingProcess } from './crashing-process.ts'
import type { Schedule, ScheduleReport } from './schedule.ts'
import { SimulatedDisk } from './simulated-disk.ts'

/** How much each life of a schedule does, in steps of the part that is simulated. */
export interface Lives {
  readonly first: number
  readonly later: number
  /** The last life has no crash and no faults. */
  readonly last: number
  /** A later process dies within so many file operations. */
  readonly crashWithin: number
}

/** A part of Weir on a simulated disk, which lives through the crashes and restarts of a schedule. */
export abstract class CrashingWorld {
  protected readonly schedule: Schedule
  protected readonly disk: SimulatedDisk
  /** Decides what the processes do. */
  protected readonly work: Random
  /** Decides when they die. */
  protected readonly chaos: Random
  protected readonly clock = new ManualClock(1_000_000)
  protected readonly violations: string[]
  protected process: CrashingProcess

  constructor(schedule: Schedule, violations: string[] = []) {
    this.schedule = schedule
    this.violations = violations
    this.disk = new SimulatedDisk(schedule.chaosSeed)
    this.work = seededRandom(schedule.seed)
    this.chaos = seededRandom(schedule.chaosSeed + 1)
    this.process = this.newProcess(schedule.crashAt, schedule.faultRate)
  }

  /** What one process does; the promise may stay open when the process dies. */
  protected abstract act(process: CrashingProcess, steps: number): Promise<void>

  protected async runLives({ first, later, last, crashWithin }: Lives): Promise<ScheduleReport> {
    await this.live(first)
    const { operations } = this.process
    for (let life = 0; life < this.schedule.laterCrashes; life++) {
      this.end()
      this.process = this.newProcess(this.chaos.below(crashWithin), this.schedule.faultRate)
      await this.live(later)
    }
    this.end()
    this.process = this.newProcess(undefined, 0)
    this.beforeLastLife()
    await this.live(last)
    return { violations: this.violations, operations }
  }

  protected beforeLastLife(): void {}

  protected newProcess(crashAt: number | undefined, faultRate: number): CrashingProcess {
    return new CrashingProcess(this.disk, this.chaos, { crashAt, faultRate })
  }

  /** Ends the process: by a power cut, or alone, so that the system keeps what it wrote. */
  protected end(): void {
    this.process.kill()
    if (this.chaos.below(4) > 0 || this.diesWithMachine()) this.disk.powerCut()
    else this.disk.full = false
  }

  /** Whether the machine dies with the process that has just ended. */
  protected diesWithMachine(): boolean {
    return false
  }

  /** Whether a disk that fails explains the error. */
  protected isExpected(error: unknown): boolean {
    return this.schedule.faultRate > 0 && isWeirError(error) && /EIO|ENOSPC/.test(error.message)
  }

  private async live(steps: number): Promise<void> {
    const { process } = this
    const living = this.act(process, steps).catch((error: unknown) => {
      // A disk that fails may end the process; a disk without faults must not.
      if (!process.alive || this.isExpected(error)) return
      const stack = error instanceof Error ? error.stack : undefined
      this.violations.push(`unexpected: ${stack ?? messageOf(error)}`)
    })
    await Promise.race([living, process.died])
  }
}
