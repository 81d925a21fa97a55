import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { RatingsTable } from '../../src/training/data/ratings-table.ts'
import { runPythonRival } from './python.ts'

/** Training options of both sides. */
export interface AlsSettings {
  readonly factors: number
  readonly iterations: number
  readonly cgSteps: number
  readonly threads: number
}

/** Output of `rivals/implicit_als.py`. */
export interface ImplicitFigures {
  readonly version: string
  /** Ratings of one iteration. */
  readonly ratings: number
  /** Seconds of each iteration. */
  readonly seconds: readonly number[]
}

/** Writes the columns user, item (int32) and rating (float32) for the rival into a file. Returns its path. */
export async function exportRatings(table: RatingsTable, folder: string): Promise<string> {
  const path = join(folder, 'ratings.bin')
  await using file = await open(path, 'w')
  for (const { buffer, byteOffset, byteLength } of [table.user, table.item, table.rating]) {
    await file.writeFile(new Uint8Array(buffer, byteOffset, byteLength))
  }
  return path
}

/** Ratings for `trainImplicit`. */
export interface ExportedRatings {
  /** The file of `exportRatings`. */
  readonly path: string
  readonly table: RatingsTable
}

/** Trains with the `implicit` library. Where it is missing, says so and returns undefined. */
export function trainImplicit(
  { path, table }: ExportedRatings,
  { factors, iterations, cgSteps, threads }: AlsSettings,
  say: (line: string) => void,
): Promise<ImplicitFigures | undefined> {
  const sizes = [table.size, table.users.length, table.items.length]
  const args = [path, ...sizes, factors, iterations, cgSteps, threads]
  const rival = { script: 'implicit_als.py', packageName: 'implicit' }
  return runPythonRival<ImplicitFigures>(rival, args, say)
}
