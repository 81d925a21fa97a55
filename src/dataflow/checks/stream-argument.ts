import { WeirError } from '../../core/errors.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'

/** An operator of a graph under construction. */
interface DraftNode {
  readonly id: number
  readonly name: string
}

/**
 * Throws INVALID_ARGUMENT for what is no stream, and INVALID_GRAPH for a stream of another environment: its operators
 * are not in this graph.
 */
export function requireStream(
  given: unknown,
  draft: { readonly nodes: readonly DraftNode[] },
  call: string,
): void {
  const origins = (given as { readonly origins?: unknown } | null | undefined)?.origins
  if (!Array.isArray(origins)) refuseArgument(`${call}(...)`, given, 'a stream')
  const foreign = (origins as readonly { readonly node: DraftNode }[]).find(
    ({ node }) => draft.nodes[node.id] !== node,
  )
  if (foreign === undefined) return
  throw new WeirError(
    'INVALID_GRAPH',
    `${call}(...) got the stream of operator "${foreign.node.name}", which belongs to another environment: make both streams with one StreamExecutionEnvironment`,
  )
}

/** Throws INVALID_GRAPH where only one of two streams has a key. */
export function refuseHalfKeyed(call: string): never {
  throw new WeirError(
    'INVALID_GRAPH',
    `${call}(...) got one stream with a key and one without: call keyBy on both, with keys of one type`,
  )
}
