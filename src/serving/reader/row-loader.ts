import { WeirError } from '../../core/errors.ts'
import { murmur3 } from '../../core/hash/murmur3.ts'
import type { SlotQueryAnswer } from '../../state/port/slot-query.ts'
import { decodeVectorRow } from '../../state/rows/codec.ts'
import { SPILLED } from '../../state/rows/reader.ts'
import { DEFERRED } from '../../wire/frame.ts'
import { codeOf, OK } from '../../wire/status.ts'
import type { LocalSlotAsker } from '../catalog/slot-asker.ts'
import { failureOf } from './failures.ts'
import {
  type Absence,
  type LocalRequests,
  type RowOrigin,
  requirePresent,
  type VectorRequest,
} from './request.ts'
import { RowBuffer, RowReads } from './row-reads.ts'
import { slotsOf } from './scans.ts'

/** How often a slot is asked for a row of its checkpoint before the row counts as missing. */
const CHECKPOINT_ASKS = 3

/** A row that a request has read. */
export interface LoadedRow extends RowOrigin {
  /** [dimension]; not shared. */
  readonly vector: Float32Array
  /** Whether another row stands in for the one that was asked for. */
  readonly cold: boolean
}

type ReadRow = Omit<LoadedRow, 'asOfMs' | 'checkpointId'>

/** Loads rows for requests that may wait: for a bound, for a slot, for the writer of a row. */
export class LocalRowLoader {
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker
  /** Used between two awaits only. */
  private readonly reads = new RowReads()
  private readonly buffer = new RowBuffer()
  private readonly ages: number[] = []

  constructor(requests: LocalRequests, asker: LocalSlotAsker) {
    this.requests = requests
    this.asker = asker
  }

  /**
   * The row with a key, or with `cold` when it does not exist. Throws UNKNOWN_KEY, NOT_OWNER,
   * RESTORING, NOT_UP_TO_BOUND, DEADLINE_EXCEEDED.
   */
  async load(request: VectorRequest, key: Uint8Array, cold?: Uint8Array): Promise<LoadedRow> {
    const row = await this.loadIfKnown(request, key)
    if (row !== undefined) return row
    const standIn = cold === undefined ? undefined : await this.loadIfKnown(request, cold)
    if (standIn === undefined) throw failureOf('UNKNOWN_KEY', cold ?? key)
    return { ...standIn, cold: true }
  }

  /** Origin and vector of an answer for which no row was read. */
  noRow(request: VectorRequest): LoadedRow {
    const { checkpointId } = request
    const asOfMs = this.requests.oldestAsOfMs(request, slotsOf(request.state.keyClasses))
    const nowhere = { partition: -1, offset: 0, slot: 0 }
    return { ...nowhere, vector: new Float32Array(0), asOfMs, checkpointId, cold: false }
  }

  /** The row with a key, undefined when it does not exist. Throws as `load`. */
  async loadIfKnown(request: VectorRequest, key: Uint8Array): Promise<LoadedRow | undefined> {
    const hash = murmur3(key) | 0
    const checkIncarnation = await this.reachOwner(request, key, hash)
    let current = request
    for (let asks = 0; ; ) {
      const incarnation = this.incarnationOf(current, key, hash)
      const asOfMs = this.asOfMs(current, key, hash)
      const { checkpointId } = current
      const absence = this.requests.absence(current)
      const status = this.read(current, key, hash, absence)
      if (status === OK) {
        checkIncarnation?.()
        return { ...copyOf(this.buffer), asOfMs, checkpointId }
      }
      const code = codeOf(status)
      if (code === 'UNKNOWN_KEY') return undefined
      if (code !== undefined && code !== 'NOT_UP_TO_BOUND') throw failureOf(code, key)
      if (this.requests.isLate(request)) {
        throw failureOf(status === DEFERRED ? 'DEADLINE_EXCEEDED' : 'NOT_UP_TO_BOUND', key)
      }
      const answer = status === DEFERRED ? await this.ask(current, key, hash) : undefined
      if (answer === undefined) {
        await this.requests.pause()
        requirePresent(request)
        current = this.requests.refreshed(current)
      } else if (request.consistency.level !== 'checkpoint') {
        checkIncarnation?.()
        const row = this.rowOf(current, key, answer)
        if (row === undefined && absence === 'row-on-its-way') throw failureOf('RESTORING', key)
        // A slot that has gone back to a checkpoint answers with less than it had applied before.
        const isSame = this.incarnationOf(current, key, hash) === incarnation
        return row === undefined ? undefined : { ...row, asOfMs: isSame ? asOfMs : 0, checkpointId }
      } else if (++asks === CHECKPOINT_ASKS && answer.kind === 'missing') return undefined
    }
  }

  /** Incarnation of the slot that owns a key. */
  private incarnationOf(request: VectorRequest, key: Uint8Array, hash: number): number {
    const slot = request.state.keyClassOf(key, 0, key.length)?.slotOf(hash) ?? -1
    return slot < 0 ? 0 : this.requests.incarnationOf(slot)
  }

  /**
   * Waits for the bound, of all slots for the mean row. The result throws RESTORING when a slot has gone back
   * to a checkpoint since.
   */
  private async reachOwner(
    request: VectorRequest,
    key: Uint8Array,
    hash: number,
  ): Promise<(() => void) | undefined> {
    const { level } = request.consistency
    if (level === 'live' || level === 'checkpoint') return undefined
    const keyClass = request.state.keyClassOf(key, 0, key.length)
    if (keyClass === undefined) return undefined
    if (keyClass.isMeanKey(key, 0, key.length)) {
      return await this.requests.reachAll(keyClass.slots, request)
    }
    const slot = keyClass.slotOf(hash)
    if (slot < 0) return undefined
    const incarnation = await this.requests.reach(slot, request)
    return () => this.requests.requireIncarnation(slot, incarnation)
  }

  /** Time as of which a row is read now; the mean row is read from all slots. */
  private asOfMs(request: VectorRequest, key: Uint8Array, hash: number): number {
    const keyClass = request.state.keyClassOf(key, 0, key.length)
    if (keyClass === undefined) return 0
    if (!keyClass.isMeanKey(key, 0, key.length)) {
      return this.requests.asOfMs(request, keyClass.slotOf(hash))
    }
    return this.requests.oldestAsOfMs(request, keyClass.slots)
  }

  private read(request: VectorRequest, key: Uint8Array, hash: number, absence: Absence): number {
    this.requests.agesInto(request, this.ages)
    this.reads.prepare(request, this.ages, absence)
    return this.reads.fill(key, 0, key.length, hash, undefined, this.buffer)
  }

  /** The slot's answer for a spilled row; undefined when the row is in memory and being written. */
  private async ask(
    request: VectorRequest,
    key: Uint8Array,
    hash: number,
  ): Promise<SlotQueryAnswer | undefined> {
    const keyClass = request.state.keyClassOf(key, 0, key.length)
    const reader = keyClass?.versions.get(request.version)?.readerOf(hash)
    if (keyClass === undefined || reader === undefined) return undefined
    if (reader.locate(key, 0, key.length, hash) !== SPILLED) return undefined
    const { slot } = reader.share
    const bring = request.consistency.level === 'checkpoint'
    const { version } = request
    const asked = this.asker.rows({ slot, keyClass, version, bring }, [key], request)
    const [answer] = await this.requests.within(request, asked)
    return answer
  }

  private rowOf(
    request: VectorRequest,
    key: Uint8Array,
    answer: SlotQueryAnswer,
  ): ReadRow | undefined {
    if (answer.kind === 'missing') return undefined
    if (answer.kind === 'restoring') throw failureOf('RESTORING', key)
    if (answer.kind === 'unknown-state') throw failureOf('UNKNOWN_STATE', key)
    const keyClass = request.state.keyClassOf(key, 0, key.length)!
    const { vector, partition, offset } = decodeVectorRow(
      answer.value,
      keyClass.dimensionOf(request.version),
    )
    return { vector, partition, offset, slot: keyClass.slotOf(murmur3(key) | 0), cold: false }
  }
}

function copyOf({ vector, partition, offset, slot }: RowBuffer): ReadRow {
  return { vector: vector.slice(), partition, offset, slot, cold: false }
}

/** Throws DIMENSION_MISMATCH unless both have the same length. */
export function requireSameLength(
  a: { readonly length: number },
  b: { readonly length: number },
): void {
  if (a.length === b.length) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `rows of ${a.length} and of ${b.length} floats have no inner product; check keys and suffixes`,
  )
}
