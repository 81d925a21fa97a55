import { AsyncLocalStorage } from 'node:async_hooks'
import type { StreamNode } from '../../dataflow/stream-graph.ts'
import { isFiring } from '../../operators/port/firing.ts'
import type { StreamOperator } from '../../operators/port/operator.ts'

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

/** A subtask, as errors name it. */
export interface AsyncOrigin {
  readonly name: string
  readonly operators: readonly { readonly node: StreamNode }[]
}

/** The subtask whose call has begun the asynchronous code that runs; undefined for code of Weir itself. */
export const asyncOrigin = new AsyncLocalStorage<AsyncOrigin>()

/** Who has begun the asynchronous code that runs, as far as that is known: the task, and its operators, one of which it is. */
export function asyncCaller(): { readonly task?: string; readonly operator: string | undefined } {
  const origin = asyncOrigin.getStore()
  if (origin === undefined) return { operator: undefined }
  const operator = origin.operators.map(({ node }) => operatorLabel(node)).join(' or ')
  return { task: origin.name, operator }
}

/**
 * Lets asynchronous code that an operator begins know the operator, and not only its subtask. It costs each call more than a
 * plain map does, so it is for an attempt behind one that such code has ended.
 */
export function nameCalls(operator: StreamOperator, origin: AsyncOrigin): void {
  const process = operator.processElement.bind(operator)
  operator.processElement = (input, value, timestamp) =>
    asyncOrigin.run(origin, () => process(input, value, timestamp))
  if (!isFiring(operator)) return
  const fireDue = operator.fireDue.bind(operator)
  operator.fireDue = (most) => asyncOrigin.run(origin, () => fireDue(most))
}
