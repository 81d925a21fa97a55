import type { ByteSpan } from '../../core/byte-span.ts'
import { isWeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import { modelVersion } from '../../core/model-version.ts'
import type {
  KeyedFunctionContext,
  KeyedProcessContext,
  KeyedProcessFunction,
} from '../../operators/process/function.ts'
import { type VectorStateDescriptor, vectorState } from '../../state/port/descriptors.ts'
import type { VectorState } from '../../state/port/handles.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import { KEY_SUFFIXES, kindOfKeyBytes, MEAN_KEYS } from '../als/row-key.ts'
import type { RowUpdate } from '../als/row-update.ts'
import { VarianceRows } from './variance-rows.ts'

/** Name under which clients query ALS rows, as the ancestor named it. */
export const ALS_MODEL = 'ALS_MODEL'

/** Rows of users, keys `<id>-U` of at most `maxKeyBytes`; their mean has the key `MEAN-U`. */
export function userRows(
  dimension: number,
  maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES,
): VectorStateDescriptor {
  return rowsOf('U', 'user-rows', { dimension, maxKeyBytes })
}

/** Rows of items, keys `<id>-I` of at most `maxKeyBytes`; their mean has the key `MEAN-I`. */
export function itemRows(
  dimension: number,
  maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES,
): VectorStateDescriptor {
  return rowsOf('I', 'item-rows', { dimension, maxKeyBytes })
}

function rowsOf(
  kind: 'U' | 'I',
  name: string,
  lengths: Pick<VectorStateDescriptor, 'dimension' | 'maxKeyBytes'>,
): VectorStateDescriptor {
  return vectorState(name, {
    ...lengths,
    queryableName: ALS_MODEL,
    keySuffix: KEY_SUFFIXES[kind],
    meanKey: MEAN_KEYS[kind],
  })
}

/**
 * Keeps the rows of an ALS model as keyed state, by version, and their rows of variances (`VarianceRows`). Users and items have separate tables, so that a
 * top-k scan reads only items.
 */
export class AlsServingFunction implements KeyedProcessFunction<ByteSpan, RowUpdate, never> {
  private readonly dimension: number
  private readonly maxKeyBytes: number | undefined
  private users!: VectorState
  private items!: VectorState
  private variances!: VarianceRows
  private refused!: Counter

  constructor(dimension: number, maxKeyBytes?: number) {
    this.dimension = dimension
    this.maxKeyBytes = maxKeyBytes
  }

  open(context: KeyedFunctionContext): void {
    this.users = context.getVectorState(userRows(this.dimension, this.maxKeyBytes))
    this.items = context.getVectorState(itemRows(this.dimension, this.maxKeyBytes))
    this.variances = new VarianceRows(
      (descriptor) => context.getVectorState(descriptor),
      this.maxKeyBytes,
    )
    this.refused = context.metrics.counter('numRecordsDropped')
  }

  processElement(update: RowUpdate, context: KeyedProcessContext<ByteSpan>): void {
    const version = modelVersion(update.version)
    if (update.kind === 'retire' || update.kind === 'open') {
      if (update.kind === 'retire') this.variances.drop(version)
      for (const rows of [this.users, this.items]) {
        if (update.kind === 'open') rows.openVersion(version)
        else rows.dropVersion(version)
      }
      return
    }
    const key = context.currentKeyBytes
    const rows = kindOfKeyBytes(key) === 'U' ? this.users : this.items
    if (update.kind === 'remove') {
      rows.remove(version, key)
      this.variances.remove(version, key)
      return
    }
    const { source = 0, partition, offset } = context.position
    const origin = { source, partition, offset, eventTime: context.timestamp }
    if (update.kind === 'variance') {
      this.variances.put(version, key, update.floats, origin)
      return
    }
    try {
      rows.putBytes(version, key, update.floats, origin)
    } catch (error) {
      // A row with NaN must neither be served nor stop the job forever: it is counted.
      if (!isWeirError(error, 'NOT_FINITE')) throw error
      this.refused.increment()
    }
  }
}
