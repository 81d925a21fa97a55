import { type Clock, sleep } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import { notPromoted } from '../../core/model-version.ts'
import { partitionOfPlace, sourceOfPlace } from '../../core/position.ts'
import type { KeyClass } from '../../state/catalog/key-class.ts'
import {
  NOT_REPORTED,
  type ProgressBoard,
  TABLE_UNKNOWN,
} from '../../state/catalog/progress-board.ts'
import type { QueryableState, StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { AnswerEnvelope, Consistency } from '../../wire/model-reader.ts'
import type { OwnedQueryOptions, RequestOwner } from '../port/request-owner.ts'
import { type BoundRequest, BoundWaiters, notReached, type SlotBounds } from './bound-waiters.ts'
import { ReadBounds } from './bounds.ts'
import { UnknownErrors } from './unknown-errors.ts'

const DEFAULT_DEADLINE_MS = 5000
const LIVE: Consistency = { level: 'live' }
/** Time between two reads of a row that is being written. */
const POLL_MS = 1

/** A resolved request: version, consistency and deadline. */
export interface LocalRequest extends BoundRequest {
  /** Version that is read; 0 for typed state. */
  readonly version: number
  readonly checkpointId: number
  /** The checkpoint holds all that the sources held at this time; 0 if unknown. */
  readonly checkpointAsOfMs: number
  /** The connection that waits for the answer; undefined in the process that has the state. */
  readonly owner: RequestOwner | undefined
}

/** A request for vector state. */
export interface VectorRequest extends LocalRequest {
  readonly state: QueryableState
}

/** Where and when a row was read. */
export interface RowOrigin {
  /** Source and partition, as `placeOf` makes them. */
  readonly partition: number
  readonly offset: number
  readonly slot: number
  /** Time (of `Clock.monotonicMs`) as of which the row holds all that the source held; 0 if unknown. */
  readonly asOfMs: number
  /** Last completed checkpoint when it was read. */
  readonly checkpointId: number
}

/**
 * What it means that a key is not found: it is unknown; some slot may not have reported its tables yet; or the
 * rows of the version are being read again, so that every table of it may lack rows.
 */
export type Absence = 'unknown' | 'table-on-its-way' | 'row-on-its-way'

/** Context that the requests of one reader are resolved in. */
export interface LocalContext {
  readonly catalog: StateCatalog
  readonly board: ProgressBoard
  readonly clock: Clock
  /** Number of a queryable name on the board, which holds its live version; undefined if none. */
  readonly modelOf: (queryableName: string) => number | undefined
  /** Name of the serving thread in `servedBy`. */
  readonly server: string
}

/**
 * Resolves requests against catalog and board: version, checkpoint, bounds, ages, deadlines. The file
 * is long because every kind of request checks versions, bounds and ages alike.
 */
export class LocalRequests implements SlotBounds {
  readonly clock: Clock
  private readonly context: LocalContext
  private readonly board: ProgressBoard
  private readonly waiters = new BoundWaiters(this)
  private pausing: Promise<void> | undefined
  /** Errors for what is not known here. */
  readonly errors: UnknownErrors
  private readonly bounds: ReadBounds

  constructor(context: LocalContext) {
    this.context = context
    this.board = context.board
    this.bounds = new ReadBounds(context.board, context.catalog, context.clock)
    this.clock = context.clock
    this.errors = new UnknownErrors(context)
  }

  /**
   * A request for vector state. Throws UNKNOWN_STATE, UNKNOWN_VERSION, RESTORING, or NOT_UP_TO_BOUND
   * when a checkpoint is asked for before one completed.
   */
  vector(name: string, options: OwnedQueryOptions = {}): VectorRequest {
    const state = this.context.catalog.state(name)
    const model = this.context.modelOf(name)
    // A model has no tables before its first row.
    if (state === undefined && model === undefined)
      throw this.errors.unknownState('vector state', name)
    const version = options.version ?? this.liveVersion(name, model, state?.versions())
    if (state?.keyClasses.some((keyClass) => keyClass.versions.has(version)) !== true) {
      throw this.errors.notLoaded(name, version, options)
    }
    const { consistency = LIVE, deadlineMs = DEFAULT_DEADLINE_MS, owner } = options
    this.bounds.require(consistency)
    const checkpointAsOfMs = this.board.completedCheckpointAsOfMs()
    const checkpointId = this.board.completedCheckpoint()
    if (consistency.level === 'checkpoint' && checkpointId === 0) {
      throw new WeirError('NOT_UP_TO_BOUND', 'no checkpoint has completed yet; ask again later')
    }
    const deadline = this.clock.monotonicMs() + deadlineMs
    const waits = undefined
    return { state, version, consistency, checkpointId, checkpointAsOfMs, deadline, owner, waits }
  }

  /** A request for typed state. Throws UNSUPPORTED for the checkpoint level. */
  typed(options: OwnedQueryOptions = {}): LocalRequest {
    const { consistency = LIVE, deadlineMs = DEFAULT_DEADLINE_MS, owner } = options
    this.bounds.require(consistency)
    if (consistency.level === 'checkpoint') {
      throw new WeirError('UNSUPPORTED', 'the checkpoint level is offered for vector state only')
    }
    const deadline = this.clock.monotonicMs() + deadlineMs
    const checkpointId = this.board.completedCheckpoint()
    const common = { consistency, checkpointId, deadline, owner }
    return { ...common, version: 0, checkpointAsOfMs: 0, waits: undefined }
  }

  private liveVersion(name: string, model: number | undefined, loaded?: readonly number[]): number {
    const version = model === undefined ? 0 : this.board.liveVersion(model)
    if (version > 0) return version
    const message = `no version of "${name}" is live yet`
    if (model === undefined) throw this.errors.unknown('UNKNOWN_VERSION', message)
    if (this.errors.isRestoring()) throw this.errors.unknown('RESTORING', message)
    throw notPromoted(message, loaded)
  }

  /** The same request at the checkpoint that is now the last one. */
  refreshed(request: VectorRequest): VectorRequest {
    const checkpointAsOfMs = this.board.completedCheckpointAsOfMs()
    return { ...request, checkpointAsOfMs, checkpointId: this.board.completedCheckpoint() }
  }

  /**
   * Sets `ages[slot]` to the upper bound of the age of a slot's answers in ms, -1 if unknown, `NOT_REPORTED`
   * or `TABLE_UNKNOWN`.
   */
  agesInto(request: LocalRequest, ages: number[]): void {
    const now = this.clock.monotonicMs()
    ages.length = this.board.share.slots
    for (let slot = 0; slot < ages.length; slot++) ages[slot] = this.ageOf(request, slot, now)
  }

  private ageOf(request: LocalRequest, slot: number, now: number): number {
    const { board } = this
    const { catalog } = this.context
    const isLive = request.consistency.level !== 'checkpoint'
    const asOfMs = isLive ? board.oldestAsOfMs(slot) : request.checkpointAsOfMs
    if (!catalog.knowsIncarnation(slot, board)) return NOT_REPORTED
    if (!isLive) return ageAt(now, asOfMs)
    if (!board.hasReported(slot)) return NOT_REPORTED
    return catalog.knowsTables(slot, board) ? ageAt(now, asOfMs) : TABLE_UNKNOWN
  }

  /**
   * The time as of which rows that are read in the slot's tables answer the request, 0 if unknown. Call it
   * before reading a row: what is applied meanwhile may not be in the row.
   */
  asOfMs(request: LocalRequest, slot: number): number {
    if (request.consistency.level === 'checkpoint') return request.checkpointAsOfMs
    const asOfMs = this.board.oldestAsOfMs(slot)
    return this.context.catalog.knowsTables(slot, this.board) ? asOfMs : 0
  }

  /** The oldest of the times as of which these slots answer the request, 0 if one is unknown. */
  oldestAsOfMs(request: LocalRequest, slots: Iterable<number>): number {
    return Math.min(...Array.from(slots, (slot) => this.asOfMs(request, slot)))
  }

  /** Whether the tables that the slot had when it began to run are known here. */
  private hasTables(slot: number): boolean {
    return this.board.hasReported(slot) && this.context.catalog.knowsIncarnation(slot, this.board)
  }

  /** What it means that a key of the request's version is not found. Ask before reading: it may change. */
  absence(request: Pick<VectorRequest, 'state' | 'version'>): Absence {
    if (this.isIncomplete(request)) return 'row-on-its-way'
    return this.errors.isRestoring() ? 'table-on-its-way' : 'unknown'
  }

  /**
   * Throws RESTORING while the version may lack rows of these classes, in any slot of the job: for what looks at all rows. Call
   * it before reading.
   */
  requireAllRows(
    request: Pick<VectorRequest, 'state' | 'version'>,
    keyClasses: readonly KeyClass[],
  ): void {
    if (this.isIncomplete(request)) throw this.errors.readAgain(request)
    for (const keyClass of keyClasses) {
      const readers = keyClass.versions.get(request.version)?.readers ?? []
      const restoring = readers.find((reader) => reader.restoring)
      if (restoring !== undefined) throw this.errors.restoringSlot(restoring.share.slot)
      const present = new Set(readers.map(({ share }) => share.slot))
      for (let slot = 0; slot < this.board.share.slots; slot++) {
        if (!present.has(slot) && !this.hasTables(slot)) throw this.errors.restoringSlot(slot)
      }
    }
  }

  private isIncomplete({ state, version }: Pick<VectorRequest, 'state' | 'version'>): boolean {
    const model = this.context.modelOf(state.name)
    if (model === undefined || this.board.liveVersion(model) !== version) return false
    return this.board.isLiveIncomplete(model)
  }

  /** Whether the slot has reached the bound of the request, as far as one look can tell. */
  hasReached(slot: number, { consistency, version }: LocalRequest): boolean {
    return this.bounds.hasReached(slot, consistency, version)
  }

  /**
   * Waits until the slot has reached the request's bound. Returns the slot's incarnation at that time,
   * for `requireIncarnation`. Throws NOT_UP_TO_BOUND at the deadline, and the owner's error when the
   * connection is gone.
   */
  async reach(slot: number, request: LocalRequest): Promise<number> {
    const incarnation = await this.reachBound(slot, request)
    const source = this.bounds.returnPath(request.consistency)
    if (source === undefined) return incarnation
    // What the record caused is in the topic of that source: a look at its end from now on finds it.
    const returned = { source, asOfMs: this.clock.monotonicMs() }
    await this.reachBound(slot, { ...request, returned, waits: undefined })
    this.requireIncarnation(slot, incarnation)
    return incarnation
  }

  /**
   * Waits until all the slots have reached the bound. The result throws RESTORING when one has begun
   * another incarnation since.
   */
  async reachAll(slots: Iterable<number>, request: LocalRequest): Promise<() => void> {
    const reached: [number, number][] = []
    for (const slot of slots) reached.push([slot, await this.reach(slot, request)])
    return () => {
      for (const [slot, incarnation] of reached) this.requireIncarnation(slot, incarnation)
    }
  }

  private async reachBound(slot: number, request: BoundRequest): Promise<number> {
    requirePresent(request)
    const incarnation = this.incarnationIfReached(slot, request)
    if (incarnation !== undefined) return incarnation
    if (this.clock.monotonicMs() >= request.deadline) throw notReached(slot)
    return this.waitShared(slot, request)
  }

  /** The keys of a request may be hundreds: all that wait for one slot share a wait. */
  private waitShared(slot: number, request: BoundRequest): Promise<number> {
    const shared = request.waits?.get(slot)
    if (shared !== undefined) return shared
    const wait = this.waiters.wait(slot, request)
    request.waits ??= new Map()
    request.waits.set(slot, wait)
    const end = (): unknown => request.waits?.delete(slot)
    wait.then(end, end)
    return wait
  }

  /** Whether every slot of the request's state has reached its bound, as far as one look can tell. */
  hasReachedAll(request: VectorRequest): boolean {
    const { level } = request.consistency
    if (level === 'live' || level === 'checkpoint') return true
    for (const keyClass of request.state.keyClasses) {
      for (const slot of keyClass.slots) if (!this.hasReached(slot, request)) return false
    }
    return true
  }

  /** The slot's present incarnation. */
  incarnationOf(slot: number): number {
    return this.board.slotIncarnation(slot)
  }

  /** By slot, its present incarnation. */
  incarnations(): readonly number[] {
    const { slots } = this.board.share
    return Array.from({ length: slots }, (_, slot) => this.board.slotIncarnation(slot))
  }

  /** The slot's incarnation if it has reached the request's bound. */
  incarnationIfReached(slot: number, request: BoundRequest): number | undefined {
    const incarnation = this.board.slotIncarnation(slot)
    return this.bounds.isReached(slot, request) ? incarnation : undefined
  }

  /**
   * Throws RESTORING when the slot has begun another incarnation since. The bound was reached in the
   * earlier one; rows may have been read in the new one, which has gone back to a checkpoint.
   */
  requireIncarnation(slot: number, incarnation: number): void {
    if (this.board.slotIncarnation(slot) === incarnation) return
    throw new WeirError('RESTORING', `slot ${slot} went back to a checkpoint meanwhile; ask again`)
  }

  isLate(request: LocalRequest): boolean {
    return this.clock.monotonicMs() >= request.deadline
  }

  /** Waits before the next read. All requests share one timer. */
  pause(): Promise<void> {
    this.pausing ??= sleep(this.clock, POLL_MS).then(() => {
      this.pausing = undefined
    })
    return this.pausing
  }

  /**
   * The result of `work`. Throws DEADLINE_EXCEEDED, and the owner's error when the connection is gone. One
   * promise only: every spilled row waits here.
   */
  within<T>(request: LocalRequest, work: Promise<T>): Promise<T> {
    const left = Math.max(0, request.deadline - this.clock.monotonicMs())
    const { owner } = request
    return new Promise((resolve, reject) => {
      if (owner?.gone !== undefined) {
        work.catch(() => {})
        reject(owner.gone)
        return
      }
      const cancel = this.clock.after(left, () => {
        stay?.()
        reject(new WeirError('DEADLINE_EXCEEDED', 'the slot did not answer before the deadline'))
      })
      const stay = owner?.onGone(() => {
        cancel()
        reject(owner.gone)
      })
      work.then(
        (value) => {
          cancel()
          stay?.()
          resolve(value)
        },
        (error: unknown) => {
          cancel()
          stay?.()
          reject(error)
        },
      )
    })
  }

  /** Envelopes of many answers to the request. Call it before reading their rows. */
  envelopes(request: LocalRequest): Envelopes {
    const { slots } = this.board.share
    const asOfs = Array.from({ length: slots }, (_, slot) => this.asOfMs(request, slot))
    const { version: modelVersion, checkpointId } = request
    const servedBy = asOfs.map((_, slot) => `${this.context.server}/${slot}`)
    return (slot, partition, offset) => {
      const ageMs = ageAt(this.clock.monotonicMs(), asOfs[slot] ?? 0)
      return {
        modelVersion,
        source: sourceOfPlace(partition),
        partition: partitionOfPlace(partition),
        offset,
        checkpointId,
        ageMs,
        servedBy: servedBy[slot]!,
      }
    }
  }

  /** Envelope of an answer to the request. */
  envelope(request: LocalRequest, origin: RowOrigin): AnswerEnvelope {
    const { partition, offset, slot, asOfMs, checkpointId } = origin
    return {
      modelVersion: request.version,
      source: sourceOfPlace(partition),
      partition: partitionOfPlace(partition),
      offset,
      checkpointId,
      ageMs: ageAt(this.clock.monotonicMs(), asOfMs),
      servedBy: `${this.context.server}/${slot}`,
    }
  }
}

/** Throws the owner's error when the connection that asked is gone. */
export function requirePresent({ owner }: Pick<LocalRequest, 'owner'>): void {
  if (owner?.gone !== undefined) throw owner.gone
}

const ageAt = (nowMs: number, asOfMs: number): number =>
  asOfMs === 0 ? -1 : Math.max(0, nowMs - asOfMs)

/** Envelope of an answer from a row of the slot, last written at this position. */
export type Envelopes = (slot: number, partition: number, offset: number) => AnswerEnvelope
