import { WeirError } from '../../core/errors.ts'
import type { KeyClass } from '../../state/catalog/key-class.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import {
  checkVectorRowAt,
  VECTOR_ROW_HEADER_BYTES,
  vectorRowBytes,
} from '../../state/rows/codec.ts'
import { askedKey, requireOrder } from '../../wire/state/formatted-key.ts'
import type { LocalSlotAsker } from '../catalog/slot-asker.ts'
import type { ScanRange } from '../port/query-backend.ts'
import type { ReplyLease } from '../port/reply-lease.ts'
import type { OwnedQueryOptions } from '../port/request-owner.ts'
import type { EntryPlace, ScanPage } from '../port/scan-page.ts'
import type { LocalRequest, LocalRequests, VectorRequest } from './request.ts'
import { type AddEntry, mergeScanParts, ScanPart } from './scan-merge.ts'

/** How a range is scanned. */
interface ScanTerms {
  readonly request: LocalRequest
  readonly slots: Iterable<number>
  readonly lease: ReplyLease | undefined
  /** Of the keys of typed state. */
  readonly keyFormat?: string | undefined
}

/** Scans a range of keys: every slot of the state is asked, and the answers are merged. */
export class LocalScans {
  private readonly catalog: StateCatalog
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker

  constructor(catalog: StateCatalog, requests: LocalRequests, asker: LocalSlotAsker) {
    this.catalog = catalog
    this.requests = requests
    this.asker = asker
  }

  /**
   * Entries from the range's first key on, in the order of their keys, as many as the slots answer at a
   * time. Throws UNKNOWN_STATE, UNSUPPORTED, NOT_UP_TO_BOUND.
   */
  async page(name: string, range: ScanRange, options: OwnedQueryOptions = {}): Promise<ScanPage> {
    const { lease } = options
    if (this.catalog.state(name) !== undefined) {
      const request = this.requests.vector(name, options)
      requireNotCheckpoint(request, 'a scan')
      this.requests.requireAllRows(request, request.state.keyClasses)
      const slots = slotsOf(request.state.keyClasses)
      return this.scanSlots(name, range, { request, slots, lease }, (page, entry) => {
        addFloats(request, page, entry)
      })
    }
    const request = this.requests.typed(options)
    const parts = this.catalog.typedState(name)
    const slots = parts.map((part) => part.slot)
    if (slots.length === 0) {
      throw this.requests.errors.unknownState('state', name)
    }
    const { keyFormat } = parts[0]!
    requireOrder(name, range.to, keyFormat)
    const terms = { request, slots, lease, keyFormat }
    return this.scanSlots(name, range, terms, (page, entry) => page.add(entry))
  }

  private async scanSlots(
    name: string,
    range: ScanRange,
    { request, slots, lease, keyFormat }: ScanTerms,
    add: AddEntry,
  ): Promise<ScanPage> {
    const from = askedKey(range.from, keyFormat)
    const to = askedKey(range.to, keyFormat)
    const { limit } = range
    const { version } = request
    const parts = await Promise.all(
      Array.from(slots, async (slot) => {
        const incarnation = await this.requests.reach(slot, request)
        const reply = await this.asker.ask(slot, request, (id) => {
          return { kind: 'scan', id, queryableName: name, version, from, to, limit }
        })
        lease?.hold(() => this.asker.giveBack(slot, reply.packed))
        if (request.consistency.level !== 'live') {
          this.requests.requireIncarnation(slot, incarnation)
        }
        return new ScanPart(reply, from)
      }),
    )
    return mergeScanParts(parts, limit, add, keyFormat)
  }
}

/** Slots that own keys of the classes here. */
export function slotsOf(keyClasses: readonly KeyClass[]): Set<number> {
  const slots = new Set<number>()
  for (const keyClass of keyClasses) for (const slot of keyClass.slots) slots.add(slot)
  return slots
}

/** Throws UNSUPPORTED when the request is for rows of the last checkpoint. */
export function requireNotCheckpoint(request: LocalRequest, what: string): void {
  if (request.consistency.level !== 'checkpoint') return
  throw new WeirError('UNSUPPORTED', `${what} reads live rows; use another consistency level`)
}

/** Adds the floats of a row. Throws as `checkVectorRow`. */
function addFloats({ state, version }: VectorRequest, page: ScanPage, entry: EntryPlace): void {
  const { bytes, keyAt, valueAt, end } = entry
  const dimension = state.keyClassOf(bytes, keyAt, valueAt - keyAt)?.dimensionOf(version) ?? 0
  checkVectorRowAt(bytes, valueAt, end - valueAt, dimension)
  page.add(entry, valueAt + VECTOR_ROW_HEADER_BYTES, valueAt + vectorRowBytes(dimension))
}
