import { AsyncLocalStorage } from 'node:async_hooks'
import type { StreamNode } from '../../dataflow/stream-graph.ts'

/** A subtask, as errors name it. */
export interface AsyncOrigin {
  readonly name: string
  readonly operators: readonly { readonly node: StreamNode }[]
}

/** The subtask whose call has begun the asynchronous code that runs; undefined for code of Weir itself. */
export const asyncOrigin = new AsyncLocalStorage<AsyncOrigin>()
