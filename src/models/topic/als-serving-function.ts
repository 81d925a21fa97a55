import type { ByteSpan } from '../../core/byte-span.ts'
import { isWeirError } from '../../core/errors.ts'
import type { Counter } from '../../core/metrics.ts'
import { type ModelVersion, modelVersion } from '../../core/model-version.ts'
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

/**
 * Opens a version with as many floats as its rows have. One that was published again with rows of another length begins
 * again: what is left of the rows before goes.
 */
function openRows(rows: VectorState, version: ModelVersion, dimension?: number): void {
  const held = rows.dimensionOf(version)
  if (held !== undefined && dimension !== undefined && held !== dimension) rows.dropVersion(version)
  rows.openVersion(version, dimension)
}

/**
 * Whether a row must neither be served nor stop the job forever: it has NaN, or another length than the version's rows
 * that are here. It is counted.
 */
function isBadRow(error: unknown): boolean {
  return isWeirError(error, 'NOT_FINITE') || isWeirError(error, 'DIMENSION_MISMATCH')
}

function rowsOf(
  kind: 'U' | 'I',
  name: string,
  lengths: Pick<VectorStateDescriptor, 'dimension' | 'maxKeyBytes'>,
): VectorStateDescriptor {
  return vectorState(name, {
    ...lengths,
    dimensionByVersion: true,
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
        if (update.kind === 'open') openRows(rows, version, update.dimension)
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
      if (!isBadRow(error)) throw error
      this.refused.increment()
    }
  }
}
