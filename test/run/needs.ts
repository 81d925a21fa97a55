import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test did not run. */
    skipReason?: string
  }
}

/**
 * The options of a test, or of a `describe`, that cannot run everywhere: it is skipped unless it has what it needs, and
 * the summary of the run prints the reason. A test that the seed or the size of a campaign leaves out is not declared.
 */
export function needs(has: unknown, reason: string): TestOptions {
  return has ? {} : { skip: true, meta: { skipReason: reason } }
}
