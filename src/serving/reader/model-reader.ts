import { WeirError } from '../../core/errors.ts'
import { mergedFeatures } from '../../core/feature.ts'
import { innerProduct } from '../../core/kernels/inner-product.ts'
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
import { SharedThread } from '../catalog/shared-thread.ts'
import { LocalSlotAsker, type SlotQueryClient } from '../catalog/slot-asker.ts'
import type { DeferredPredictions, ReadGroup, ScanRange } from '../port/query-backend.ts'
import type { RankedKeys } from '../port/ranked-keys.ts'
import type { OwnedQueryOptions } from '../port/request-owner.ts'
import type { ScanPage } from '../port/scan-page.ts'
import { HotWeightsOfVersions } from '../sparse/hot-weights-of-versions.ts'
import { LocalTopK } from '../top-k/top-k.ts'
import { deferredKey, LocalDeferredPredictions } from './deferred-predictions.ts'
import { answered } from './failures.ts'
import { LocalReadGroup } from './read-group.ts'
import { type LocalContext, LocalRequests, type VectorRequest } from './request.ts'
import { LocalRowLoader, requireSameLength } from './row-loader.ts'
import { LocalScans } from './scans.ts'
import { LocalSparseReads } from './sparse-reads.ts'
import { LocalTagReads } from './tag-reads.ts'
import { LocalTopKReads } from './top-k-reads.ts'
import { LocalTypedReads, type ValuesOptions } from './typed-reads.ts'

const encoder = new TextEncoder()

/** Options of an in-place reader. */
export interface LocalModelReaderOptions extends LocalContext {
  /** The way to the slots. */
  readonly slots: SlotQueryClient
  /** Weights of a version of a linear model that are copied where its blocks are spilled; 0 for none. @default 65536 */
  readonly hotWeights?: number | undefined
}

/**
 * Reads queryable state of this process: row tables in place through shared memory, typed state and
 * spilled rows through the slots. The live version is read once for each request, so a request never
 * mixes versions. `open` gives the synchronous way, which answers from memory only.
 */
export class LocalModelReader implements ModelReader {
  private readonly options: LocalModelReaderOptions
  private readonly requests: LocalRequests
  private readonly thread: SharedThread
  private readonly asker: LocalSlotAsker
  private readonly loader: LocalRowLoader
  private readonly deferred: LocalDeferredPredictions
  private readonly tops: LocalTopKReads
  private readonly typed: LocalTypedReads
  private readonly scans: LocalScans
  private readonly sparse: LocalSparseReads
  private readonly group: LocalReadGroup
  private readonly ages: number[] = []

  constructor(options: LocalModelReaderOptions) {
    this.options = options
    this.requests = new LocalRequests(options)
    this.thread = new SharedThread(options.clock)
    this.asker = new LocalSlotAsker({
      slots: options.slots,
      clock: options.clock,
      thread: this.thread,
    })
    this.loader = new LocalRowLoader(this.requests, this.asker)
    this.deferred = new LocalDeferredPredictions(this.requests, this.asker)
    this.tops = new LocalTopKReads(this.requests, this.loader, {
      tops: new LocalTopK(this.asker, options.clock, this.thread),
      tags: new LocalTagReads(options.catalog, this.requests),
    })
    this.typed = new LocalTypedReads(options.catalog, this.requests, this.asker)
    this.scans = new LocalScans(options.catalog, this.requests, this.asker)
    const hotWeights = new HotWeightsOfVersions(options.hotWeights)
    this.sparse = new LocalSparseReads(this.requests, this.loader, hotWeights)
    this.group = new LocalReadGroup(hotWeights)
  }

  /**
   * Begins synchronous reads at a version (0: the live one); valid until the next `open`. Undefined
   * when the state is typed or a bound is not reached yet: the asynchronous calls wait for the bound.
   * Throws UNKNOWN_STATE, UNKNOWN_VERSION, RESTORING, NOT_UP_TO_BOUND (no checkpoint yet).
   */
  open(name: string, version: number, consistency: Consistency): ReadGroup | undefined {
    const { catalog } = this.options
    this.thread.served()
    if (catalog.state(name) === undefined && catalog.typedState(name).length > 0) return undefined
    const request = this.requests.vector(name, {
      consistency,
      ...(version === 0 ? {} : { version }),
    })
    if (!this.requests.hasReachedAll(request)) return undefined
    this.requests.agesInto(request, this.ages)
    this.group.prepare(request, this.ages, this.requests.absence(request))
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
    this.thread.served()
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
      return this.sparse.read(name, mergedFeatures(features), options)
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
    return answered(() => this.tops.read(name, query, options))
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

function requireFinite(floats: Float32Array, what: string): void {
  const at = floats.findIndex((float) => !Number.isFinite(float))
  if (at < 0) return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${what} is ${floats[at]} (number ${at}); send finite floats`,
  )
}
