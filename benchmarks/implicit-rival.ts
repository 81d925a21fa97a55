import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { RatingsTable } from '../src/training/ratings-table.ts'
import { runPythonRival } from './python-rival.ts'

/** How both sides train. */
export interface AlsSettings {
  readonly factors: number
  readonly iterations: number
  readonly cgSteps: number
  readonly threads: number
}

/** What `rivals/implicit_als.py` prints. */
export interface ImplicitFigures {
  readonly version: string
  /** Trained on in an iteration. */
  readonly ratings: number
  /** Of each iteration. */
  readonly seconds: readonly number[]
}

/** Writes the columns that the rival reads into a folder: user, item (int32), rating (float32). */
export async function exportRatings(table: RatingsTable, folder: string): Promise<string> {
  const path = join(folder, 'ratings.bin')
  await using file = await open(path, 'w')
  for (const { buffer, byteOffset, byteLength } of [table.user, table.item, table.rating]) {
    await file.writeFile(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return path
}

/** Trains the `implicit` library on exported ratings; undefined, and said, when it is not there. */
export function trainImplicit(
  path: string,
  table: RatingsTable,
  { factors, iterations, cgSteps, threads }: AlsSettings,
  say: (line: string) => void,
): Promise<ImplicitFigures | undefined> {
  const sizes = [table.size, table.users.length, table.items.length]
  const args = [path, ...sizes, factors, iterations, cgSteps, threads]
  const rival = { script: 'implicit_als.py', packageName: 'implicit' }
  return runPythonRival<ImplicitFigures>(rival, args, say)
}
