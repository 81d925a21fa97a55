import { WeirError } from '../../core/errors.ts'
import type { StreamGraph } from '../stream-graph.ts'

/** Throws INVALID_GRAPH with the names of all operators whose uid was generated. */
export function requireUids({ nodes }: StreamGraph): void {
  const nameless = nodes.filter(({ uidGenerated, isPart }) => uidGenerated && isPart !== true)
  const names = nameless.map(({ name }) => `"${name}"`)
  if (names.length === 0) return
  throw new WeirError(
    'INVALID_GRAPH',
    `pipeline.auto-generate-uids is false, and ${names.length === 1 ? 'an operator has' : `${names.length} operators have`} no uid: ${names.join(', ')}; call .uid("...") on each`,
    { details: { operators: names.length } },
  )
}
