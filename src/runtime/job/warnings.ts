import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { MetricGroup } from '../../core/metrics.ts'
import { aFunction } from '../../core/options/kinds.ts'
import { checkArgument } from '../../core/options/shape.ts'
import { JobWaits } from '../protocol/waits.ts'

/** A problem that does not stop the job, but that its operator must see. */
export interface JobWarning {
  /**
   * A checkpoint failed; files of checkpoints are damaged or cannot be deleted; or a slot runs otherwise
   * than configured, or has accepted a loss.
   */
  readonly kind: 'checkpoint-failed' | 'checkpoint-files' | 'slot'
  readonly atMs: number
  readonly error: WeirError
}

/** Warnings that are kept for listeners that come later. */
const KEPT = 100

/** The warnings of a job; a listener also gets those from before it was added. */
export class JobWarnings {
  /** What the job waits for, as its warnings say. */
  readonly waits = new JobWaits()
  private readonly clock: Clock
  private readonly kept: JobWarning[] = []
  private readonly listeners: ((warning: JobWarning) => void)[] = []

  constructor(clock: Clock, metrics: MetricGroup) {
    this.clock = clock
    const files = metrics.counter('numberOfCheckpointFileWarnings')
    this.listeners.push(({ kind }) => {
      if (kind === 'checkpoint-files') files.increment()
    })
  }

  /** Calls `listener` for every warning so far and from now on. */
  onWarning(listener: (warning: JobWarning) => void): void {
    checkArgument('job.onWarning', 'listener', aFunction(), listener)
    for (const warning of this.kept) listener(warning)
    this.listeners.push(listener)
  }

  /** Reports a warning; slots report the same one only once. */
  report(kind: JobWarning['kind'], error: WeirError): void {
    this.waits.observe(error)
    if (kind === 'slot' && this.kept.some((known) => known.error.message === error.message)) return
    const warning = { kind, atMs: this.clock.nowMs(), error }
    this.kept.push(warning)
    if (this.kept.length > KEPT) this.kept.shift()
    for (const listener of this.listeners) listener(warning)
  }
}
