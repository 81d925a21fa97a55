import { WeirError } from '../../core/errors.ts'
import {
  type PublishableRow,
  type PublishOptions,
  publishModel,
  type VersionMetadata,
} from '../../models/publish/model.ts'
import type { RowFiles } from '../../models/publish/row-files.ts'
import { ALS_MODEL } from '../../models/topic/als-serving-function.ts'

/** Shape of the published version. */
export interface PublishedRows {
  readonly version: number
  readonly dimension: number
  readonly users: number
  readonly items: number
}

/** Options of `publishRows`. */
export interface PublishRowsOptions extends Omit<PublishOptions, 'facts' | 'onProgress'> {
  /** Metadata of the version beyond its rows. */
  readonly facts?: Partial<VersionMetadata>
  /** Called from time to time with the number of bytes and rows read. */
  readonly onProgress?: (bytes: number, rows: number) => void
}

/**
 * Publishes rows of files as a version of an ALS model, without holding all of them in memory. Throws
 * DIMENSION_MISMATCH if a row has another length than the first one; the version then stays incomplete
 * and never goes live.
 */
export async function publishRows(
  files: RowFiles,
  options: PublishRowsOptions,
): Promise<PublishedRows> {
  const counts = { U: 0, I: 0, W: 0 }
  const rows = files
    .rows((bytes) => options.onProgress?.(bytes, counts.U + counts.I))
    [Symbol.asyncIterator]()
  try {
    return await publishCounted(rows, counts, options)
  } finally {
    // Closes the file in which a failure stopped the reading.
    await rows.return?.()
  }
}

async function publishCounted(
  rows: AsyncIterator<PublishableRow>,
  counts: Record<PublishableRow['kind'], number>,
  options: PublishRowsOptions,
): Promise<PublishedRows> {
  const { facts, onProgress: _, ...publish } = options
  const first = await rows.next()
  if (first.done === true) throw new WeirError('EMPTY_DATASET', 'the files have no rows')
  const dimension = first.value.vector.length
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
    // Getters, because the counts are complete only at the end: `ready` reports them, `announce` cannot.
    get users() {
      return counts.U
    },
    get items() {
      return counts.I
    },
    rows: counted,
  }
  const all = { name: ALS_MODEL, biased: false, globalMean: 0, hyperparameters: {}, metrics: {} }
  const version = await publishModel(model, { ...publish, facts: { ...all, ...facts } })
  return { version, dimension, users: counts.U, items: counts.I }
}

function check({ id, kind, vector }: PublishableRow, dimension: number): void {
  if (vector.length === dimension) return
  throw new WeirError(
    'DIMENSION_MISMATCH',
    `the row ${id}-${kind} has ${vector.length} floats, but the first row has ${dimension}`,
  )
}
