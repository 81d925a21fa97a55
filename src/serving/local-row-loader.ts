import { WeirError } from '../core/errors.ts'
import { murmur3 } from '../core/murmur3.ts'
import { SPILLED } from '../state/row-table-reader.ts'
import type { SlotQueryAnswer } from '../state/slot-query.ts'
import { decodeVectorRow } from '../state/vector-row-codec.ts'
import { DEFERRED } from '../wire/frame.ts'
import { codeOf, OK } from '../wire/status.ts'
import { LocalReadGroup, RowBuffer } from './local-read-group.ts'
import {
  failureOf,
  type LocalRequests,
  type RowOrigin,
  type VectorRequest,
} from './local-request.ts'
import type { LocalSlotAsker } from './local-slot-asker.ts'

/** How often a slot is asked for a row that its checkpoint may have, before it counts as missing. */
const CHECKPOINT_ASKS = 3

/** A row that a request has read. */
export interface LoadedRow extends RowOrigin {
  /** [dimension], the caller's own. */
  readonly vector: Float32Array
  /** Another row stood in for the one that was asked for. */
  readonly cold: boolean
}

type ReadRow = Omit<LoadedRow, 'asOfMs' | 'checkpointId'>

/** Loads rows for requests that may wait: for a bound, for a slot, for a writer in the middle of a row. */
export class LocalRowLoader {
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker
  /** Only used between two awaits. */
  private readonly group = new LocalReadGroup()
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

  /** The row with a key, undefined when it does not exist. Throws as `load`. */
  async loadIfKnown(request: VectorRequest, key: Uint8Array): Promise<LoadedRow | undefined> {
    const hash = murmur3(key) | 0
    const checkLife = await this.reachOwner(request, key, hash)
    let current = request
    for (let asks = 0; ; ) {
      const asOfMs = this.asOfMs(current, key, hash)
      const { checkpointId } = current
      const status = this.read(current, key, hash)
      if (status === OK) {
        checkLife?.()
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
        current = this.requests.refreshed(current)
      } else if (request.consistency.level !== 'checkpoint') {
        checkLife?.()
        const row = this.rowOf(current, key, answer)
        return row === undefined ? undefined : { ...row, asOfMs, checkpointId }
      } else if (++asks === CHECKPOINT_ASKS && answer.kind === 'missing') return undefined
    }
  }

  /** Waits for the bound; what it returns throws RESTORING when the slot has gone back since. */
  private async reachOwner(
    request: VectorRequest,
    key: Uint8Array,
    hash: number,
  ): Promise<(() => void) | undefined> {
    const { level } = request.consistency
    if (level === 'live' || level === 'checkpoint') return undefined
    const slot = request.state.sideOf(key, 0, key.length)?.slotOf(hash) ?? -1
    if (slot < 0) return undefined
    const life = await this.requests.reach(slot, request)
    return () => this.requests.requireLife(slot, life)
  }

  /** As of when a row that is read now is; a mean is of all slots. */
  private asOfMs(request: VectorRequest, key: Uint8Array, hash: number): number {
    const side = request.state.sideOf(key, 0, key.length)
    if (side === undefined) return 0
    if (!side.isMeanKey(key, 0, key.length)) {
      return this.requests.asOfMs(request, side.slotOf(hash))
    }
    return Math.min(...Array.from(side.slots, (slot) => this.requests.asOfMs(request, slot)))
  }

  private read(request: VectorRequest, key: Uint8Array, hash: number): number {
    const { state, version, checkpointId, consistency } = request
    this.requests.agesInto(request, this.ages)
    const live = consistency.level !== 'checkpoint'
    const restoring = this.requests.isRestoring()
    this.group.prepare(state, version, checkpointId, live, this.ages, restoring)
    return this.group.fill(key, 0, key.length, hash, undefined, this.buffer)
  }

  /** The slot's answer when the row was spilled; undefined when it is only being written. */
  private async ask(
    request: VectorRequest,
    key: Uint8Array,
    hash: number,
  ): Promise<SlotQueryAnswer | undefined> {
    const side = request.state.sideOf(key, 0, key.length)
    const reader = side?.versions.get(request.version)?.readerOf(hash)
    if (side === undefined || reader === undefined) return undefined
    if (reader.locate(key, 0, key.length, hash) !== SPILLED) return undefined
    const { slot } = reader.share
    const bring = request.consistency.level === 'checkpoint'
    const asked = this.asker.rows({ slot, side, version: request.version, bring }, [key])
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
    const side = request.state.sideOf(key, 0, key.length)!
    const { vector, partition, offset } = decodeVectorRow(answer.value, side.dimension)
    return { vector, partition, offset, slot: side.slotOf(murmur3(key) | 0), cold: false }
  }
}

function copyOf({ vector, partition, offset, slot }: RowBuffer): ReadRow {
  return { vector: vector.slice(), partition, offset, slot, cold: false }
}

/** Throws DIMENSION_MISMATCH unless both have one length. */
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
