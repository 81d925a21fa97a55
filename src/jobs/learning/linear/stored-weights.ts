import type { OperatorContext } from '../../../operators/port/operator.ts'
import { blockProducts, blocksOf } from '../../../serving/sparse/block-products.ts'
import { SlotRowReader } from '../../../state/catalog/slot-row-reader.ts'

/** Where the weights of a linear model are. */
export interface StoredWeightsOptions {
  readonly context: Pick<OperatorContext, 'rowTables' | 'storedRows'>
  /** Uid of the operator that owns the weights, and the name of its vector state. */
  readonly uid: string
  readonly state: string
  /** Features of one block. */
  readonly range: number
}

const encoder = new TextEncoder()

/** Reads weights of a linear model in the memory of all slots, and asks the slots for blocks that are in their stores. */
export class StoredWeights {
  private readonly options: StoredWeightsOptions
  private readonly reader: SlotRowReader

  constructor(options: StoredWeightsOptions) {
    const { context, uid, state } = options
    this.options = options
    this.reader = new SlotRowReader(context.rowTables, uid, state)
  }

  /**
   * Sum of weight x value of a version over features, whose ids rise; 0 if it is not finite. Only within
   * `OperatorContext.suspend`. Throws STORE_FAILED.
   */
  async product(version: number, ids: Uint32Array, values: Float32Array): Promise<number> {
    const blocks = blocksOf(ids, this.options.range)
    const rows = await Promise.all(blocks.map(({ key }) => this.block(version, key)))
    const { sum } = blockProducts({ ids, values }, blocks, (n) => rows[n])
    return Number.isFinite(sum) ? sum : 0
  }

  private async block(version: number, key: string): Promise<Float32Array | undefined> {
    const { context, uid, state, range } = this.options
    const bytes = encoder.encode(key)
    const weights = new Float32Array(range)
    const found = this.reader.read(version, bytes, 0, bytes.length, weights)
    if (found === 'found') return weights
    if (found === 'missing') return undefined
    const slot = this.reader.owner
    const [row] = await context.storedRows({
      ...{ slot, operatorUid: uid, state, version, dimension: range },
      keys: [bytes],
    })
    return row?.vector
  }
}
