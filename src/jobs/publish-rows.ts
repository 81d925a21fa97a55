import { WeirError } from '../core/errors.ts'
import { ALS_MODEL } from './als-serving-function.ts'
import {
  type PublishableRow,
  type PublishOptions,
  publishModel,
  type VersionFacts,
} from './publish-model.ts'
import type { RowFiles } from './row-files.ts'

/** What was published. */
export interface PublishedRows {
  readonly dimension: number
  readonly users: number
  readonly items: number
}

/** Options of `publishRows`. */
export interface PublishRowsOptions extends Omit<PublishOptions, 'facts' | 'onProgress'> {
  /** Facts of the version that the rows do not tell. */
  readonly facts?: Partial<VersionFacts>
  /** Called with the bytes and rows behind it, now and then. */
  readonly onProgress?: (bytes: number, rows: number) => void
  /** Called with the length of the first row before anything is published. */
  readonly onDimension?: (dimension: number) => Promise<void>
}

/**
 * Publishes rows of files as a version of an ALS model, without holding them all. Throws
 * DIMENSION_MISMATCH where a row is of another length than the first one; the version then stays
 * incomplete and never goes live.
 */
export async function publishRows(
  files: RowFiles,
  options: PublishRowsOptions,
): Promise<PublishedRows> {
  const { facts, onProgress, onDimension, ...publish } = options
  const counts = { U: 0, I: 0, W: 0 }
  const rows = files
    .rows((bytes) => onProgress?.(bytes, counts.U + counts.I))
    [Symbol.asyncIterator]()
  const first = await rows.next()
  if (first.done === true) throw new WeirError('EMPTY_DATASET', 'the files hold no model row')
  const dimension = first.value.vector.length
  await onDimension?.(dimension)
  async function* counted(): AsyncGenerator<PublishableRow> {
    for (let next: IteratorResult<PublishableRow> = first; ; next = await rows.next()) {
      if (next.done === true) return
      check(next.value, dimension)
      counts[next.value.kind] += 1
      yield next.value
    }
  }
  const model = {
    dimension,
    // Counted on the way: `ready` tells them, `announce` cannot.
    get users() {
      return counts.U
    },
    get items() {
      return counts.I
    },
    rows: counted,
  }
  const all = { name: ALS_MODEL, biased: false, globalMean: 0, hyperparameters: {}, metrics: {} }
  await publishModel(model, { ...publish, facts: { ...all, ...facts } })
  return { dimension, users: counts.U, items: counts.I }
}

function check({ id, kind, vector }: PublishableRow, dimension: number): void {
  if (vector.length === dimension) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `the row ${id}-${kind} has ${vector.length} floats where the first row has ${dimension}`,
  )
}
