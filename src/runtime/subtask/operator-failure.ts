import type { StreamNode } from '../../dataflow/stream-graph.ts'

/** What an operator worked on when it threw. */
export interface FailedCall {
  /** The current key, as JSON; undefined for none. */
  readonly key?: string | undefined
  /** Event time of the record or timer, ms; undefined for none. */
  readonly timestamp?: number | undefined
}

/** What threw an error, and on what. */
export interface Culprit extends FailedCall {
  /** The operator, with the name that users gave it. */
  readonly operator: string
  /** Code of the user in front of the operator, such as a key selector; undefined for the operator itself. */
  readonly part?: string
}

/** Culprit by the error that it threw; of nested calls the innermost one counts. */
const culprits = new WeakMap<object, Culprit>()

/**
 * Records which operator threw, and on what, unless an operator that it called is recorded, which may lack the key;
 * returns the error to rethrow.
 */
export function blame(thrown: unknown, node: StreamNode, call: FailedCall = {}): object {
  return record(thrown, node, call)
}

/** As `blame`, for the key selector of the records that go to a keyed operator. */
export function blameKeySelector(
  thrown: unknown,
  receiver: StreamNode,
  method: 'keyBy' | 'reinterpretAsKeyedStream' = 'keyBy',
): object {
  return record(thrown, receiver, {}, `key selector of ${method}`)
}

/** What threw this; undefined if nothing is recorded. */
export function culpritOf(thrown: unknown): Culprit | undefined {
  return typeof thrown === 'object' && thrown !== null ? culprits.get(thrown) : undefined
}

/** Name and uid of an operator for messages. */
export function operatorLabel({ name, uid, uidGenerated }: StreamNode): string {
  return uidGenerated || name === uid ? name : `${name} (${uid})`
}

function record(thrown: unknown, node: StreamNode, call: FailedCall, part?: string): object {
  const error = typeof thrown === 'object' && thrown !== null ? thrown : new Error(String(thrown))
  const inner = culprits.get(error)
  const operator = operatorLabel(node)
  if (inner === undefined) culprits.set(error, { operator, ...(part && { part }), ...call })
  else if (inner.key === undefined) culprits.set(error, { ...inner, key: call.key })
  return error
}
