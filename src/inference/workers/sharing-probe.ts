import { isWeirError, messageOf } from '../../core/errors.ts'
import { numberOfBrain, numberOfHalf } from '../../core/numbers/half-floats.ts'
import { BatchBuffer, itemsOf } from '../port/batch-buffer.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature } from '../port/signature.ts'
import type { Tensor, TensorDatatype } from '../port/tensor.ts'
import { type ProbePlan, type ProbeRequest, probeRequests, requestsLike } from './probe-requests.ts'
import { mostItemsOfRun, orderedInputs } from './sample-inputs.ts'

/** Requests of one run; the last of the second one has large numbers. */
const PLANS: readonly (readonly ProbePlan[])[] = [
  [
    { rows: 1, scale: 1 },
    { rows: 1, scale: 1 },
  ],
  [
    { rows: 1, scale: 1 },
    { rows: 2, scale: 1 },
    { rows: 4, scale: 1 },
    { rows: 1, scale: 100 },
  ],
]
/** Values of sizes that a request chooses, in this order, until the model takes one. */
const FREE_SIZES = [1, 8, 32]
/** A model whose run takes longer is asked once only, ms. */
const SLOW_MS = 500
const SEED = 36

/** Largest difference of two outputs by rounding, as a share of the largest number of the output. */
const ROUNDING: Partial<Readonly<Record<TensorDatatype, number>>> = {
  FP64: 1e-6,
  FP32: 1e-3,
  FP16: 2e-2,
  BF16: 5e-2,
}

/** What a probe goes by. */
export interface ProbeOptions {
  readonly signature: ModelSignature
  /** Inputs of known requests; the model may refuse those that the probe makes. */
  readonly samples: readonly (readonly Tensor[])[]
  readonly mostItems: number
  /** Monotonic ms. */
  readonly nowMs: () => number
}

/**
 * Runs requests together and apart. Returns why they must not share a run, or undefined when their outputs are the same but for
 * rounding, or when the model refuses all that is tried. Rejects with WORKER_LOST when its process ends.
 */
export async function probeSharing(
  model: LoadedModel,
  options: ProbeOptions,
): Promise<string | undefined> {
  const { signature, mostItems, nowMs } = options
  const most = mostItemsOfRun(signature, mostItems)
  for (const [p, plans] of PLANS.entries()) {
    if (plans.reduce((sum, { rows }) => sum + rows, 0) > most) return undefined
    const startedAt = nowMs()
    const apart = await firstAnswered(model, requestsOf(options, plans, p))
    if (apart === undefined) return undefined
    const why = await compared(model, signature, apart)
    if (why !== undefined || nowMs() - startedAt > SLOW_MS * (plans.length + 1)) return why
  }
  return undefined
}

/** Lists of requests to try. */
function requestsOf(
  { signature, samples }: ProbeOptions,
  plans: readonly ProbePlan[],
  number: number,
): ProbeRequest[][] {
  const known = samples.flatMap((sample) => {
    const ordered = orderedInputs(signature, sample)
    return ordered === undefined ? [] : [requestsLike(signature, ordered.inputs, plans)]
  })
  const made = FREE_SIZES.map((free) =>
    probeRequests(signature, plans, { free, seed: SEED + number }),
  )
  return [...known.slice(0, 1), ...made]
}

interface Answered {
  readonly request: ProbeRequest
  readonly outputs: readonly Tensor[]
}

/** The first list whose requests the model answers one by one; undefined when it refuses each list. */
async function firstAnswered(
  model: LoadedModel,
  lists: readonly (readonly ProbeRequest[])[],
): Promise<readonly Answered[] | undefined> {
  for (const requests of lists) {
    try {
      const answered: Answered[] = []
      for (const request of requests) {
        answered.push({ request, outputs: await runOnce(model, request.inputs, request.rows) })
      }
      return answered
    } catch (error) {
      if (isWeirError(error, 'WORKER_LOST')) throw error
    }
  }
  return undefined
}

/** Outputs in memory of their own: a run may give views that the next one overwrites. */
async function runOnce(
  model: LoadedModel,
  inputs: readonly Tensor[],
  rows: number,
): Promise<readonly Tensor[]> {
  const outputs = await model.run(inputs, rows)
  await model.refresh?.()
  return outputs.map((output) => ({ ...output, data: output.data.slice() }))
}

async function compared(
  model: LoadedModel,
  signature: ModelSignature,
  answered: readonly Answered[],
): Promise<string | undefined> {
  const total = answered.reduce((sum, { request }) => sum + request.rows, 0)
  const inputs = new BatchBuffer().gather(
    signature.inputs,
    answered.map(({ request }) => request.inputs),
  )
  try {
    const together = await runOnce(model, inputs, total)
    let first = 0
    for (const { request, outputs } of answered) {
      const { rows: items } = request
      const parts = together.map((output, i) =>
        itemsOf(output, signature.outputs[i]!, { first, items, total }),
      )
      const differing = parts.find((part, i) => !isNear(part, outputs[i]!))
      if (differing !== undefined) {
        return `outputs of requests that run together differ ("${differing.name}")`
      }
      first += items
    }
    return undefined
  } catch (error) {
    if (isWeirError(error, 'WORKER_LOST')) throw error
    return `requests that run together fail: ${messageOf(error)}`
  }
}

function isNear(a: Tensor, b: Tensor): boolean {
  if (a.shape.join() !== b.shape.join()) return false
  const share = ROUNDING[a.datatype]
  if (share === undefined) return Buffer.compare(a.data, b.data) === 0
  const [x, y] = [floatsOf(a), floatsOf(b)]
  const largest = y.reduce(
    (most, one) => Math.max(most, Number.isFinite(one) ? Math.abs(one) : 0),
    0,
  )
  return x.every((number, i) => {
    const other = y[i]!
    return Object.is(number, other) || Math.abs(number - other) <= share * (largest + share)
  })
}

function floatsOf({ datatype, data }: Tensor): number[] {
  const view = new DataView(data.buffer, data.byteOffset, data.length)
  const bytes = datatype === 'FP64' ? 8 : datatype === 'FP32' ? 4 : 2
  return Array.from({ length: data.length / bytes }, (_, i) => {
    if (bytes === 8) return view.getFloat64(i * 8, true)
    if (bytes === 4) return view.getFloat32(i * 4, true)
    const bits = view.getUint16(i * 2, true)
    return datatype === 'FP16' ? numberOfHalf(bits) : numberOfBrain(bits)
  })
}
