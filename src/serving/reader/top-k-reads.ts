import { requireArgument } from '../../core/errors.ts'
import type { KeyClass } from '../../state/catalog/key-class.ts'
import { type Answer, MAX_AMONG, type TopKOptions } from '../../wire/model-reader.ts'
import { requireK } from '../../wire/request.ts'
import { RankedKeys } from '../port/ranked-keys.ts'
import { ExcludedKeys } from '../top-k/excluded-keys.ts'
import { TopKHeap, type TopKQuery } from '../top-k/heap.ts'
import type { LocalTopK } from '../top-k/top-k.ts'
import type { LocalRequests, VectorRequest } from './request.ts'
import { type LoadedRow, type LocalRowLoader, requireSameLength } from './row-loader.ts'
import { requireNotCheckpoint, slotsOf } from './scans.ts'
import type { LocalTagReads } from './tag-reads.ts'

const encoder = new TextEncoder()

/** Top-k queries of one reader: the query's row, every key class that can hold the suffix, the best of all. */
export class LocalTopKReads {
  private readonly requests: LocalRequests
  private readonly loader: LocalRowLoader
  private readonly tops: LocalTopK
  private readonly tags: LocalTagReads

  constructor(
    requests: LocalRequests,
    loader: LocalRowLoader,
    { tops, tags }: { readonly tops: LocalTopK; readonly tags: LocalTagReads },
  ) {
    this.requests = requests
    this.loader = loader
    this.tops = tops
    this.tags = tags
  }

  /**
   * The best keys for a row or a vector. Rejects with INVALID_ARGUMENT, UNKNOWN_STATE, UNKNOWN_KEY, UNKNOWN_TAG,
   * RESTORING, NOT_UP_TO_BOUND, DEADLINE_EXCEEDED.
   */
  async read(
    name: string,
    query: string | Float32Array,
    options: TopKOptions,
  ): Promise<Answer<RankedKeys>> {
    const { k, suffix = '', normColumns, among } = options
    requireK(k)
    requireAmong(among)
    const request = this.requests.vector(name, options)
    requireNotCheckpoint(request, 'top-k')
    const row = await this.queryRow(request, query, options.cold)
    requireColumns(normColumns, row.vector.length)
    const ending = encoder.encode(suffix)
    const keyClasses = request.state.keyClasses.filter((keyClass) => canHold(keyClass, ending))
    const requireSame = await this.requests.reachAll(slotsOf(keyClasses), request)
    for (const keyClass of keyClasses) this.requireReady(request, keyClass, row.vector)
    const wanted = this.queryOf(row.vector, ending, options)
    const found =
      among === undefined
        ? await this.search(request, keyClasses, wanted)
        : [await this.score(request, among, wanted)]
    // The live level forbids nothing: rows of a slot that is being restored are answered, too.
    if (request.consistency.level !== 'live') requireSame()
    const envelope = this.requests.envelope(request, row)
    return { ok: true, value: RankedKeys.best(found, k), envelope }
  }

  private async queryRow(
    request: VectorRequest,
    query: string | Float32Array,
    cold: string | undefined,
  ): Promise<LoadedRow> {
    if (typeof query !== 'string') return { ...this.loader.noRow(request), vector: query }
    const standIn = cold === undefined ? undefined : encoder.encode(cold)
    return await this.loader.load(request, encoder.encode(query), standIn)
  }

  private queryOf(
    vector: Float32Array,
    suffix: Uint8Array,
    { k, exclude = [], normColumns, where = {} }: TopKOptions,
  ): TopKQuery {
    const tags = this.tags.filter(where)
    return {
      vector,
      k,
      suffix,
      exclude: new ExcludedKeys(exclude),
      ...(normColumns === undefined ? {} : { normColumns }),
      ...(tags === undefined ? {} : { tags }),
    }
  }

  private search(
    request: VectorRequest,
    keyClasses: readonly KeyClass[],
    query: TopKQuery,
  ): Promise<RankedKeys[]> {
    const versions = keyClasses.flatMap((keyClass) => keyClass.versions.get(request.version) ?? [])
    return this.requests.within(
      request,
      Promise.all(versions.map((version) => this.tops.search(version, query, request))),
    )
  }

  /** The best of some keys, each read by itself. */
  private async score(
    request: VectorRequest,
    keys: readonly string[],
    query: TopKQuery,
  ): Promise<RankedKeys> {
    const wanted = [...new Set(keys)].map((key) => encoder.encode(key))
    const heap = new TopKHeap(query, Math.max(1, ...wanted.map((key) => key.length)))
    for (const key of wanted) {
      const keyClass = request.state.keyClassOf(key, 0, key.length)
      if (keyClass?.isMeanKey(key, 0, key.length) !== false) continue
      if (!heap.accepts(key, 0, key.length)) continue
      const row = await this.loader.loadIfKnown(request, key)
      if (row !== undefined) heap.offerRow(row.vector, key)
    }
    return heap.takeRanked()
  }

  private requireReady(request: VectorRequest, keyClass: KeyClass, vector: Float32Array): void {
    requireSameLength(vector, { length: keyClass.dimensionOf(request.version) })
    this.requests.requireAllRows(request, [keyClass])
  }
}

function requireColumns(columns: number | undefined, dimension: number): void {
  requireArgument(
    columns === undefined || (Number.isInteger(columns) && columns >= 1 && columns <= dimension),
    `normColumns is a whole number from 1 to ${dimension}, the floats of a row, not ${columns}`,
  )
}

function requireAmong(keys: readonly string[] | undefined): void {
  const count = keys?.length ?? 0
  requireArgument(count <= MAX_AMONG, `a top-k is among at most ${MAX_AMONG} keys, not ${count}`)
}

/** Whether keys of the class can end in the suffix. */
function canHold(keyClass: KeyClass, suffix: Uint8Array): boolean {
  const [longer, shorter] =
    keyClass.suffix.length > suffix.length ? [keyClass.suffix, suffix] : [suffix, keyClass.suffix]
  return shorter.every((byte, i) => longer[longer.length - shorter.length + i] === byte)
}
