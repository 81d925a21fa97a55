import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { generateAlsRow } from '../src/models/als-model-generator.ts'
import type { AlsRowKind } from '../src/models/als-row.ts'
import type { ModelShape } from './model-shape.ts'
import { runPythonRival } from './python-rival.ts'

/** Seed of the model that is served. */
const SEED = 1
const THREADS = 2
const QUERIES = 320
const ROWS_PER_WRITE = 4096

/** What `rivals/faiss_top_k.py` prints. */
export interface FaissFigures {
  readonly version: string
  /** Of a query alone, with as many threads as suit it best. */
  readonly p50Ms: number
  /** Queries a second when a batch is asked at once. */
  readonly perSecond: number
}

/** The user, counted from 0, whose row question number `index` is about. */
export function askedUser(index: number, users: number): number {
  return (index * 7919) % users
}

/**
 * Asks faiss for the `k` best items of the generated model, for the same users as Weir, alone and
 * `batch` at once; undefined, and said, when it is not there.
 */
export async function searchFaiss(
  shape: ModelShape,
  k: number,
  batch: number,
  folder: string,
  say: (line: string) => void,
): Promise<FaissFigures | undefined> {
  const { users, items, factors } = shape
  const [rows, queries] = [join(folder, 'items.bin'), join(folder, 'queries.bin')]
  await writeRows(rows, 'I', items, factors, (index) => index)
  await writeRows(queries, 'U', QUERIES, factors, (index) => askedUser(index, users))
  const rival = { script: 'faiss_top_k.py', packageName: 'faiss-cpu' }
  return runPythonRival<FaissFigures>(rival, [rows, queries, factors, k, batch, THREADS], say)
}

/** Writes generated rows as float32, one after the other. */
async function writeRows(
  path: string,
  kind: AlsRowKind,
  count: number,
  factors: number,
  rowAt: (index: number) => number,
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
