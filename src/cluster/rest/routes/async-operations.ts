import type { Clock } from '../../../core/clock.ts'
import { asWeirError, WeirError } from '../../../core/errors.ts'

/** Time for which the result of an operation can be asked for after its end; Flink's default. */
const KEPT_MS = 300_000
/** Operations that are kept at most, running and ended. */
const MOST = 1000

/** State of an operation that a client triggered. */
export type OperationState =
  | { readonly kind: 'in-progress' }
  | { readonly kind: 'completed'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: WeirError }

interface Operation {
  state: OperationState
  endedMs: number
  /** Whether a client has learned the result. */
  isReported: boolean
}

/** Which operation of which job; a trigger id belongs to one such pair. */
export interface OperationKey {
  readonly kind: 'savepoint' | 'stop' | 'checkpoint' | 'rescaling'
  readonly jobId: string
  readonly triggerId: string
}

/**
 * Operations that clients triggered and ask about later. A client may choose the trigger id; the same id
 * again is the same operation, so that a client may retry its request.
 */
export class AsyncOperations {
  private readonly clock: Clock
  private readonly states = new Map<string, Operation>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Starts an operation unless its trigger id is known. Throws OVERLOADED. */
  start(key: OperationKey, run: () => Promise<unknown>): void {
    this.dropOld()
    const name = nameOf(key)
    if (this.states.has(name)) return
    if (this.states.size >= MOST) {
      throw new WeirError('OVERLOADED', `${MOST} operations run or ended lately; try again later`)
    }
    const operation: Operation = {
      state: { kind: 'in-progress' },
      endedMs: Number.POSITIVE_INFINITY,
      isReported: false,
    }
    this.states.set(name, operation)
    const end = (state: OperationState): void => {
      operation.state = state
      operation.endedMs = this.clock.monotonicMs()
    }
    run().then(
      (value) => end({ kind: 'completed', value }),
      (error: unknown) => end({ kind: 'failed', error: asWeirError(error, 'ILLEGAL_STATE') }),
    )
  }

  /** State of an operation. Throws NOT_FOUND. */
  stateOf(key: OperationKey): OperationState {
    this.dropOld()
    const operation = this.states.get(nameOf(key))
    if (operation !== undefined) {
      operation.isReported = operation.state.kind !== 'in-progress'
      return operation.state
    }
    throw new WeirError(
      'NOT_FOUND',
      `no ${key.kind} of job ${key.jobId} has the trigger id ${key.triggerId}, or it ended more than ${KEPT_MS / 60_000} minutes ago`,
    )
  }

  /** Whether a client has not yet asked for the result of an operation. */
  get hasUnreported(): boolean {
    return [...this.states.values()].some(({ isReported }) => !isReported)
  }

  private dropOld(): void {
    const before = this.clock.monotonicMs() - KEPT_MS
    for (const [name, { endedMs }] of this.states) if (endedMs < before) this.states.delete(name)
  }
}

function nameOf({ kind, jobId, triggerId }: OperationKey): string {
  // A savepoint and a stop are asked for under the same path.
  return `${kind === 'stop' ? 'savepoint' : kind}/${jobId}/${triggerId}`
}
