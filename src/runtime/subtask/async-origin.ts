import { AsyncLocalStorage } from 'node:async_hooks'
import type { StreamNode } from '../../dataflow/stream-graph.ts'
import { isFiring } from '../../operators/port/firing.ts'
import type { StreamOperator } from '../../operators/port/operator.ts'
import { operatorLabel } from './operator-failure.ts'

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
