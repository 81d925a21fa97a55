import type { RunOptions, ServedState } from '../../src/gateway/port/services.ts'
import type { InferRequest, RawInferResult } from '../../src/wire/inference/infer.ts'
import type { RawTensor } from '../../src/wire/inference/tensor.ts'
import { MODEL_KIND } from '../../src/wire/routing-table.ts'

/** What answers a run of the model `one`, whose input is `x`, and output `y`, both FP32 [-1]. */
export type RunOne = (request: InferRequest, options: RunOptions | undefined) => RawTensor

/** A state with one model of tensors, which runs in this thread and takes owners and sequences. */
export function oneModel(run: RunOne): ServedState {
  const tensor = (name: string) => ({ name, datatype: 'FP32', shape: [-1] }) as const
  const info = {
    ...{ name: 'one', kind: 'function', liveVersion: 1, aliases: {}, revision: 1, sloMs: 0 },
    ...{ inputs: [tensor('x')], outputs: [tensor('y')], maxBatchItems: 0, batching: '' },
    ...{ problems: [], statistics: {}, isExpected: true },
    versions: [{ version: 1, state: 'READY', reason: '' }],
  } as const
  const state = { name: 'one', kind: MODEL_KIND, versions: [1], liveVersion: 1, dimension: 0 }
  const routing = { epoch: 1, job: 'm', sources: [], endpoints: [], states: [state] }
  const answer = (request: InferRequest, options?: RunOptions): RawInferResult => ({
    outputs: [run(request, options)],
    ...{ modelVersion: 1, queueMicros: 0, runMicros: 0, batchItems: 1, reason: '' },
    ...{ isDefault: false, isCached: false, isHedged: false },
  })
  return {
    routing,
    takesOwner: true,
    refreshRouting: async () => routing,
    signature: async () => info,
    models: async () => [info],
    inferRaw: async (_: string, request: InferRequest, options?: RunOptions) =>
      answer(request, options),
    async *inferParts(_: string, request: InferRequest, options?: RunOptions) {
      yield answer(request, options)
    },
  } as unknown as ServedState
}
