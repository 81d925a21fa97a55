import { WeirError } from '../../core/errors.ts'
import type { KeyClass } from '../../state/catalog/key-class.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import { mergeScanParts, type ScanPart } from '../../state/port/scan-part.ts'
import { vectorFloatBytes } from '../../state/rows/codec.ts'
import type { ScanEntry } from '../../wire/model-reader.ts'
import type { LocalSlotAsker } from '../catalog/slot-asker.ts'
import type { ScanPage, ScanRange } from '../port/query-backend.ts'
import type { OwnedQueryOptions } from '../port/request-owner.ts'
import { failureOf } from './failures.ts'
import type { LocalRequest, LocalRequests, VectorRequest } from './request.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

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
    if (this.catalog.state(name) !== undefined) {
      const request = this.requests.vector(name, options)
      requireNotCheckpoint(request, 'a scan')
      const slots = slotsOf(request.state.keyClasses)
      return this.scanSlots(name, range, { request, slots }, (key, value) => {
        return floatBytes(request, key, value)
      })
    }
    const request = this.requests.typed(options)
    const slots = this.catalog.typedState(name).map((part) => part.slot)
    if (slots.length === 0) {
      throw this.requests.unknownState('state', name)
    }
    return this.scanSlots(name, range, { request, slots }, (_key, value) => value)
  }

  private async scanSlots(
    name: string,
    range: ScanRange,
    { request, slots }: { readonly request: LocalRequest; readonly slots: Iterable<number> },
    valueIn: (key: Uint8Array, value: Uint8Array) => Uint8Array,
  ): Promise<ScanPage> {
    const from = encoder.encode(range.from)
    const to = encoder.encode(range.to)
    const { limit } = range
    const { version } = request
    const parts = await Promise.all(
      Array.from(slots, async (slot): Promise<ScanPart> => {
        const incarnation = await this.requests.reach(slot, request)
        const { answers, resume } = await this.asker.ask(slot, request, (id) => {
          return { kind: 'scan', id, queryableName: name, version, from, to, limit }
        })
        if (request.consistency.level !== 'live') {
          this.requests.requireIncarnation(slot, incarnation)
        }
        if (answers.some(({ kind }) => kind === 'restoring')) throw failureOf('RESTORING', from)
        return { answers: answers.filter(({ kind }) => kind === 'found'), resume }
      }),
    )
    const { answers, resume } = mergeScanParts(parts, limit)
    const entries: ScanEntry[] = []
    for (const answer of answers) {
      if (answer.kind !== 'found') continue
      const { key, value } = answer
      entries.push({ key: decoder.decode(key), value: valueIn(key, value) })
    }
    return {
      entries,
      resume: resume === undefined ? undefined : decoder.decode(resume),
    }
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

/** The floats of a row as a view: a page has thousands of rows. */
function floatBytes({ state }: VectorRequest, key: Uint8Array, row: Uint8Array): Uint8Array {
  const dimension = state.keyClassOf(key, 0, key.length)?.dimension ?? 0
  return vectorFloatBytes(row, dimension)
}
