import { count, name, objectWith, required } from '../../core/options/kinds.ts'
import { checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { StateCatalog } from '../../state/catalog/state-catalog.ts'
import type { RowTableReader } from '../../state/rows/reader.ts'
import { WriterWait } from '../../state/rows/writer-wait.ts'
import { OK, statusOf } from '../../wire/status.ts'
import { type ReadStatus, type SparseFeatures, SparseOutcome } from '../port/query-backend.ts'
import { LocalSparseDot, type SparseTerms } from './dot.ts'
import type { WeightTables } from './weight-blocks.ts'

/** Where the weights of a linear model are. */
export interface SlotWeightsOptions {
  /** Row tables of all slots of the job (`OperatorContext.rowTables`). */
  readonly rowTables: StateCatalog
  /** Uid of the operator that owns the weights, and the name of its vector state. */
  readonly uid: string
  readonly state: string
  /** Features of one block. */
  readonly range: number
}

const SLOT_WEIGHTS: OptionShape<SlotWeightsOptions> = {
  rowTables: required(objectWith('the row tables of a job', 'version')),
  uid: required(name),
  state: required(name),
  range: required(count),
}

const UNKNOWN_KEY = statusOf('UNKNOWN_KEY')

/** Takes blocks that are not in memory as zeros, and notes that there were some. */
class ReachableTerms implements SparseTerms {
  isOutOfReach = false
  /** Whether one of them was in the middle of a write. */
  isStuck = false

  open(): void {
    this.isOutOfReach = false
    this.isStuck = false
  }

  statusOfMissing(): ReadStatus {
    return UNKNOWN_KEY
  }

  statusOfSpilled(isStuck: boolean): ReadStatus {
    this.isOutOfReach = true
    if (isStuck) this.isStuck = true
    return UNKNOWN_KEY
  }

  ageOf(): number {
    return 0
  }
}

/** The tables of one version's weights in all slots, as they were when the version was looked up. */
class SlotTables implements WeightTables {
  readonly readers: readonly RowTableReader[]
  readonly readerOf: (hash: number) => RowTableReader | undefined

  constructor(
    readers: readonly RowTableReader[],
    readerOf: (hash: number) => RowTableReader | undefined,
  ) {
    this.readers = readers
    this.readerOf = readerOf
  }
}

/** Reads weights of a linear model in the memory of all slots, for an operator that learns it. */
export class SlotWeights {
  private readonly options: SlotWeightsOptions
  private readonly sparse = new LocalSparseDot()
  private readonly outcome = new SparseOutcome()
  private readonly terms = new ReachableTerms()
  private tables: SlotTables | undefined
  private tablesOf = -1
  private changes = -1

  constructor(options: SlotWeightsOptions) {
    checkOptions('new SlotWeights', SLOT_WEIGHTS, options)
    this.options = options
  }

  /** Whether a block of the last `product` was not in memory. */
  get isOutOfReach(): boolean {
    return this.terms.isOutOfReach
  }

  /**
   * Sum of weight x value of a version over features, whose ids rise. Blocks that are not in memory
   * count as zeros (`isOutOfReach`); a slot in the middle of a write is waited for. The sum is 0 if it is not finite.
   */
  product(version: number, ids: Uint32Array, values: Float32Array): number {
    const { outcome, terms } = this
    const features = { ids, values, count: ids.length }
    const tables = this.tablesNow(version)
    let status = this.sum(tables, features)
    if (terms.isStuck) {
      for (const wait = new WriterWait(); terms.isStuck && wait.sleep(); ) {
        status = this.sum(tables, features)
      }
    }
    if (status !== OK) terms.isOutOfReach = true
    return status === OK && Number.isFinite(outcome.sum) ? outcome.sum : 0
  }

  private sum(tables: SlotTables, features: SparseFeatures): ReadStatus {
    this.terms.open()
    return this.sparse.run(tables, this.options.range, features, this.terms, this.outcome)
  }

  private tablesNow(version: number): SlotTables {
    const { rowTables, uid, state } = this.options
    if (
      this.tables === undefined ||
      this.tablesOf !== version ||
      this.changes !== rowTables.changes
    ) {
      const found = rowTables.version(uid, state, version)
      this.tables = new SlotTables(found?.readers ?? [], (hash) => found?.readerOf(hash))
      this.tablesOf = version
      this.changes = rowTables.changes
    }
    return this.tables
  }
}
