import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { generateAlsRow } from '../../src/models/als/model-generator.ts'
import type { AlsRowKind } from '../../src/models/als/row-key.ts'
import type { ModelShape } from '../load/model-shape.ts'
import { runPythonRival } from './python.ts'

/** Seed of the served model. */
const SEED = 1
const THREADS = 2
const QUERIES = 320
const ROWS_PER_WRITE = 4096

/** Output of `rivals/faiss_top_k.py`. */
export interface FaissFigures {
  readonly version: string
  /** Median latency of a single query, with the best number of threads. */
  readonly p50Ms: number
  /** Queries a second in batches. */
  readonly perSecond: number
}

/** The user, counted from 0, of question number `index`. */
export function askedUser(index: number, users: number): number {
  return (index * 7919) % users
}

/** Options of `searchFaiss`. */
export interface FaissSearch {
  readonly shape: ModelShape
  /** Number of best items per query. */
  readonly k: number
  /** Queries at once. */
  readonly batch: number
  /** A folder for the rows and the queries. */
  readonly folder: string
  readonly say: (line: string) => void
}

/**
 * Asks faiss for the `k` best items of the generated model, for the same users as Weir, one by one and in
 * batches. Where faiss is missing, says so and returns undefined.
 */
export async function searchFaiss({
  shape,
  k,
  batch,
  folder,
  say,
}: FaissSearch): Promise<FaissFigures | undefined> {
  const { users, items, factors } = shape
  const [rows, queries] = [join(folder, 'items.bin'), join(folder, 'queries.bin')]
  await writeRows(rows, { kind: 'I', count: items, factors, rowAt: (index) => index })
  const rowAt = (index: number): number => askedUser(index, users)
  await writeRows(queries, { kind: 'U', count: QUERIES, factors, rowAt })
  const rival = { script: 'faiss_top_k.py', packageName: 'faiss-cpu' }
  return runPythonRival<FaissFigures>(rival, [rows, queries, factors, k, batch, THREADS], say)
}

interface GeneratedRows {
  readonly kind: AlsRowKind
  readonly count: number
  readonly factors: number
  /** The number of the generated row that stands at an index. */
  readonly rowAt: (index: number) => number
}

/** Writes generated rows as float32, one after the other. */
async function writeRows(
  path: string,
  { kind, count, factors, rowAt }: GeneratedRows,
): Promise<void> {
  await using file = await open(path, 'w')
  for (let from = 0; from < count; from += ROWS_PER_WRITE) {
    const floats = new Float32Array(Math.min(ROWS_PER_WRITE, count - from) * factors)
    for (let at = 0; at < floats.length; at += factors) {
      generateAlsRow(kind, rowAt(from + at / factors), SEED, floats.subarray(at, at + factors))
    }
    await file.writeFile(new Uint8Array(floats.buffer))
  }
}
