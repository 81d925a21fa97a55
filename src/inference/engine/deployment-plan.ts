import { availableParallelism } from 'node:os'
import { requireArgument } from '../../core/errors.ts'
import type { Deployment } from '../port/deployment.ts'
import type { ModelSource } from '../port/model.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES } from '../port/tensor.ts'
import { type QueueShape, WORKER_ROWS } from '../queue/layout.ts'
import type { WorkerStart } from '../workers/messages.ts'

const MIB = 2 ** 20
const DEFAULT_CAPACITY = 256
const DEFAULT_MAX_ITEMS = 64
/** Bytes of the length, rank and dimensions of one tensor in a slot. */
const TENSOR_HEAD_BYTES = 64
/** Workers that may be there at once, with those that are being replaced. */
const MAX_WORKERS = WORKER_ROWS / 2

/** Throws INVALID_ARGUMENT for settings outside their ranges. */
export function checkDeployment(deployment: Deployment): void {
  const { sloMs, workers = 1, maxBatchItems = 1, queueCapacity = 1, memoryBytes = 0 } = deployment
  requireArgument(sloMs > 0, `sloMs is above 0, not ${sloMs}`)
  requireWhole('workers', workers, MAX_WORKERS)
  requireWhole('maxBatchItems', maxBatchItems, 65536)
  requireWhole('queueCapacity', queueCapacity, 65536)
  requireArgument(!(memoryBytes < 0), `memoryBytes is 0 or more, not ${memoryBytes}`)
  requireArgument(
    deployment.memoryLimitBytes === undefined || deployment.isolation === 'process',
    'memoryLimitBytes needs isolation: process, because the threads of a process share its memory',
  )
}

function requireWhole(name: string, value: number, most: number): void {
  const isRight = Number.isInteger(value) && value >= 1 && value <= most
  requireArgument(isRight, `${name} is a whole number from 1 to ${most}, not ${value}`)
}

/** Most items of a batch that the deployment allows. */
export const mostItemsOf = (deployment: Deployment): number =>
  deployment.maxBatchItems ?? DEFAULT_MAX_ITEMS

/** Most items of a batch of a model in this deployment; a request that runs alone is one. */
export function maxItemsOf(signature: ModelSignature, deployment: Deployment): number {
  if (signature.alone !== undefined) return 1
  return Math.min(mostItemsOf(deployment), signature.maxItems ?? Infinity)
}

/** Most rows of a request that runs alone and cannot be split; Infinity where nobody has set a limit. */
export function mostRowsOf(signature: ModelSignature, { maxBatchItems }: Deployment): number {
  return Math.min(maxBatchItems ?? Infinity, signature.maxItems ?? Infinity)
}

/** What a worker starts with. One run may use the cores, shared among the workers. */
export function workerStartOf(source: ModelSource, deployment: Deployment): WorkerStart {
  const { workers = 1, isolation = 'thread', memoryLimitBytes, warmUp } = deployment
  const { batches, itemAxes, probe } = deployment
  return {
    source,
    isolation,
    memoryLimitBytes,
    warmUp,
    batches,
    itemAxes,
    probe,
    mostItems: mostItemsOf(deployment),
    threads: Math.max(1, Math.floor(availableParallelism() / workers)),
  }
}

/** Sizes of the queue of a model. */
export function queueShapeOf(signature: ModelSignature, deployment: Deployment): QueueShape {
  const { inputs, outputs } = signature
  const sizeOf = signature.alone === undefined ? itemBytes : wholeBytes
  // The outputs of free inputs are of any size, whatever a file says of them.
  const isFree =
    signature.alone !== undefined && inputs.some((spec) => wholeBytes(spec) === undefined)
  const items = maxItemsOf(signature, deployment)
  return {
    capacity: deployment.queueCapacity ?? DEFAULT_CAPACITY,
    inputBytes: deployment.inputBytes ?? bytesOf(inputs, items, sizeOf),
    outputBytes:
      deployment.outputBytes ?? bytesOf(outputs, items, isFree ? () => undefined : sizeOf),
  }
}

/** Bytes of a tensor without items; undefined when a size is free. */
const wholeBytes = (spec: TensorSpec): number | undefined => itemBytes({ ...spec, itemAxis: null })

function bytesOf(
  specs: readonly TensorSpec[],
  items: number,
  sizeOf: (spec: TensorSpec) => number | undefined,
): number {
  let bytes = 0
  for (const spec of specs) {
    const item = sizeOf(spec)
    const data =
      item === undefined
        ? Math.max(MIB, itemBytes(spec) ?? 0)
        : Math.max(item, Math.min(MIB, item * items))
    bytes += data + TENSOR_HEAD_BYTES
  }
  return bytes
}

/** Bytes of one item; undefined when a size is free. */
function itemBytes({ datatype, shape, itemAxis = 0 }: TensorSpec): number | undefined {
  if (datatype === 'BYTES') return undefined
  let bytes: number = DATATYPE_BYTES[datatype]
  for (const [d, size] of shape.entries()) {
    if (d === itemAxis) continue
    if (size === -1) return undefined
    bytes *= size
  }
  return bytes
}
