import type { ComparedPrediction, Kind } from './kind.ts'
import type { Account } from './ledger.ts'
import { surelySteps } from './linear-kind.ts'
import type { Rows } from './service.ts'

/** An inner product of float32 numbers, in another order of its terms, differs by so much for each unit at most. */
const ROUNDING = 1e-4

/** Keys whose rows are not the same, bit by bit; mean rows are computed and not compared. */
export function differentRows(kind: Kind, actual: Rows, wanted: Rows): readonly string[] {
  const keys = kind.keys.filter((key) => !key.startsWith('MEAN-'))
  return keys.filter((key) => {
    const [a, b] = [actual.get(key), wanted.get(key)]
    if (a === undefined || b === undefined) return a !== b
    return a.length !== b.length || a.some((x, n) => !Object.is(x, b[n]))
  })
}

/** Rows of an exported file under the keys by which they are asked. */
export function servedKeys(kind: Kind, exported: Rows): Rows {
  const rows = kind.keys.map((key) => [key, exported.get(kind.exportKey(key))] as const)
  return new Map(rows.filter((row): row is [string, Float32Array] => row[1] !== undefined))
}

/** Predictions that are not those of the rows. */
export function wrongPredictions(given: readonly ComparedPrediction[]): readonly string[] {
  if (given.length === 0) return ['nothing was predicted']
  return given
    .filter(({ answer, own }) => !(Math.abs(answer - own) <= ROUNDING * Math.max(1, Math.abs(own))))
    .map(({ what, answer, own }) => `${what}: ${answer} for ${own}`)
}

/**
 * What is wrong with an account: observations that a version knows twice or not at all. An example that a hinge
 * loss is content with has no step, so of those only the ones count whose margin is low in all of `rows`.
 */
export function accountProblems(
  kind: Kind,
  account: Account,
  rows: readonly Rows[],
): readonly string[] {
  const forgotten = kind.stepsAlways
    ? account.unknown
    : account.unknown.filter(({ value }) => surelySteps(value.toString(), rows))
  const known = account.trained + account.replayed + account.learned
  return [
    ...account.twice.map((place) => `${place} is known twice`),
    ...forgotten.map(({ partition, offset }) => `${partition}/${offset} is not known`),
    ...(kind.stepsAlways && known !== account.produced
      ? [`${account.produced} produced, but ${known} known`]
      : []),
  ]
}
