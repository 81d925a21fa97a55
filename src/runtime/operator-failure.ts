import type { StreamNode } from '../dataflow/stream-graph.ts'

/** Operator by what it threw; of nested calls the innermost one counts. */
const culprits = new WeakMap<object, string>()

/** Notes which operator threw, unless one that it called was noted before; returns what to rethrow. */
export function blame(thrown: unknown, node: StreamNode): object {
  const error = typeof thrown === 'object' && thrown !== null ? thrown : new Error(String(thrown))
  if (!culprits.has(error)) culprits.set(error, operatorLabel(node))
  return error
}

/** The operator that threw this, as users named it; undefined when nobody was blamed. */
export function culpritOf(thrown: unknown): string | undefined {
  return typeof thrown === 'object' && thrown !== null ? culprits.get(thrown) : undefined
}

/** Name and uid of an operator for a sentence. */
export function operatorLabel({ name, uid, uidGenerated }: StreamNode): string {
  return uidGenerated || name === uid ? name : `${name} (${uid})`
}
