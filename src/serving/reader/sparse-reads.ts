import type { Answer, QueryOptions, SparseProduct, SparseVector } from '../../wire/model-reader.ts'
import { SparseOutcome } from '../port/query-backend.ts'
import { blockProducts, blocksOf, type FeatureBlock } from '../sparse/block-products.ts'
import type { HotWeights } from '../sparse/hot-weights.ts'
import type { HotWeightsOfVersions } from '../sparse/hot-weights-of-versions.ts'
import type { LocalRequests, RowOrigin, VectorRequest } from './request.ts'
import type { LoadedRow, LocalRowLoader } from './row-loader.ts'

const encoder = new TextEncoder()

/** Sparse products that may wait: for a bound, for a slot, for the writer of a block. */
export class LocalSparseReads {
  private readonly requests: LocalRequests
  private readonly loader: LocalRowLoader
  private readonly hotWeights: HotWeightsOfVersions

  constructor(requests: LocalRequests, loader: LocalRowLoader, hotWeights: HotWeightsOfVersions) {
    this.requests = requests
    this.loader = loader
    this.hotWeights = hotWeights
  }

  /** Sum of weight x value over the features. Throws as `LocalRowLoader.load`. */
  async read(
    name: string,
    features: SparseVector,
    options?: QueryOptions,
  ): Promise<Answer<SparseProduct>> {
    const request = this.requests.vector(name, options)
    const none = this.loader.noRow(request)
    const hot = this.hotOf(request)
    const generation = hot?.generation
    const known = new SparseOutcome()
    known.withPosition = true
    const rest = hot === undefined ? features : taken(hot, features, known)
    const blocks = blocksOf(rest.ids, request.state.keyClasses[0]!.dimension)
    const rows = await Promise.all(
      blocks.map(({ key }) => this.loader.loadIfKnown(request, encoder.encode(key))),
    )
    if (hot !== undefined && this.hotOf(request)?.generation === generation) {
      offer(hot, rest, blocks, rows)
    }
    const { sum, unknown } = blockProducts(rest, blocks, (n) => rows[n]?.vector)
    const value = { sum: sum + known.sum, unknown: unknown + known.unknown }
    const origin = newest(rows, { ...none, ...known.position })
    return { ok: true, value, envelope: this.requests.envelope(request, origin) }
  }

  /** The copies of the version, where they are as good as its rows: not for a checkpoint or a bound that is not reached. */
  private hotOf(request: VectorRequest): HotWeights | undefined {
    const { keyClasses } = request.state
    const tables = keyClasses[0]?.versions.get(request.version)
    const isPlain = keyClasses.length === 1 && keyClasses[0]!.suffix.length === 0
    if (tables === undefined || !isPlain || request.consistency.level === 'checkpoint') {
      return undefined
    }
    return this.requests.hasReachedAll(request) ? this.hotWeights.of(tables) : undefined
  }
}

/** Adds what has a copy to the outcome; the other features, in arrays of their own. */
function taken(
  hot: HotWeights,
  { ids, values }: SparseVector,
  outcome: SparseOutcome,
): SparseVector {
  const rest = hot.take({ ids, values, count: ids.length }, outcome)
  return { ids: rest.ids.slice(0, rest.count), values: rest.values.slice(0, rest.count) }
}

function offer(
  hot: HotWeights,
  { ids }: SparseVector,
  blocks: readonly FeatureBlock[],
  rows: readonly (LoadedRow | undefined)[],
): void {
  for (const [n, { from, to }] of blocks.entries()) {
    const row = rows[n]
    if (row === undefined) continue
    for (let k = from; k < to; k++) {
      hot.offer(ids[k]!, row.vector[ids[k]! % row.vector.length]!, row)
    }
  }
}

/** The origin of the latest write. */
function newest(rows: readonly (LoadedRow | undefined)[], known: RowOrigin): RowOrigin {
  let latest = known
  for (const row of rows) {
    if (row !== undefined && (latest.partition < 0 || row.offset >= latest.offset)) latest = row
  }
  return latest
}
