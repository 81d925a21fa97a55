import { WeirError } from '../../core/errors.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import { innerProduct } from '../../kernels/inner-product.ts'
import type { KeyClass } from '../../state/catalog/key-class.ts'
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
} from '../../wire/model-reader.ts'
import { LocalSlotAsker, type SlotQueryClient } from '../catalog/slot-asker.ts'
import type { DeferredPredictions, ReadGroup, ScanRange } from '../port/query-backend.ts'
import { RankedKeys } from '../port/ranked-keys.ts'
import type { OwnedQueryOptions } from '../port/request-owner.ts'
import type { ScanPage } from '../port/scan-page.ts'
import { LocalTopK } from '../top-k/top-k.ts'
import { blockProducts, blocksOf } from './block-products.ts'
import { deferredKey, LocalDeferredPredictions } from './deferred-predictions.ts'
import { answered } from './failures.ts'
import { LocalReadGroup } from './read-group.ts'
import { type LocalContext, LocalRequests, type VectorRequest } from './request.ts'
import { type LoadedRow, LocalRowLoader, requireSameLength } from './row-loader.ts'
import { LocalScans, requireNotCheckpoint, slotsOf } from './scans.ts'
import { LocalTypedReads, type ValuesOptions } from './typed-reads.ts'

const MAX_K = 1000

const encoder = new TextEncoder()

/** Options of an in-place reader. */
export interface LocalModelReaderOptions extends LocalContext {
  /** The way to the slots. */
  readonly slots: SlotQueryClient
}

/**
 * Reads queryable state of this process: row tables in place through shared memory, typed state and
 * spilled rows through the slots. The live version is read once for each request, so a request never
 * mixes versions. `open` gives the synchronous way, which answers from memory only.
 */
export class LocalModelReader implements ModelReader {
  private readonly options: LocalModelReaderOptions
  private readonly requests: LocalRequests
  private readonly asker: LocalSlotAsker
  private readonly loader: LocalRowLoader
  private readonly deferred: LocalDeferredPredictions
  private readonly tops: LocalTopK
  private readonly typed: LocalTypedReads
  private readonly scans: LocalScans
  private readonly group = new LocalReadGroup()
  private readonly ages: number[] = []

  constructor(options: LocalModelReaderOptions) {
    this.options = options
    this.requests = new LocalRequests(options)
    this.asker = new LocalSlotAsker(options.slots, options.clock)
    this.loader = new LocalRowLoader(this.requests, this.asker)
    this.deferred = new LocalDeferredPredictions(this.requests, this.asker)
    this.tops = new LocalTopK(this.asker, options.clock)
    this.typed = new LocalTypedReads(options.catalog, this.requests, this.asker)
    this.scans = new LocalScans(options.catalog, this.requests, this.asker)
  }

  /**
   * Begins synchronous reads at a version (0: the live one); valid until the next `open`. Undefined
   * when the state is typed or a bound is not reached yet: the asynchronous calls wait for the bound.
   * Throws UNKNOWN_STATE, UNKNOWN_VERSION, RESTORING, NOT_UP_TO_BOUND (no checkpoint yet).
   */
  open(name: string, version: number, consistency: Consistency): ReadGroup | undefined {
    const { catalog } = this.options
    this.tops.shareThread()
    if (catalog.state(name) === undefined && catalog.typedState(name).length > 0) return undefined
    const request = this.requests.vector(name, {
      consistency,
      ...(version === 0 ? {} : { version }),
    })
    if (!this.requests.hasReachedAll(request)) return undefined
    this.requests.agesInto(request, this.ages)
    this.group.prepare(request, this.ages, this.requests.isRestoring())
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
    options?: ValuesOptions,
  ): Promise<Answer<Uint8Array>[]> {
    this.tops.shareThread()
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
    return answered(async () =>
      this.predictAt(this.requests.vector(name, options), left, right, options),
    )
  }

  private async predictAt(
    request: VectorRequest,
    left: string,
    right: string,
    { coldLeft, coldRight }: PredictOptions,
  ): Promise<Answer<Prediction>> {
    const [a, b] = await Promise.all([
      this.loader.load(request, encoder.encode(left), bytesOrNone(coldLeft)),
      this.loader.load(request, encoder.encode(right), bytesOrNone(coldRight)),
    ])
    requireSameLength(a.vector, b.vector)
    const score = innerProduct(a.vector, 0, b.vector, 0, a.vector.length)
    const value = { score, leftCold: a.cold, rightCold: b.cold }
    return { ok: true, value, envelope: this.requests.envelope(request, a) }
  }

  /** Answers to the deferred predictions of one frame, in order. Spilled rows are asked for together. */
  async predictDeferred(
    name: string,
    deferred: DeferredPredictions,
    options: PredictOptions,
  ): Promise<Answer<Prediction>[]> {
    const request = this.requests.vector(name, options)
    const single = async (pair: number): Promise<Answer<Prediction>> => {
      const left = deferredKey(deferred, 2 * pair)
      const right = deferredKey(deferred, 2 * pair + 1)
      return answered(() => this.predictAt(request, left, right, options))
    }
    if (request.consistency.level === 'checkpoint') {
      return Promise.all(Array.from({ length: deferred.spans.length / 4 }, (_, i) => single(i)))
    }
    return this.deferred.predict(request, deferred, single)
  }

  sparseDot(
    name: string,
    features: SparseVector,
    options?: QueryOptions,
  ): Promise<Answer<SparseProduct>> {
    return answered(async () => {
      requireFinite(features.values, 'a value of the sparse vector')
      const request = this.requests.vector(name, options)
      const { dimension } = request.state.keyClasses[0]!
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

  async topK(
    name: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<ScoredKey[]>> {
    const answer = await this.topKRanked(name, query, options)
    return answer.ok ? { ...answer, value: answer.value.toList() } : answer
  }

  /** `topK` without objects. */
  topKRanked(
    name: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<RankedKeys>> {
    return answered(async () => {
      const { k, suffix = '', exclude = [], cold, normColumns } = options
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
        exclude: new Set(exclude.map((key) => latin1Of(Buffer.from(key)))),
        ...(normColumns === undefined ? {} : { normColumns }),
      }
      requireColumns(normColumns, row.vector.length)
      const keyClasses = request.state.keyClasses.filter((keyClass) =>
        canHold(keyClass, wanted.suffix),
      )
      const slots = slotsOf(keyClasses)
      const requireSame = await this.requests.reachAll(slots, request)
      for (const keyClass of keyClasses) this.requireReady(request, keyClass, row.vector)
      const versions = keyClasses.flatMap(
        (keyClass) => keyClass.versions.get(request.version) ?? [],
      )
      const found = await this.requests.within(
        request,
        Promise.all(versions.map((version) => this.tops.search(version, wanted, request))),
      )
      // The live level forbids nothing: rows of a slot that is being restored are answered, too.
      if (request.consistency.level !== 'live') requireSame()
      const envelope = this.requests.envelope(request, row)
      return { ok: true, value: RankedKeys.best(found, k), envelope }
    })
  }

  /** Origin and vector of an answer for which no row was read. */
  private noRow(request: VectorRequest): LoadedRow {
    const { checkpointId } = request
    const asOfMs = this.requests.oldestAsOfMs(request, slotsOf(request.state.keyClasses))
    const nowhere = { partition: -1, offset: 0, slot: 0 }
    return { ...nowhere, vector: new Float32Array(0), asOfMs, checkpointId, cold: false }
  }

  private requireReady(request: VectorRequest, keyClass: KeyClass, vector: Float32Array): void {
    requireSameLength(vector, { length: keyClass.dimension })
    const readers = keyClass.versions.get(request.version)?.readers ?? []
    for (const slot of keyClass.slots) {
      if (readers.some((reader) => reader.share.slot === slot)) continue
      if (!this.requests.hasTables(slot)) throw restoring(slot)
    }
    for (const reader of readers) {
      if (!reader.restoring) continue
      throw restoring(reader.share.slot)
    }
  }

  /** Entries in the order of their keys. Throws UNKNOWN_STATE, UNSUPPORTED, NOT_UP_TO_BOUND. */
  async scan(name: string, range: ScanRange, options?: QueryOptions): Promise<ScanEntry[]> {
    const found: ScanEntry[] = []
    let from: string | undefined = range.from
    while (from !== undefined && found.length < range.limit) {
      const rest = { from, to: range.to, limit: range.limit - found.length }
      const page: ScanPage = await this.scanPage(name, rest, options)
      found.push(...page.toEntries())
      from = page.resumeText
    }
    return found
  }

  /** As many entries of a range as one answer may hold. Throws as `scan`. */
  scanPage(name: string, range: ScanRange, options?: OwnedQueryOptions): Promise<ScanPage> {
    return this.scans.page(name, range, options)
  }
}

function bytesOrNone(key: string | undefined): Uint8Array | undefined {
  return key === undefined ? undefined : encoder.encode(key)
}

function restoring(slot: number): WeirError {
  return new WeirError('RESTORING', `slot ${slot} is still starting or restoring; ask again later`)
}

function requireFinite(floats: Float32Array, what: string): void {
  const at = floats.findIndex((float) => !Number.isFinite(float))
  if (at < 0) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${what} is ${floats[at]} (number ${at}); send finite floats`,
  )
}

function requireK(k: number): void {
  if (Number.isInteger(k) && k >= 1 && k <= MAX_K) return
  throw new WeirError('INVALID_ARGUMENT', `k is a whole number from 1 to ${MAX_K}, not ${k}`)
}

function requireColumns(columns: number | undefined, dimension: number): void {
  if (columns === undefined) return
  if (Number.isInteger(columns) && columns >= 1 && columns <= dimension) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `normColumns is a whole number from 1 to ${dimension}, the floats of a row, not ${columns}`,
  )
}

/** Whether keys of the class can end in the suffix. */
function canHold(keyClass: KeyClass, suffix: Uint8Array): boolean {
  const [longer, shorter] =
    keyClass.suffix.length > suffix.length ? [keyClass.suffix, suffix] : [suffix, keyClass.suffix]
  return shorter.every((byte, i) => longer[longer.length - shorter.length + i] === byte)
}
