import { refusePromise } from '../port/refuse-promise.ts'
import { refuseResult } from '../port/refuse-result.ts'
import type { Collector } from '../process/function.ts'
import type { ProcessWindowFunction, WindowContext } from '../windows/function.ts'

/** A record of one of two streams that share a window. */
export type SidedRecord<A, B> =
  | { readonly side: 'left'; readonly value: A }
  | { readonly side: 'right'; readonly value: B }

/** Makes results from the records of both streams of a key and window; either list may be empty. */
export type CoGroupFunction<A, B, OUT> = (
  left: readonly A[],
  right: readonly B[],
  out: Collector<OUT>,
) => void

/** The window function of a co-group: it parts the records of a window by their stream. */
export class CoGroupWindowFunction<K, A, B, OUT>
  implements ProcessWindowFunction<K, SidedRecord<A, B>, OUT>
{
  private readonly coGroup: CoGroupFunction<A, B, OUT>

  constructor(coGroup: CoGroupFunction<A, B, OUT>) {
    this.coGroup = coGroup
  }

  process(
    _key: K,
    _context: WindowContext,
    elements: readonly SidedRecord<A, B>[],
    out: Collector<OUT>,
  ): void {
    const left: A[] = []
    const right: B[] = []
    for (const element of elements) {
      if (element.side === 'left') left.push(element.value)
      else right.push(element.value)
    }
    const result: unknown = this.coGroup(left, right, out)
    if (result !== undefined) refuseResult(result, 'the function of a co-group')
  }
}

/** The co-group of an inner join: a result for each pair of records of both streams. */
export function joinPairs<A, B, OUT>(join: (left: A, right: B) => OUT): CoGroupFunction<A, B, OUT> {
  return (left, right, out) => {
    for (const a of left) {
      for (const b of right) {
        const result = join(a, b)
        if (result instanceof Promise) refusePromise(result, 'the function of a join')
        out.collect(result)
      }
    }
  }
}
