import type { DevicePlacement } from '../../inference/port/device.ts'
import { itemAxisOf, type ModelSignature, type TensorSpec } from '../../inference/port/signature.ts'

/** Inputs that are named; a table of hundreds of columns has one for each. */
const MOST_AXES = 8

/** Whether requests share a run, and along which axes, or why they do not: one sentence for people. */
export function batchingText({ inputs, alone }: ModelSignature, mostItems: number): string {
  if (alone !== undefined) return `not batched: ${alone}`
  const axes = inputs.map(axisText).filter((text) => text !== undefined)
  const more = axes.length > MOST_AXES ? ` and ${axes.length - MOST_AXES} more` : ''
  const shown = axes.slice(0, MOST_AXES).join(', ')
  return `requests share runs of up to ${mostItems} items along ${shown}${more}`
}

function axisText(spec: TensorSpec): string | undefined {
  const axis = itemAxisOf(spec)
  return axis === null ? undefined : `axis ${axis} of ${spec.name}`
}

/** Where the workers of a model run, and why not on the device of the settings: a sentence for people for each place. */
export function deviceTexts(placements: readonly DevicePlacement[]): readonly string[] {
  const places = new Map<string, { readonly placement: DevicePlacement; workers: number }>()
  for (const placement of placements) {
    const key = JSON.stringify(placement)
    const known = places.get(key)
    if (known === undefined) places.set(key, { placement, workers: 1 })
    else known.workers++
  }
  return Array.from(places.values(), ({ placement: { name, why }, workers }) => {
    const who = workers === 1 ? '1 worker runs' : `${workers} workers run`
    return `${who} on ${name}${why === undefined ? '' : `: ${why}`}`
  })
}
