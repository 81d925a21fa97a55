import { type ErrorCode, mayPassAfterRestart } from '../../../core/errors.ts'
import type { Random } from '../../../core/random.ts'
import {
  decideRestart,
  type RestartHistory,
  type RestartStrategyOptions,
} from '../../../runtime/configuration/restart-strategy.ts'
import { isTerminal, type JobStatus } from '../../../runtime/job/status.ts'

/** Facts about a process of a job that has ended. */
export interface ProcessExit {
  /** Last state that the process reported; undefined if it reported none. */
  readonly lastStatus: JobStatus | undefined
  /** Whether the JobManager asked the process to end. */
  readonly isRequested: boolean
  /** Why the process could not start the job; undefined if it did, or did not say. */
  readonly startError: ErrorCode | undefined
  readonly code: number | null
  readonly signal: string | null
}

/** Decision about a job whose process has ended. */
export type ExitDecision =
  /** The job is over; it is not started again. */
  | { readonly kind: 'ended' }
  /** The JobManager stops; the next one continues the job. */
  | { readonly kind: 'suspended' }
  /** The process was lost: start another one after `delayMs`. */
  | { readonly kind: 'restart'; readonly delayMs: number }
  /** The process was lost, and the restart strategy allows no other one. */
  | { readonly kind: 'failed'; readonly reason: string }

/** Facts for the decision about a process that was lost. */
export interface RestartFacts {
  readonly strategy: RestartStrategyOptions
  readonly history: RestartHistory
  readonly nowMs: number
  /** Draws the jitter of the delay. */
  readonly random: Random
}

/** Decides what follows the end of a job's process, and returns the history for the next decision. */
export function decideAfterExit(
  exit: ProcessExit,
  { strategy, history, nowMs, random }: RestartFacts,
): { readonly decision: ExitDecision; readonly history: RestartHistory } {
  const { lastStatus, isRequested, startError } = exit
  if (lastStatus !== undefined && lastStatus !== 'SUSPENDED' && isTerminal(lastStatus)) {
    return { decision: { kind: 'ended' }, history }
  }
  if (isRequested) return { decision: { kind: 'suspended' }, history }
  if (startError !== undefined && !mayPassAfterRestart(startError)) {
    return {
      decision: { kind: 'failed', reason: `${startError} does not pass without a change` },
      history,
    }
  }
  const decided = decideRestart(strategy, { history, nowMs, random })
  if (decided.decision.kind === 'restart') {
    return { decision: decided.decision, history: decided.history }
  }
  return {
    decision: { kind: 'failed', reason: decided.decision.reason },
    history: decided.history,
  }
}

/** How a process ended, in words. */
export function exitText({ code, signal }: Pick<ProcessExit, 'code' | 'signal'>): string {
  return signal === null ? `it exited with status ${code}` : `signal ${signal} ended it`
}
