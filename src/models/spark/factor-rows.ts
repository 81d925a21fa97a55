import type { FileToRead } from '../../connectors/file/list.ts'
import type { AlsRowKind } from '../als/row-key.ts'
import type { PublishableRow } from '../publish/model.ts'
import type { RowFiles } from '../publish/row-files.ts'
import { malformed, sparkFiles } from './model-folder.ts'
import { parquetValues } from './parquet-values.ts'

const SIDES = [
  { kind: 'U', folder: 'userFactors' },
  { kind: 'I', folder: 'itemFactors' },
] as const

/**
 * The rows of an ALSModel of Spark in a folder, `userFactors` and `itemFactors` with the columns `id` and `features`, read a
 * row group at a time. With `hasCounts`, a column `ratings` says on how many ratings a row was trained. Throws
 * FILE_NOT_FOUND and MALFORMED_DATA, with the file.
 */
export async function sparkRowFiles(
  place: string,
  { hasCounts = false }: { readonly hasCounts?: boolean } = {},
): Promise<RowFiles> {
  const sides = await Promise.all(
    SIDES.map(async ({ kind, folder }) => ({ kind, files: await sparkFiles(place, folder) })),
  )
  const bytes = sides.flatMap(({ files }) => files).reduce((sum, file) => sum + file.bytes, 0)
  return {
    bytes,
    async *rows(onBytes) {
      let done = 0
      for (const { kind, files } of sides) {
        for (const file of files) {
          yield* rowsOf(file, kind, hasCounts)
          done += file.bytes
          onBytes(done)
        }
      }
    },
  }
}

async function* rowsOf(
  { place }: FileToRead,
  kind: AlsRowKind,
  hasCounts: boolean,
): AsyncGenerator<PublishableRow> {
  const columns = hasCounts ? ['id', 'features', 'ratings'] : ['id', 'features']
  for await (const { id: ids = [], features = [], ratings = [] } of parquetValues(place, columns)) {
    for (let row = 0; row < ids.length; row++) {
      const id = ids[row]
      const vector = vectorOf(features[row])
      if ((typeof id !== 'string' && typeof id !== 'number') || vector === undefined) {
        throw malformed(place, `its row ${row + 1} has no id with a list of numbers`)
      }
      const own = { id: String(id), kind, vector }
      yield hasCounts ? { ...own, ratings: Number(ratings[row]) } : own
    }
  }
}

/** The numbers of a list; undefined for anything else. */
function vectorOf(value: unknown): Float32Array | undefined {
  if (value instanceof Float32Array || value instanceof Float64Array)
    return Float32Array.from(value)
  if (!Array.isArray(value)) return undefined
  const numbers: readonly unknown[] = value
  return numbers.every((each) => typeof each === 'number') ? Float32Array.from(numbers) : undefined
}
