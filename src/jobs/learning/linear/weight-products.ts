import { WEIGHTS_STATE } from '../../../models/topic/linear-serving-function.ts'
import type { OperatorContext } from '../../../operators/port/operator.ts'
import {
  blockProducts,
  blocksOf,
  type FeatureBlock,
} from '../../../serving/sparse/block-products.ts'
import { SlotRowReader } from '../../../state/catalog/slot-row-reader.ts'
import { FROZEN_WEIGHTS_STATE } from './learned-weights.ts'

/** Where the weights of a linear model are. */
export interface WeightProductsOptions {
  readonly context: Pick<OperatorContext, 'rowTables' | 'storedRows'>
  /** Uid of the operator that owns the weights. */
  readonly uid: string
  /** Features of one block. */
  readonly range: number
}

const encoder = new TextEncoder()

/**
 * Products with the weights of a linear model in the memory of all slots, which are asked for blocks that are in their stores:
 * with the weights as they are, and as they were published.
 */
export class WeightProducts {
  private readonly options: WeightProductsOptions
  private readonly now: SlotRowReader
  private readonly frozen: SlotRowReader

  constructor(options: WeightProductsOptions) {
    const { context, uid } = options
    this.options = options
    this.now = new SlotRowReader(context.rowTables, uid, WEIGHTS_STATE)
    this.frozen = new SlotRowReader(context.rowTables, uid, FROZEN_WEIGHTS_STATE)
  }

  /**
   * Sum of weight x value of a version over features, whose ids rise; 0 if it is not finite. Only within
   * `OperatorContext.suspend`. Throws STORE_FAILED.
   */
  async asked(version: number, ids: Uint32Array, values: Float32Array): Promise<number> {
    const blocks = blocksOf(ids, this.options.range)
    const rows = await Promise.all(blocks.map(({ key }) => this.block(this.now, version, key)))
    return sumOf({ ids, values }, blocks, rows)
  }

  /** As `asked`, with the weights as they were published. */
  async publishedAsked(version: number, ids: Uint32Array, values: Float32Array): Promise<number> {
    const blocks = blocksOf(ids, this.options.range)
    const rows = await Promise.all(
      blocks.map(async ({ key }) => {
        // A block that is copied after it is read has not been learned in between.
        const now = await this.block(this.now, version, key)
        return (await this.block(this.frozen, version, key)) ?? now
      }),
    )
    return sumOf({ ids, values }, blocks, rows)
  }

  /** As `publishedAsked`, from memory alone; undefined where a block is in a store. */
  published(version: number, ids: Uint32Array, values: Float32Array): number | undefined {
    const blocks = blocksOf(ids, this.options.range)
    const rows: (Float32Array | undefined)[] = []
    for (const { key } of blocks) {
      const bytes = encoder.encode(key)
      const now = this.read(this.now, version, bytes)
      const row = this.read(this.frozen, version, bytes) ?? now
      if (row === 'out-of-reach') return undefined
      rows.push(row)
    }
    return sumOf({ ids, values }, blocks, rows)
  }

  private async block(
    reader: SlotRowReader,
    version: number,
    key: string,
  ): Promise<Float32Array | undefined> {
    const { context, uid, range: dimension } = this.options
    const bytes = encoder.encode(key)
    const found = this.read(reader, version, bytes)
    if (found !== 'out-of-reach') return found
    const state = reader === this.now ? WEIGHTS_STATE : FROZEN_WEIGHTS_STATE
    const place = { slot: reader.owner, operatorUid: uid, state, version, dimension }
    const [row] = await context.storedRows({ ...place, keys: [bytes] })
    return row?.vector
  }

  private read(
    reader: SlotRowReader,
    version: number,
    key: Uint8Array,
  ): Float32Array | 'out-of-reach' | undefined {
    const weights = new Float32Array(this.options.range)
    const found = reader.read(version, key, 0, key.length, weights)
    if (found === 'found') return weights
    return found === 'missing' ? undefined : found
  }
}

function sumOf(
  features: { readonly ids: Uint32Array; readonly values: Float32Array },
  blocks: readonly FeatureBlock[],
  rows: readonly (Float32Array | undefined)[],
): number {
  const { sum } = blockProducts(features, blocks, (n) => rows[n])
  return Number.isFinite(sum) ? sum : 0
}
