import type { ByteSpan } from '../core/byte-span.ts'
import { isWeirError } from '../core/errors.ts'
import { modelVersion } from '../core/identity.ts'
import type { Counter } from '../core/metrics.ts'
import type { ModelRow } from '../models/model-row.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../operators/process-function.ts'
import { type VectorStateDescriptor, vectorState } from '../state/descriptors.ts'
import type { VectorState } from '../state/handles.ts'

/** Name under which clients query ALS rows, as the ancestor named it. */
export const ALS_MODEL = 'ALS_MODEL'

const LETTER_U = 0x55

/** Rows of users, keys `<id>-U`; their mean answers for `MEAN-U`. */
export function userRows(dimension: number): VectorStateDescriptor {
  return vectorState('user-rows', {
    dimension,
    queryableName: ALS_MODEL,
    keySuffix: '-U',
    meanKey: 'MEAN-U',
  })
}

/** Rows of items, keys `<id>-I`; their mean answers for `MEAN-I`. */
export function itemRows(dimension: number): VectorStateDescriptor {
  return vectorState('item-rows', {
    dimension,
    queryableName: ALS_MODEL,
    keySuffix: '-I',
    meanKey: 'MEAN-I',
  })
}

/**
 * Keeps the rows of an ALS model as keyed state, by version. Users and items lie in tables of their
 * own, so that a top-k scan over items touches nothing else.
 */
export class AlsServingFunction implements KeyedProcessFunction<ByteSpan, ModelRow, never> {
  private readonly dimension: number
  private users!: VectorState
  private items!: VectorState
  private refused!: Counter

  constructor(dimension: number) {
    this.dimension = dimension
  }

  open(context: KeyedFunctionContext): void {
    this.users = context.getVectorState(userRows(this.dimension))
    this.items = context.getVectorState(itemRows(this.dimension))
    this.refused = context.metrics.counter('numRecordsDropped')
  }

  processElement(row: ModelRow, context: KeyedProcessContext<ByteSpan>): void {
    if (row.retires === true) {
      for (const rows of [this.users, this.items]) rows.dropVersion(modelVersion(row.version))
      return
    }
    const key = context.currentKeyBytes
    const rows = key[key.length - 1] === LETTER_U ? this.users : this.items
    const version = modelVersion(row.version)
    if (row.floats === undefined) {
      rows.remove(version, key)
      return
    }
    const { partition, offset } = context.position
    try {
      rows.putBytes(version, key, row.floats, { partition, offset, eventTime: context.timestamp })
    } catch (error) {
      // A row with NaN must neither be served nor stop the job for ever: it is counted.
      if (!isWeirError(error, 'NOT_FINITE')) throw error
      this.refused.increment()
    }
  }
}
