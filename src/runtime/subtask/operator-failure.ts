import type { StreamNode } from '../../dataflow/stream-graph.ts'

/** What threw an error. */
export interface Culprit {
  /** The operator, with the name that users gave it. */
  readonly operator: string
  /** Code of the user in front of the operator, such as a key selector; undefined for the operator itself. */
  readonly part?: string
}

/** Culprit by the error that it threw; of nested calls the innermost one counts. */
const culprits = new WeakMap<object, Culprit>()

/**
 * Records which operator threw, unless an operator that it called is recorded; returns the error to
 * rethrow.
 */
export function blame(thrown: unknown, node: StreamNode): object {
  return record(thrown, node, undefined)
}

/** As `blame`, for the key selector of the records that go to a keyed operator. */
export function blameKeySelector(
  thrown: unknown,
  receiver: StreamNode,
  method: 'keyBy' | 'reinterpretAsKeyedStream' = 'keyBy',
): object {
  return record(thrown, receiver, `key selector of ${method}`)
}

/** What threw this; undefined if nothing is recorded. */
export function culpritOf(thrown: unknown): Culprit | undefined {
  return typeof thrown === 'object' && thrown !== null ? culprits.get(thrown) : undefined
}

/** Name and uid of an operator for messages. */
export function operatorLabel({ name, uid, uidGenerated }: StreamNode): string {
  return uidGenerated || name === uid ? name : `${name} (${uid})`
}

function record(thrown: unknown, node: StreamNode, part: string | undefined): object {
  const error = typeof thrown === 'object' && thrown !== null ? thrown : new Error(String(thrown))
  if (!culprits.has(error)) {
    const operator = operatorLabel(node)
    culprits.set(error, part === undefined ? { operator } : { operator, part })
  }
  return error
}
