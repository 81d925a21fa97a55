import { requireArgument } from '../../../core/errors.ts'

/** Paths that one stream may watch. */
const MOST_PATHS = 16
/** Longest path with its query, characters. */
const LONGEST_PATH = 2000

const ID = '[0-9a-fA-F]{32}'
/** Answers that are cheap to compute again each second: they follow from the snapshot of a job. */
const WATCHED = [
  '/overview',
  '/jobs/overview',
  `/jobs/${ID}`,
  `/jobs/${ID}/(?:exceptions|config)`,
  `/jobs/${ID}/checkpoints(?:/config|/details/[0-9]{1,15})?`,
  `/jobs/${ID}/vertices/${ID}(?:/(?:backpressure|watermarks|metrics|subtasks/metrics))?`,
  `/weir/jobs/${ID}/(?:live|learning|history)`,
].map((pattern) => new RegExp(`^${pattern}$`))

/** Whether an event stream can watch a path of the REST interface. */
function isWatchable(path: string): boolean {
  const [name = ''] = path.split('?')
  return path.length <= LONGEST_PATH && WATCHED.some((pattern) => pattern.test(name))
}

/** The paths of a stream without repetition. Throws INVALID_ARGUMENT. */
export function checkWatchedPaths(paths: readonly string[]): readonly string[] {
  const distinct = [...new Set(paths)]
  requireArgument(
    distinct.length > 0 && distinct.length <= MOST_PATHS,
    `a stream of events watches 1 to ${MOST_PATHS} paths, not ${distinct.length}: path=/overview&path=/jobs/overview`,
  )
  for (const path of distinct) {
    requireArgument(
      isWatchable(path),
      `"${path.slice(0, 200)}" cannot be watched; request it by itself`,
    )
  }
  return distinct
}
