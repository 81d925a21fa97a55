import { ageText } from '../../core/text/age.ts'
import type { ErrorSource, UnreadableRecords } from '../../jobs/retrain/error-watch.ts'
import {
  MIN_ERRORS,
  type RetrainFacts,
  type RetrainPolicy,
} from '../../models/registry/retrain-trigger.ts'
import { errorFlagsOf } from '../flags/retrain-triggers.ts'

/** What the lines of `TriggerSources` name. */
export interface TriggerSourcesOptions {
  readonly policy: RetrainPolicy
  readonly model: string
  /** Address of the job that serves the model, `HOST:PORT`. */
  readonly job: string
  /** Topic of the observations. */
  readonly observations: string
  /** Command of a job that learns the model. */
  readonly learn: string
  readonly report: (line: string) => void
}

/** Says what each trigger of a retraining reads, when that begins or changes, and what is wrong with it, once. */
export class TriggerSources {
  private readonly options: TriggerSourcesOptions
  private hasLooked = false
  private hasLive = true
  private hasLeftOut = false
  private lastFailure = ''

  constructor(options: TriggerSourcesOptions) {
    this.options = options
  }

  /** The triggers were evaluated. */
  looked(facts: RetrainFacts): void {
    const { policy, report } = this.options
    this.lastFailure = ''
    if (!this.hasLooked) for (const line of this.linesOf(facts)) report(line)
    this.hasLooked = true
    const hasLive = facts.liveVersion !== undefined
    const flags = errorFlagsOf(policy)
    if (!hasLive && this.hasLive && flags.length > 0) report(this.noLiveLine(flags))
    this.hasLive = hasLive
  }

  /** The error of the live version comes from here, from now on. */
  errorFrom(source: ErrorSource): void {
    const flags = errorFlagsOf(this.options.policy).join(', ')
    if (flags !== '') this.options.report(`${flags}: ${this.sourceText(source)}`)
  }

  /** New records were left out of the error. */
  leftOut({ count, partition, offset, reason }: UnreadableRecords): void {
    if (this.hasLeftOut) return
    this.hasLeftOut = true
    const { observations, report } = this.options
    report(
      `${count} new records of topic ${observations} are no observations and are left out of the error, as all others like them: partition ${partition}, offset ${offset}: ${reason}`,
    )
  }

  /** An evaluation of the triggers or a training failed. A message that comes again is not repeated. */
  failed(message: string): void {
    if (message === this.lastFailure) return
    this.lastFailure = message
    this.options.report(message)
  }

  private linesOf({ newObservations, msSinceTraining, freshnessMs }: RetrainFacts): string[] {
    const { count, everyMs, freshnessMs: freshness } = this.options.policy
    const records = `records of topic ${this.options.observations} that no training has read`
    return [
      ...(count === undefined ? [] : [`--count: the ${records}; now ${newObservations}`]),
      ...(everyMs === undefined
        ? []
        : [
            `--every: the time since the last training, and the ${records}; ${agoText(msSinceTraining)}`,
          ]),
      ...(freshness === undefined
        ? []
        : [
            `--freshness: the newest observation that the live version was trained on; ${freshnessText(freshnessMs)}`,
          ]),
    ]
  }

  private noLiveLine(flags: readonly string[]): string {
    const { model } = this.options
    return `${flags.join(', ')}: no version of ${model} is live, so there is no error yet; "weir model list" shows the versions, and "weir model promote N --model ${model} --golden FILE" makes one live`
  }

  private sourceText(source: ErrorSource): string {
    const { job, observations, learn } = this.options
    switch (source.kind) {
      case 'reported':
        return `LEARNING_ERROR of the job at ${job}, version ${source.version}, now of ${source.count} predictions (from ${MIN_ERRORS} on)`
      case 'awaited':
        return `LEARNING_ERROR of the job at ${job}, which has learned nothing on version ${source.version} yet; waiting for ${MIN_ERRORS} predictions`
      case 'predicted':
        return `the job at ${job} does not learn, so each record that topic ${observations} gets from now on is predicted with version ${source.version} by query (from ${MIN_ERRORS} on); "${learn}" measures the error as it learns`
    }
  }
}

const SECOND_MS = 1000
/** Half a century: the time since the last training where there was none is that since 1970. */
const NEVER_MS = 50 * 365 * 24 * 3_600_000

function agoText(ms: number): string {
  return ms > NEVER_MS ? 'it was never trained on them' : `now ${Math.round(ms / SECOND_MS)} s`
}

function freshnessText(ms: number): string {
  if (Number.isFinite(ms)) return `now ${ageText(ms)}`
  return 'no version is live, or the live one does not say its time, so this trigger waits for the next version'
}
