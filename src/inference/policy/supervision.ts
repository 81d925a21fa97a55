/** Facts about a request of a batch whose worker was lost. */
export interface LostRequest {
  /** Attempts that ended with the loss of their worker, this one included. */
  readonly lostAttempts: number
  /** Monotonic ms. */
  readonly deadlineMs: number
}

/** What becomes of a batch whose worker was lost. */
export interface AfterLoss {
  /**
   * Requests that are tried again, by their index in the batch. Each group runs apart from all other
   * requests, so that a worker that is lost again says which group is to blame.
   */
  readonly groups: readonly (readonly number[])[]
  /** Requests that are given up: their worker was lost each time, also alone. */
  readonly poisoned: readonly number[]
  /** Requests whose deadline allows no other attempt. */
  readonly lost: readonly number[]
}

/** Attempts after which a request that ran alone counts as poisoned. */
const ATTEMPTS_ALONE = 2

/**
 * Decides about a batch whose worker was lost. After the first loss the batch is tried again as it is: most
 * workers are lost for reasons of their own. When a second worker is lost, halves of the batch run apart,
 * until the request that ends workers runs alone and fails by itself.
 */
export function afterLoss(
  batch: readonly LostRequest[],
  nowMs: number,
  maxAttempts: number,
): AfterLoss {
  const alive: number[] = []
  const lost: number[] = []
  batch.forEach((request, i) => {
    if (request.deadlineMs > nowMs) alive.push(i)
    else lost.push(i)
  })
  if (alive.length === 0) return { groups: [], poisoned: [], lost }
  const attempts = Math.max(...alive.map((i) => batch[i]!.lostAttempts))
  if (
    alive.length === 1 &&
    batch.length === 1 &&
    attempts >= Math.max(ATTEMPTS_ALONE, maxAttempts)
  ) {
    return { groups: [], poisoned: alive, lost }
  }
  if (attempts < 2 || alive.length === 1) return { groups: [alive], poisoned: [], lost }
  const middle = alive.length >>> 1
  return { groups: [alive.slice(0, middle), alive.slice(middle)], poisoned: [], lost }
}

/** Facts about a worker, as the supervisor sees them. Times are monotonic ms. */
export interface WorkerFacts {
  readonly nowMs: number
  /** Start of the run that is under way; 0 when there is none. */
  readonly runStartedAt: number
  readonly expectedMs: number
  readonly overtimeFactor: number
  readonly overtimeMs: number
  readonly runs: number
  readonly recycleAfterRuns: number | undefined
}

/** What the supervisor does with a worker that lives: a run cannot be cancelled, so it replaces the worker. */
export function superviseWorker(facts: WorkerFacts): 'keep' | 'overtime' | 'recycle' {
  const { nowMs, runStartedAt, expectedMs, overtimeFactor, overtimeMs } = facts
  if (runStartedAt > 0) {
    const allowedMs = Math.max(overtimeMs, expectedMs * overtimeFactor)
    return nowMs - runStartedAt > allowedMs ? 'overtime' : 'keep'
  }
  const { runs, recycleAfterRuns } = facts
  return recycleAfterRuns !== undefined && runs >= recycleAfterRuns ? 'recycle' : 'keep'
}

/** Loads in a row that must fail before requests do: one failure may be chance. */
const FAILED_LOADS = 2

/** Whether requests that wait fail at once: no worker lives, and the model could not be loaded again. */
export function isUnservable(facts: {
  /** Workers that take requests. */
  readonly workers: number
  /** Loads that failed since a worker served the model. */
  readonly failedLoads: number
}): boolean {
  return facts.workers === 0 && facts.failedLoads >= FAILED_LOADS
}

/** Longest pause before a worker that keeps ending is started again, ms. */
const LONGEST_PAUSE_MS = 5000
const FIRST_PAUSE_MS = 100
/** Starts of a worker for which a request that waits has time when the pause ends. */
const STARTS_LEFT = 2

/** Facts about a lost worker that is to be started again. */
export interface RestartFacts {
  /** Losses in a row without an answer. */
  readonly losses: number
  /** Time that the last start took, ms. */
  readonly startMs: number
  /** Time from the loss to the first deadline of the requests that wait, ms; Infinity when none waits. */
  readonly slackMs: number
}

/**
 * Pause before a worker is started again, ms. It grows with the losses, but ends while a request that waits can still be
 * answered, as long as starts take no more than half of the time.
 */
export function restartPauseMs({ losses, startMs, slackMs }: RestartFacts): number {
  if (losses <= 1) return 0
  const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(losses - 2, 10))
  return Math.min(pauseMs, Math.max(startMs, slackMs - STARTS_LEFT * startMs))
}
