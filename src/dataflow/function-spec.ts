import type { OutputTag } from '../operators/output-tag.ts'
import type { NodeSpec } from './graph-draft.ts'

/** What can be seen of a user function without running it. */
interface InspectableFunction {
  readonly sideOutputs?: readonly OutputTag<unknown>[]
  readonly onTimer?: unknown
}

/** Makes one function to see which side outputs it declares and whether it has timers. */
export function inspectFunction(
  create: () => InspectableFunction,
): Pick<NodeSpec, 'sideOutputs' | 'hasOnTimer'> {
  const sample = create()
  return {
    sideOutputs: sample.sideOutputs?.map((tag) => tag.id) ?? 'any',
    hasOnTimer: sample.onTimer !== undefined,
  }
}
