import { WeirError } from '../core/errors.ts'
import type { GraphDraft } from './graph-draft.ts'

/** One finding: an error stops the job, a warning is shown. */
export interface GraphIssue {
  readonly severity: 'error' | 'warning'
  /** Names the operator and the fix. */
  readonly message: string
}

/** Checks every rule; the order is that of the rules, then of the nodes. */
export function validateDraft(draft: GraphDraft): GraphIssue[] {
  return draft.nodes.some((node) => node.spec.inputs === 0)
    ? []
    : [{ severity: 'error', message: 'the job has no source: begin with fromSource(...)' }]
}

/** Throws INVALID_GRAPH with the sentences of all errors, if there are any. */
export function refuseErrors(issues: readonly GraphIssue[]): void {
  const errors = issues.filter((issue) => issue.severity === 'error')
  if (errors.length === 0) return
  throw new WeirError('INVALID_GRAPH', errors.map((issue) => issue.message).join('\n'), {
    details: { errors: errors.length },
  })
}
