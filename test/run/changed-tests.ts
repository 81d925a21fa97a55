import { readGraph } from './changed/file-graph.ts'
import { changedFiles, filesOfRepository } from './changed/git.ts'
import { reportOf } from './changed/report.ts'
import { selectTests } from './changed/select-tests.ts'
import type { FileCosts } from './costs/file-costs.ts'

/** What to run after a change. */
export interface ChangedTests {
  readonly files: readonly string[]
  /** What runs, why, and what is left out. */
  readonly text: string
}

/**
 * The tests that the changes since a commit can break, as many as run in two minutes; none without a change.
 * Throws `UnknownCommitError`.
 */
export function changedTests(
  root: string,
  commit: string,
  costs: ReadonlyMap<string, FileCosts>,
): ChangedTests {
  const changed = changedFiles(root, commit)
  const seconds = new Map([...costs].map(([file, one]) => [file, one.seconds]))
  const graph = readGraph(root, filesOfRepository(root))
  const selection = selectTests({ graph, changed, costs: seconds })
  const files = changed.length === 0 ? [] : selection.run.map(({ file }) => file)
  return { files, text: reportOf(commit, changed, selection) }
}
