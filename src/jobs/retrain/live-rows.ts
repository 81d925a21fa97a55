import type { ModelFileRow } from '../../models/files/model-file.ts'
import { writeModelFile } from '../../models/publish/file-io.ts'
import type { ModelReader } from '../../wire/model-reader.ts'

/** Largest number of rows of a page. */
const PAGE = 20_000

/** Greater than any key. */
const END = '\u{10ffff}'

/**
 * Writes the current rows of a served version into a model file; returns their number. A row that
 * changes meanwhile has its old or its new value.
 */
export async function writeLiveRows(
  reader: ModelReader,
  state: string,
  {
    version,
    dimension,
    file,
  }: { readonly version: number; readonly dimension: number; readonly file: string },
): Promise<number> {
  const rows: ModelFileRow[] = []
  for await (const page of pagesOf(reader, state, version)) rows.push(...page)
  await writeModelFile(file, { dimension, rows: rows.length }, rows)
  return rows.length
}

/** The rows of a version in pages, in key order. */
async function* pagesOf(
  reader: ModelReader,
  state: string,
  version: number,
): AsyncGenerator<readonly ModelFileRow[]> {
  let from = ''
  for (;;) {
    const entries = await reader.scan(state, { from, to: END, limit: PAGE }, { version })
    yield entries.map(({ key, value }) => ({ key, vector: floatsOf(value) }))
    const last = entries.at(-1)
    if (last === undefined || entries.length < PAGE) return
    from = `${last.key}\0`
  }
}

function floatsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(Uint8Array.from(bytes).buffer)
}
