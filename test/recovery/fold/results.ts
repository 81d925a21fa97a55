import { expect } from 'vitest'
import { readCommitted } from '../../fixtures/committed-records.ts'
import type { Folded } from './job.ts'

/** Every committed fold, which the job has written to a log directory. */
export function readResults(directory: string): Promise<Folded[]> {
  return readCommitted(directory, 'results')
}

/** Checks that every fold of every key came out exactly once, and that the last of each key is right. */
export async function expectExact(
  directory: string,
  expected: ReadonlyMap<string, Folded>,
): Promise<void> {
  const results = await readResults(directory)
  const seen = new Set(results.map(({ key, count }) => `${key} ${count}`))
  const records = [...expected.values()].reduce((sum, { count }) => sum + count, 0)
  expect({ results: results.length, distinct: seen.size }).toEqual({
    results: records,
    distinct: records,
  })
  const last = new Map<string, Folded>()
  for (const result of results) {
    if (result.count >= (last.get(result.key)?.count ?? 0)) last.set(result.key, result)
  }
  expect(last).toEqual(expected)
}
