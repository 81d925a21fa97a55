/** What is known when the coordinator asks whether to trigger. Times are the clock's milliseconds. */
export interface TriggerFacts {
  readonly nowMs: number
  /** Whether every task runs and none has been restarted since. */
  readonly running: boolean
  /** Checkpoints triggered and not yet settled. */
  readonly pending: number
  /** Savepoints that wait to be triggered. */
  readonly queuedSavepoints: number
  /** Checkpoints that someone asked for and that wait to be triggered. */
  readonly queuedRequests: number
  /** When a periodic checkpoint was last triggered, or the attempt started. */
  readonly lastTriggeredAtMs: number
  /** When a checkpoint was last settled; undefined when none was in this attempt. */
  readonly lastSettledAtMs: number | undefined
}

/** When to trigger. */
export interface TriggerPolicy {
  /** Time between periodic checkpoints; undefined for none. */
  readonly intervalMs: number | undefined
  /** Least time from the end of one checkpoint to the start of a periodic one. */
  readonly minPauseMs: number
  readonly maxConcurrent: number
}

/** Whether to trigger now, and if not, what to wait for. */
export type TriggerDecision =
  /** Trigger a savepoint: they go before everything else and know no pause. */
  | { readonly kind: 'savepoint' }
  /** Trigger a checkpoint that someone asked for; it knows no pause either. */
  | { readonly kind: 'requested' }
  /** Trigger a periodic checkpoint. */
  | { readonly kind: 'periodic' }
  /** Ask again at this time. */
  | { readonly kind: 'wait'; readonly untilMs: number }
  /** Ask again when a checkpoint is settled. */
  | { readonly kind: 'wait-for-settled' }
  /** The tasks do not all run; ask again when they do. */
  | { readonly kind: 'not-running' }
  /** No periodic checkpoints, and nobody asks for one. */
  | { readonly kind: 'idle' }

/** May a checkpoint be triggered now, and which? */
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
