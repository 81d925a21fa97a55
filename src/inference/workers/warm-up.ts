import type { WarmUp } from '../port/deployment.ts'
import type { LoadedModel } from '../port/runner.ts'
import { mostItemsOfRun, orderedInputs, zeroInputs } from './sample-inputs.ts'

/**
 * Runs a model that has just been loaded, before it gets requests: the first runs compile code and take memory. The
 * samples run in turn; without any, zeros do, for one item and for the largest batch in turn. A model that refuses
 * a run is served all the same: what a request asks of it is not known here.
 */
export async function warmUp(
  model: LoadedModel,
  { runs, samples = [] }: WarmUp,
  maxItems: number,
): Promise<void> {
  const { signature } = model
  const most = mostItemsOfRun(signature, maxItems)
  const zeros = [1, most].map((items) => ({ inputs: zeroInputs(signature, items), items }))
  const known = samples.flatMap((inputs) => orderedInputs(signature, inputs) ?? [])
  const chosen = known.length > 0 ? known : zeros
  for (let run = 0; run < runs; run++) {
    const { inputs, items } = chosen[run % chosen.length]!
    await model.run(inputs, items).catch(() => [])
    await model.refresh?.()
  }
}
