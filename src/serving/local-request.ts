import { type Clock, sleep } from '../core/clock.ts'
import { type ErrorCode, isWeirError, WeirError } from '../core/errors.ts'
import type { ProgressBoard } from '../state/progress-board.ts'
import type { Answer, AnswerEnvelope, Consistency, QueryOptions } from '../wire/model-reader.ts'
import type { LocalCatalog, LocalState } from './local-catalog.ts'

const DEFAULT_DEADLINE_MS = 5000
const LIVE: Consistency = { level: 'live' }
/** Pause between two looks at what a request waits for. */
const POLL_MS = 1

const decoder = new TextDecoder()

/** A request with its consistency and deadline. */
export interface LocalRequest {
  /** Version that is read; 0 for typed state. */
  readonly version: number
  readonly consistency: Consistency
  readonly checkpointId: number
  /** Monotonic time when it fails. */
  readonly deadline: number
}

/** A request for vector state. */
export interface VectorRequest extends LocalRequest {
  readonly state: LocalState
}

/** Where a row that was read came from. */
export interface RowOrigin {
  readonly partition: number
  readonly offset: number
  readonly slot: number
  /** Taken before the row was read: all that the source held then is in it. 0 if unknown. */
  readonly asOfMs: number
  /** Last completed checkpoint when it was read. */
  readonly checkpointId: number
}

/** What the requests of one reader are resolved with. */
export interface LocalContext {
  readonly catalog: LocalCatalog
  readonly board: ProgressBoard
  readonly clock: Clock
  /** Number of a queryable name on the board, where its live version stands; undefined if none. */
  readonly modelOf: (queryableName: string) => number | undefined
  /** Name of the serving thread in `servedBy`. */
  readonly server: string
}

/** Resolves requests against catalog and board: version, checkpoint, bounds, ages, deadlines. */
export class LocalRequests {
  readonly clock: Clock
  private readonly context: LocalContext
  private readonly board: ProgressBoard

  constructor(context: LocalContext) {
    this.context = context
    this.board = context.board
    this.clock = context.clock
  }

  /**
   * A request for vector state. Throws UNKNOWN_STATE, UNKNOWN_VERSION, RESTORING, or NOT_UP_TO_BOUND
   * when a checkpoint is asked for before one completed.
   */
  vector(name: string, options: QueryOptions = {}): VectorRequest {
    const state = this.context.catalog.state(name)
    if (state === undefined) {
      throw this.unknown('UNKNOWN_STATE', `no queryable vector state is named "${name}"`)
    }
    const version = options.version ?? this.liveVersion(name)
    if (!state.sides.some((side) => side.versions.has(version))) {
      throw this.unknown('UNKNOWN_VERSION', `version ${version} of "${name}" is not loaded`)
    }
    const { consistency = LIVE, deadlineMs = DEFAULT_DEADLINE_MS } = options
    const checkpointId = this.board.completedCheckpoint()
    if (consistency.level === 'checkpoint' && checkpointId === 0) {
      throw new WeirError('NOT_UP_TO_BOUND', 'no checkpoint has completed yet; ask again later')
    }
    const deadline = this.clock.monotonicMs() + deadlineMs
    return { state, version, consistency, checkpointId, deadline }
  }

  /** A request for typed state. Throws UNSUPPORTED for the checkpoint level. */
  typed(options: QueryOptions = {}): LocalRequest {
    const { consistency = LIVE, deadlineMs = DEFAULT_DEADLINE_MS } = options
    if (consistency.level === 'checkpoint') {
      throw new WeirError('UNSUPPORTED', 'the checkpoint level is offered for vector state only')
    }
    const deadline = this.clock.monotonicMs() + deadlineMs
    const checkpointId = this.board.completedCheckpoint()
    return { version: 0, consistency, checkpointId, deadline }
  }

  private liveVersion(name: string): number {
    const model = this.context.modelOf(name)
    const version = model === undefined ? 0 : this.board.liveVersion(model)
    if (version > 0) return version
    throw this.unknown('UNKNOWN_VERSION', `no version of "${name}" is live yet`)
  }

  /** While a slot restores, what is not known may just not be there yet. */
  unknown(code: ErrorCode, message: string): WeirError {
    if (!this.isRestoring()) return new WeirError(code, message)
    return new WeirError('RESTORING', `${message}, but the job still restores`)
  }

  /** Whether some slot restores, or was lost and is about to. */
  isRestoring(): boolean {
    for (let slot = 0; slot < this.board.share.slots; slot++) {
      if (this.board.slotStatus(slot) !== 'running') return true
    }
    return false
  }

  /** The same request at the checkpoint that is the last one now. */
  refreshed(request: VectorRequest): VectorRequest {
    return { ...request, checkpointId: this.board.completedCheckpoint() }
  }

  /** Upper bound of the age of each slot's answers in ms, -1 if unknown; appended to `ages`. */
  agesInto(request: LocalRequest, ages: number[]): void {
    const now = this.clock.nowMs()
    ages.length = this.board.share.slots
    for (let slot = 0; slot < ages.length; slot++) ages[slot] = this.ageOf(request, slot, now)
  }

  private ageOf(request: LocalRequest, slot: number, now: number): number {
    return ageAt(now, this.asOfMs(request, slot))
  }

  /**
   * The time as of which the slot answers the request, 0 if unknown. To be taken before a row is
   * read: what is applied meanwhile may not be in the row.
   */
  asOfMs(request: LocalRequest, slot: number): number {
    if (request.consistency.level === 'checkpoint') return this.board.completedCheckpointTimeMs()
    return this.board.oldestAsOfMs(slot)
  }

  /** Whether every table of the slot is known here: it has told its progress, which comes after them. */
  hasTables(slot: number): boolean {
    return this.board.oldestAsOfMs(slot) > 0
  }

  /** Whether the slot has reached the bound of an `at-least` or `bounded` request. */
  hasReached(slot: number, consistency: Consistency): boolean {
    switch (consistency.level) {
      case 'at-least':
        return this.board.nextOffset(slot, consistency.partition) > consistency.offset
      case 'bounded': {
        const asOf = this.board.oldestAsOfMs(slot)
        return asOf > 0 && this.clock.nowMs() - asOf <= consistency.maxAgeMs
      }
      default:
        return true
    }
  }

  /**
   * Waits until the slot has reached the request's bound, and tells the life in which it has; see
   * `requireLife`. Throws NOT_UP_TO_BOUND at the deadline.
   */
  async reach(slot: number, request: LocalRequest): Promise<number> {
    for (;;) {
      const life = this.board.slotLife(slot)
      if (this.hasReached(slot, request.consistency)) return life
      if (this.isLate(request)) {
        throw new WeirError(
          'NOT_UP_TO_BOUND',
          `slot ${slot} has not reached the bound that was asked for; wait longer or relax it`,
          { details: { slot } },
        )
      }
      await this.pause()
    }
  }

  /**
   * Throws RESTORING when the slot has begun another life since: its progress was that of one life,
   * and what was read may be of the next, which has gone back to a checkpoint.
   */
  requireLife(slot: number, life: number): void {
    if (this.board.slotLife(slot) === life) return
    throw new WeirError('RESTORING', `slot ${slot} went back to a checkpoint meanwhile; ask again`)
  }

  isLate(request: LocalRequest): boolean {
    return this.clock.monotonicMs() >= request.deadline
  }

  /** A moment until it is worth looking again. */
  pause(): Promise<void> {
    return sleep(this.clock, POLL_MS)
  }

  /** `work`, or DEADLINE_EXCEEDED when it is not done in time. One promise: every spilled row waits here. */
  within<T>(request: LocalRequest, work: Promise<T>): Promise<T> {
    const left = Math.max(0, request.deadline - this.clock.monotonicMs())
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(left, () =>
        reject(new WeirError('DEADLINE_EXCEEDED', 'the slot did not answer before the deadline')),
      )
      work.then(
        (value) => {
          cancel()
          resolve(value)
        },
        (error: unknown) => {
          cancel()
          reject(error)
        },
      )
    })
  }

  /** Envelopes of many answers to the request; to be taken before their rows are read. */
  envelopes(request: LocalRequest): Envelopes {
    const { slots } = this.board.share
    const asOfs = Array.from({ length: slots }, (_, slot) => this.asOfMs(request, slot))
    const { version: modelVersion, checkpointId } = request
    const servedBy = asOfs.map((_, slot) => `${this.context.server}/${slot}`)
    return (slot, partition, offset) => {
      const ageMs = ageAt(this.clock.nowMs(), asOfs[slot] ?? 0)
      return { modelVersion, partition, offset, checkpointId, ageMs, servedBy: servedBy[slot]! }
    }
  }

  /** What is said of an answer to the request. */
  envelope(request: LocalRequest, origin: RowOrigin): AnswerEnvelope {
    const { partition, offset, slot, asOfMs, checkpointId } = origin
    return {
      modelVersion: request.version,
      partition,
      offset,
      checkpointId,
      ageMs: ageAt(this.clock.nowMs(), asOfMs),
      servedBy: `${this.context.server}/${slot}`,
    }
  }
}

const ageAt = (nowMs: number, asOfMs: number): number =>
  asOfMs === 0 ? -1 : Math.max(0, nowMs - asOfMs)

/** What is said of an answer that a slot's row with this position gave. */
export type Envelopes = (slot: number, partition: number, offset: number) => AnswerEnvelope

const SENTENCE: Partial<Record<ErrorCode, string>> = {
  UNKNOWN_KEY: 'does not exist',
  NOT_OWNER: 'belongs to another process; route by the routing table',
  RESTORING: 'may not be restored yet; ask again',
  NOT_UP_TO_BOUND: 'cannot be read at the last checkpoint; ask again',
  UNKNOWN_STATE: 'belongs to a state that its slot does not know',
}

/** The error of a key that could not be read. */
export function failureOf(code: ErrorCode, key: Uint8Array): WeirError {
  return new WeirError(code, `key "${decoder.decode(key)}" ${SENTENCE[code] ?? 'cannot be read'}`)
}

/** Turns a thrown WeirError into a failed answer. */
export async function answered<T>(work: () => Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await work()
  } catch (error) {
    if (isWeirError(error)) return { ok: false, error }
    throw error
  }
}
