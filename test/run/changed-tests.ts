import type { FileCosts } from './file-costs.ts'

/** What to run after a change. */
export interface ChangedTests {
  readonly files: readonly string[]
  /** What runs, why, and what is left out. */
  readonly text: string
}

/** The tests that the changes since a commit can break. */
export function changedTests(
  _root: string,
  _commit: string,
  _costs: ReadonlyMap<string, FileCosts>,
): ChangedTests {
  return { files: [], text: '' }
}
