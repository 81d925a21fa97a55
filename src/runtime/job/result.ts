import { WeirError } from '../../core/errors.ts'
import type { JobResult } from '../../dataflow/stream-graph.ts'
import { type MergedAccumulator, mergeAccumulators } from '../../operators/accumulators/merge.ts'
import type { AccumulatorPart } from '../../operators/port/accumulator.ts'
import { codeOfFailure } from '../protocol/slot-host.ts'

/** What a finished job gives: its duration and its accumulators. */
export class FinishedJob implements JobResult {
  readonly jobName: string
  readonly runtimeMs: number
  private readonly accumulators: ReadonlyMap<string, MergedAccumulator>

  /** `parts`: the accumulators of all subtasks of the last attempt. */
  constructor(jobName: string, runtimeMs: number, parts: readonly AccumulatorPart[]) {
    this.jobName = jobName
    this.runtimeMs = runtimeMs
    this.accumulators = new Map(mergeAccumulators(parts).map((each) => [each.name, each]))
  }

  getAccumulatorResult<R>(name: string): R | undefined {
    const found = this.accumulators.get(name)
    return found === undefined ? undefined : (resultOf(found) as R)
  }

  getAllAccumulatorResults(): Record<string, unknown> {
    return accumulatorResults([...this.accumulators.values()])
  }
}

/** Results by name. Throws the failure of an accumulator that has no result. */
export function accumulatorResults(
  accumulators: readonly MergedAccumulator[],
): Record<string, unknown> {
  return Object.fromEntries(accumulators.map((each) => [each.name, resultOf(each)]))
}

function resultOf({ value, failure }: MergedAccumulator): unknown {
  if (failure !== undefined) throw failure
  return value
}

/** The error of a job that ended with a failure, and that does not restart for that reason. */
export function jobFailed(error: WeirError, reason: string): WeirError {
  const code = codeOfFailure(error)
  const message = `the job ended with ${code}: ${error.message} (no restart: ${reason})`
  return new WeirError('JOB_FAILED', message, { cause: error, details: { code } })
}

/** The error of a job that a caller has ended. */
export function jobEnded(jobName: string, ending: string): WeirError {
  return new WeirError('JOB_CANCELED', `the job ${jobName} was ${ending}`)
}
