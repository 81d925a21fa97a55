import type { Cancel, Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { ModelSource } from '../../inference/port/model.ts'

/** Pause before a load is tried again, and the longest one, ms. */
const FIRST_MS = 1_000
const LONGEST_MS = 30_000

/** Loads that failed because a server was away, or the models of a pipeline: each is tried again, with growing pauses. */
export class RemoteRetries implements Disposable {
  private readonly clock: Clock
  /** Number and last message of the failures of each model since its last load that succeeded. */
  private readonly failures = new Map<
    string,
    { readonly count: number; readonly message: string }
  >()
  private readonly waiting = new Set<Cancel>()
  private isClosed = false

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Whether the load of a model before has failed with the same message, for a server that was away. */
  isKnown(model: string, { message }: WeirError): boolean {
    return this.failures.get(model)?.message === message
  }

  /** A load has failed: calls `again` later, if the server was away. */
  failed(
    model: string,
    source: ModelSource | undefined,
    error: WeirError,
    again: () => void,
  ): void {
    if (!mayComeBack(source, error) || this.isClosed) return
    const before = this.failures.get(model)?.count ?? 0
    this.failures.set(model, { count: before + 1, message: error.message })
    const cancel = this.clock.after(Math.min(FIRST_MS * 2 ** before, LONGEST_MS), () => {
      this.waiting.delete(cancel)
      again()
    })
    this.waiting.add(cancel)
  }

  /** A model was loaded, or has gone. */
  ended(model: string): void {
    this.failures.delete(model)
  }

  [Symbol.dispose](): void {
    this.isClosed = true
    for (const cancel of this.waiting) cancel()
  }
}

/** Whether a load may succeed later without a change of its files. */
function mayComeBack(source: ModelSource | undefined, { code }: WeirError): boolean {
  if (source?.kind === 'remote') return code === 'MODEL_NOT_LOADED'
  return source?.kind === 'pipeline' && code === 'INVALID_GRAPH'
}
