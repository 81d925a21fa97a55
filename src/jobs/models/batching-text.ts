import { itemAxisOf, type ModelSignature, type TensorSpec } from '../../inference/port/signature.ts'

/** Whether requests share a run, and along which axes, or why they do not: one sentence for people. */
export function batchingText({ inputs, alone }: ModelSignature, mostItems: number): string {
  if (alone !== undefined) return `not batched: ${alone}`
  const axes = inputs.map(axisText).filter((text) => text !== undefined)
  return `requests share runs of up to ${mostItems} items along ${axes.join(', ')}`
}

function axisText(spec: TensorSpec): string | undefined {
  const axis = itemAxisOf(spec)
  return axis === null ? undefined : `axis ${axis} of ${spec.name}`
}
