import { WeirError } from '../core/errors.ts'
import { decodeVectorFloats } from '../state/vector-row-codec.ts'
import type {
  Answer,
  Consistency,
  ModelReader,
  Prediction,
  PredictOptions,
  QueryOptions,
  ScanEntry,
  ScoredKey,
  SparseProduct,
  SparseVector,
  TopKOptions,
} from '../wire/model-reader.ts'
import { blockProducts, blocksOf } from './block-products.ts'
import type { LocalSide } from './local-catalog.ts'
import { LocalDeferredPredictions } from './local-deferred-predictions.ts'
import { innerProductOf, LocalReadGroup } from './local-read-group.ts'
import {
  answered,
  type LocalContext,
  type LocalRequest,
  LocalRequests,
  type VectorRequest,
} from './local-request.ts'
import { type LoadedRow, LocalRowLoader, requireSameLength } from './local-row-loader.ts'
import { LocalSlotAsker, type SlotQueryGateway } from './local-slot-asker.ts'
import { LocalTopK } from './local-top-k.ts'
import { LocalTypedReads } from './local-typed-reads.ts'
import { deferredKey } from './query-async-requests.ts'
import type { DeferredPredictions, ReadGroup } from './query-backend.ts'

const MAX_K = 1000

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** What an in-place reader stands on. */
export interface LocalModelReaderOptions extends LocalContext {
  readonly gateway: SlotQueryGateway
}

/**
 * Reads queryable state in place: row tables of this process through shared memory, typed state and
 * spilled rows through the slots. The live version is read once per request, so a request never
 * mixes versions. `open` gives the synchronous way, which answers what lies in memory.
 */
export class LocalModelReader implements ModelReader {
  private readonly options: LocalModelReaderOptions
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker
  private readonly loader: LocalRowLoader
  private readonly deferred: LocalDeferredPredictions
  private readonly tops: LocalTopK
  private readonly typed: LocalTypedReads
  private readonly group = new LocalReadGroup()
  private readonly ages: number[] = []

  constructor(options: LocalModelReaderOptions) {
    this.options = options
    this.requests = new LocalRequests(options)
    this.asker = new LocalSlotAsker(options.gateway)
    this.loader = new LocalRowLoader(this.requests, this.asker)
    this.deferred = new LocalDeferredPredictions(this.requests, this.asker)
    this.tops = new LocalTopK(this.asker, options.clock)
    this.typed = new LocalTypedReads(options.catalog, this.requests, this.asker)
  }

  /**
   * Begins synchronous reads at a version (0: the live one); valid until the next `open`. Undefined
   * when the state is typed or a bound is not reached yet: the asynchronous calls wait for it. Throws
   * UNKNOWN_STATE, UNKNOWN_VERSION, RESTORING, NOT_UP_TO_BOUND (no checkpoint yet).
   */
  open(name: string, version: number, consistency: Consistency): ReadGroup | undefined {
    const { catalog } = this.options
    if (catalog.state(name) === undefined && catalog.typedState(name).length > 0) return undefined
    const request = this.requests.vector(name, {
      consistency,
      ...(version === 0 ? {} : { version }),
    })
    if (consistency.level === 'at-least' || consistency.level === 'bounded') {
      for (const slot of slotsOf(request.state.sides)) {
        if (!this.requests.hasReached(slot, consistency)) return undefined
      }
    }
    this.requests.agesInto(request, this.ages)
    const live = consistency.level !== 'checkpoint'
    const { state, version: wanted, checkpointId } = request
    const restoring = this.requests.isRestoring()
    this.group.prepare(state, wanted, checkpointId, live, this.ages, restoring)
    return this.group
  }

  async rows(
    name: string,
    keys: readonly string[],
    options?: QueryOptions,
  ): Promise<Answer<Float32Array>[]> {
    const request = this.requests.vector(name, options)
    const answers = keys.map((key) =>
      answered(async () => {
        const row = await this.loader.load(request, encoder.encode(key))
        const envelope = this.requests.envelope(request, row)
        return { ok: true, value: row.vector, envelope }
      }),
    )
    return Promise.all(answers)
  }

  values(
    name: string,
    keys: readonly string[],
    options?: QueryOptions,
  ): Promise<Answer<Uint8Array>[]> {
    return this.typed.values(name, keys, options)
  }

  async predict(
    name: string,
    left: string,
    right: string,
    options: PredictOptions = {},
  ): Promise<Prediction> {
    const answer = await this.predictWithEnvelope(name, left, right, options)
    if (answer.ok) return answer.value
    throw answer.error
  }

  predictWithEnvelope(
    name: string,
    left: string,
    right: string,
    options: PredictOptions = {},
  ): Promise<Answer<Prediction>> {
    return answered(async () => {
      const request = this.requests.vector(name, options)
      const [a, b] = await Promise.all([
        this.loader.load(request, encoder.encode(left), bytesOrNone(options.coldLeft)),
        this.loader.load(request, encoder.encode(right), bytesOrNone(options.coldRight)),
      ])
      requireSameLength(a.vector, b.vector)
      const score = innerProductOf(a.vector, b.vector)
      const value = { score, leftCold: a.cold, rightCold: b.cold }
      return { ok: true, value, envelope: this.requests.envelope(request, a) }
    })
  }

  /** Deferred predictions of one frame, in order: spilled rows are asked for together. */
  async predictDeferred(
    name: string,
    deferred: DeferredPredictions,
    options: PredictOptions,
  ): Promise<Answer<Prediction>[]> {
    const single = async (pair: number): Promise<Answer<Prediction>> => {
      const left = deferredKey(deferred, 2 * pair)
      return this.predictWithEnvelope(name, left, deferredKey(deferred, 2 * pair + 1), options)
    }
    if (options.consistency?.level === 'checkpoint') {
      return Promise.all(Array.from({ length: deferred.spans.length / 4 }, (_, i) => single(i)))
    }
    return this.deferred.predict(this.requests.vector(name, options), deferred, single)
  }

  sparseDot(
    name: string,
    features: SparseVector,
    options?: QueryOptions,
  ): Promise<Answer<SparseProduct>> {
    return answered(async () => {
      const request = this.requests.vector(name, options)
      const { dimension } = request.state.sides[0]!
      const none = this.noRow(request)
      const blocks = blocksOf(features.ids, dimension)
      const rows = await Promise.all(
        blocks.map(({ key }) => this.loader.loadIfKnown(request, encoder.encode(key))),
      )
      const value = blockProducts(features, blocks, (n) => rows[n]?.vector)
      const newest = rows.reduce((a, b) => (b !== undefined && b.offset >= a!.offset ? b : a), none)
      const envelope = this.requests.envelope(request, newest!)
      return { ok: true, value, envelope }
    })
  }

  topK(
    name: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<ScoredKey[]>> {
    return answered(async () => {
      const { k, suffix = '', exclude = [], cold } = options
      requireK(k)
      const request = this.requests.vector(name, options)
      requireNotCheckpoint(request, 'top-k')
      const row =
        typeof query === 'string'
          ? await this.loader.load(request, encoder.encode(query), bytesOrNone(cold))
          : { ...this.noRow(request), vector: query }
      const wanted = {
        vector: row.vector,
        k,
        suffix: encoder.encode(suffix),
        exclude: new Set(exclude.map((key) => Buffer.from(key).toString('latin1'))),
      }
      const sides = request.state.sides.filter((side) => canHold(side, wanted.suffix))
      for (const side of sides) await this.requireReady(request, side, row.vector)
      const versions = sides.flatMap((side) => side.versions.get(request.version) ?? [])
      const found = await this.requests.within(
        request,
        Promise.all(versions.map((version) => this.tops.search(version, wanted))),
      )
      const value = found.flat().sort((a, b) => b.score - a.score)
      const envelope = this.requests.envelope(request, row)
      return { ok: true, value: value.slice(0, k), envelope }
    })
  }

  /** What stands for a row where none was read. */
  private noRow(request: VectorRequest): LoadedRow {
    const { checkpointId } = request
    const asOfMs = this.requests.asOfMs(request, 0)
    const nowhere = { partition: -1, offset: 0, slot: 0 }
    return { ...nowhere, vector: new Float32Array(0), asOfMs, checkpointId, cold: false }
  }

  private async requireReady(
    request: VectorRequest,
    side: LocalSide,
    vector: Float32Array,
  ): Promise<void> {
    requireSameLength(vector, { length: side.dimension })
    for (const slot of slotsOf([side])) await this.requests.reach(slot, request)
    const readers = side.versions.get(request.version)?.readers ?? []
    for (const slot of side.slots) {
      if (readers.some((reader) => reader.share.slot === slot)) continue
      if (!this.requests.hasTables(slot)) throw restoring(slot)
    }
    for (const reader of readers) {
      if (!reader.restoring) continue
      throw restoring(reader.share.slot)
    }
  }

  async scan(
    name: string,
    range: { readonly from: string; readonly to: string; readonly limit: number },
    options: QueryOptions = {},
  ): Promise<ScanEntry[]> {
    if (this.options.catalog.state(name) !== undefined) {
      const request = this.requests.vector(name, options)
      requireNotCheckpoint(request, 'a scan')
      const entries = await this.scanSlots(name, range, request, slotsOf(request.state.sides))
      return entries.map(({ key, value }) => ({ key, value: floatBytes(request, key, value) }))
    }
    const request = this.requests.typed(options)
    const slots = this.options.catalog.typedState(name).map((part) => part.slot)
    if (slots.length === 0) {
      throw this.requests.unknown('UNKNOWN_STATE', `no queryable state is named "${name}"`)
    }
    return this.scanSlots(name, range, request, slots)
  }

  private async scanSlots(
    name: string,
    range: { readonly from: string; readonly to: string; readonly limit: number },
    request: LocalRequest,
    slots: Iterable<number>,
  ): Promise<ScanEntry[]> {
    const from = encoder.encode(range.from)
    const to = encoder.encode(range.to)
    const { limit } = range
    const { version } = request
    const replies = await Promise.all(
      Array.from(slots, async (slot) => {
        await this.requests.reach(slot, request)
        const asked = this.asker.ask(slot, (id) => {
          return { kind: 'scan', id, queryableName: name, version, from, to, limit }
        })
        return this.requests.within(request, asked)
      }),
    )
    const found = replies.flat().filter((answer) => answer.kind === 'found')
    found.sort((a, b) => Buffer.compare(a.key, b.key))
    return found.slice(0, limit).map(({ key, value }) => ({ key: decoder.decode(key), value }))
  }
}

function bytesOrNone(key: string | undefined): Uint8Array | undefined {
  return key === undefined ? undefined : encoder.encode(key)
}

function slotsOf(sides: readonly LocalSide[]): Set<number> {
  const slots = new Set<number>()
  for (const side of sides) for (const slot of side.slots) slots.add(slot)
  return slots
}

function restoring(slot: number): WeirError {
  return new WeirError('RESTORING', `slot ${slot} still restores; ask again`)
}

function requireK(k: number): void {
  if (Number.isInteger(k) && k >= 1 && k <= MAX_K) return
  throw new WeirError('INVALID_ARGUMENT', `k is a whole number from 1 to ${MAX_K}, not ${k}`)
}

function requireNotCheckpoint(request: LocalRequest, what: string): void {
  if (request.consistency.level !== 'checkpoint') return
  throw new WeirError('UNSUPPORTED', `${what} reads live rows; use another consistency level`)
}

function floatBytes(request: VectorRequest, key: string, value: Uint8Array): Uint8Array {
  const bytes = encoder.encode(key)
  const dimension = request.state.sideOf(bytes, 0, bytes.length)?.dimension ?? 0
  return new Uint8Array(decodeVectorFloats(value, dimension).buffer)
}

/** Whether keys of the side may end in the suffix. */
function canHold(side: LocalSide, suffix: Uint8Array): boolean {
  const [longer, shorter] =
    side.suffix.length > suffix.length ? [side.suffix, suffix] : [suffix, side.suffix]
  return shorter.every((byte, i) => longer[longer.length - shorter.length + i] === byte)
}
