import type { StreamNode } from '../../dataflow/stream-graph.ts'

/** Operator by the error that it threw; of nested calls the innermost one counts. */
const culprits = new WeakMap<object, string>()

/**
 * Records which operator threw, unless an operator that it called is recorded; returns the error to
 * rethrow.
 */
export function blame(thrown: unknown, node: StreamNode): object {
  const error = typeof thrown === 'object' && thrown !== null ? thrown : new Error(String(thrown))
  if (!culprits.has(error)) culprits.set(error, operatorLabel(node))
  return error
}

/** The operator that threw this, with the name that users gave it; undefined if none is recorded. */
export function culpritOf(thrown: unknown): string | undefined {
  return typeof thrown === 'object' && thrown !== null ? culprits.get(thrown) : undefined
}

/** Name and uid of an operator for messages. */
export function operatorLabel({ name, uid, uidGenerated }: StreamNode): string {
  return uidGenerated || name === uid ? name : `${name} (${uid})`
}
