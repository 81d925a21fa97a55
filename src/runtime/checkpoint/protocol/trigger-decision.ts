/** Facts for the trigger decision. Times are milliseconds of the clock. */
export interface TriggerFacts {
  readonly nowMs: number
  /** Whether every task runs and none has been restarted since. */
  readonly running: boolean
  /** Checkpoints that were triggered and are not settled. */
  readonly pending: number
  /** Savepoints that wait to be triggered. */
  readonly queuedSavepoints: number
  /** Checkpoints that a caller requested and that wait to be triggered. */
  readonly queuedRequests: number
  /** When a periodic checkpoint was last triggered, or the attempt started. */
  readonly lastTriggeredAtMs: number
  /** When a checkpoint was last settled; undefined if none was in this attempt. */
  readonly lastSettledAtMs: number | undefined
}

/** Policy of when to trigger. */
export interface TriggerPolicy {
  /** Time between periodic checkpoints; undefined for none. */
  readonly intervalMs: number | undefined
  /** Shortest time from the end of one checkpoint to the start of a periodic one. */
  readonly minPauseMs: number
  readonly maxConcurrent: number
}

/** Decision whether to trigger now, and if not, what to wait for. */
export type TriggerDecision =
  /** Trigger a savepoint: savepoints go first and do not wait for the pause. */
  | { readonly kind: 'savepoint' }
  /** Trigger a checkpoint that a caller requested; it does not wait for the pause either. */
  | { readonly kind: 'requested' }
  /** Trigger a periodic checkpoint. */
  | { readonly kind: 'periodic' }
  /** Decide again at this time. */
  | { readonly kind: 'wait'; readonly untilMs: number }
  /** Decide again when a checkpoint is settled. */
  | { readonly kind: 'wait-for-settled' }
  /** Not all tasks run; decide again when they do. */
  | { readonly kind: 'not-running' }
  /** No periodic checkpoints, and no request. */
  | { readonly kind: 'idle' }

/** Decides whether to trigger a checkpoint now, and which. */
export function decideTrigger(facts: TriggerFacts, policy: TriggerPolicy): TriggerDecision {
  if (!facts.running) return { kind: 'not-running' }
  const asked = facts.queuedSavepoints + facts.queuedRequests > 0
  if (!asked && policy.intervalMs === undefined) return { kind: 'idle' }
  if (facts.pending >= policy.maxConcurrent) return { kind: 'wait-for-settled' }
  if (facts.queuedSavepoints > 0) return { kind: 'savepoint' }
  if (facts.queuedRequests > 0) return { kind: 'requested' }
  const dueAtMs = Math.max(
    facts.lastTriggeredAtMs + policy.intervalMs!,
    (facts.lastSettledAtMs ?? Number.NEGATIVE_INFINITY) + policy.minPauseMs,
  )
  return dueAtMs <= facts.nowMs ? { kind: 'periodic' } : { kind: 'wait', untilMs: dueAtMs }
}
