import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type RatingsTable, ratingsOf } from '../../src/training/data/ratings-table.ts'
import { runPythonRival } from './python.ts'

/** Output of `rivals/myfm_ratings.py`. */
export interface MyFmFigures {
  readonly version: string
  /** Mean squared error of the test ratings. */
  readonly mse: number
}

/** Ratings to train and to test on, and a folder for files. */
export interface MyFmRatings {
  readonly train: RatingsTable
  readonly test: RatingsTable
  readonly folder: string
}

/** Settings of its chain. */
export interface MyFmSettings {
  readonly factors: number
  readonly sweeps: number
  readonly burnIn: number
}

/** Trains and tests with the `myfm` library. Where it is missing, says so and returns undefined. */
export async function myFmError(
  { train, test, folder }: MyFmRatings,
  { factors, sweeps, burnIn }: MyFmSettings,
  say: (line: string) => void,
): Promise<MyFmFigures | undefined> {
  const paths = [join(folder, 'train.tsv'), join(folder, 'test.tsv')]
  for (const [i, table] of [train, test].entries()) {
    const lines = [...ratingsOf(table)].map(
      ({ user, item, rating }) => `${user}\t${item}\t${rating}`,
    )
    await writeFile(paths[i]!, `${lines.join('\n')}\n`)
  }
  const rival = { script: 'myfm_ratings.py', packageName: 'myfm' }
  return runPythonRival<MyFmFigures>(rival, [...paths, factors, sweeps, burnIn], say)
}
