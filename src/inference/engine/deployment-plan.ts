import { availableParallelism } from 'node:os'
import { requireArgument } from '../../core/errors.ts'
import type { Deployment } from '../port/deployment.ts'
import { providerOf } from '../port/device.ts'
import type { ModelSource } from '../port/model.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES } from '../port/tensor.ts'
import { type QueueShape, WORKER_ROWS } from '../queue/layout.ts'
import type { WorkerStart } from '../workers/messages.ts'

/** The question takes a millisecond, and there may be a thousand models. */
const CORES = availableParallelism()
const MIB = 2 ** 20
const DEFAULT_CAPACITY = 256
/** The same of a model that shares its worker: there may be a thousand such queues. */
const SHARED_CAPACITY = 64
/** Most bytes of all slots together for inputs of free sizes, and as many for outputs. */
const FREE_QUEUE_BYTES = 512 * MIB
const DEFAULT_MAX_ITEMS = 64
/** Bytes of the length, rank and dimensions of one tensor in a slot. */
const TENSOR_HEAD_BYTES = 64
/** Workers that may be there at once, with those that are being replaced. */
const MAX_WORKERS = WORKER_ROWS / 2

/** Workers that the deployment asks for: where it names devices, each has one. */
export const workersOf = ({ workers, devices }: Deployment): number =>
  workers ?? devices?.length ?? 1

/** Throws INVALID_ARGUMENT for settings outside their ranges, and for those that this kind of model does not have. */
export function checkDeployment(source: ModelSource, deployment: Deployment): void {
  const { sloMs, maxBatchItems = 1, queueCapacity = 1, memoryBytes = 0 } = deployment
  const workers = workersOf(deployment)
  checkDevices(source, deployment, workers)
  requireArgument(sloMs > 0, `sloMs is above 0, not ${sloMs}`)
  requireWhole('workers', workers, MAX_WORKERS)
  requireWhole('maxBatchItems', maxBatchItems, 65536)
  requireWhole('queueCapacity', queueCapacity, 65536)
  requireWhole('streams', deployment.streams ?? 1, 65536)
  requireArgument(
    deployment.isShared !== true || (workers === 1 && deployment.isolation !== 'process'),
    'a model that shares its worker has one, in a thread: leave out isolation: process, and the number of workers',
  )
  requireArgument(!(memoryBytes < 0), `memoryBytes is 0 or more, not ${memoryBytes}`)
  requireArgument(
    deployment.memoryLimitBytes === undefined || deployment.isolation === 'process',
    'memoryLimitBytes needs isolation: process, because the threads of a process share its memory',
  )
}

function checkDevices(source: ModelSource, deployment: Deployment, workers: number): void {
  const { devices = [], threads } = deployment
  requireArgument(
    source.kind === 'onnx' || (devices.length === 0 && threads === undefined),
    'device and threads are for ONNX files: a module chooses itself where it runs, and another server, too',
  )
  requireWhole('threads', threads ?? 1, 1024)
  requireArgument(
    devices.length <= workers,
    `device names ${devices.length} devices, and ${workers} workers leave some of them without work`,
  )
  for (const device of devices) providerOf(device)
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

/** Most rows of a request that runs alone and cannot be split; Infinity without a limit. */
export function mostRowsOf(signature: ModelSignature, { maxBatchItems }: Deployment): number {
  return Math.min(maxBatchItems ?? Infinity, signature.maxItems ?? Infinity)
}

/** What a worker on the first device starts with. One run may use the cores, shared among the workers. */
export function workerStartOf(source: ModelSource, deployment: Deployment): WorkerStart {
  const { isolation = 'thread', memoryLimitBytes, warmUp } = deployment
  const { batches, itemAxes, probe, transforms, isShared = false } = deployment
  const cores = isShared ? 1 : Math.max(1, Math.floor(CORES / workersOf(deployment)))
  return {
    source,
    isolation,
    memoryLimitBytes,
    warmUp,
    batches,
    itemAxes,
    probe,
    transforms,
    mostItems: mostItemsOf(deployment),
    threads: deployment.threads ?? cores,
    isSmall: isShared,
    device: deviceOf(deployment, deployment.devices?.[0]),
  }
}

/** The device of a worker by its name; undefined where the deployment names none. */
export function deviceOf(
  { fallback, providerOptions: options }: Deployment,
  name: string | undefined,
): WorkerStart['device'] {
  return name === undefined ? undefined : { name, fallback, options }
}

/** Sizes of the queue of a model. */
export function queueShapeOf(signature: ModelSignature, deployment: Deployment): QueueShape {
  const { isShared = false } = deployment
  const usual = isShared ? SHARED_CAPACITY : DEFAULT_CAPACITY
  const { queueCapacity: capacity = usual } = deployment
  const free = Math.min(MIB, Math.floor(FREE_QUEUE_BYTES / capacity))
  const { inputs, outputs, alone } = signature
  if (alone !== undefined) {
    const input = aloneBytes(inputs, free, false)
    // The outputs of free inputs are of any size, whatever a file says of them.
    const output = aloneBytes(outputs, free, inputs.some(isFree))
    const { inputBytes = input, outputBytes = output } = deployment
    return { capacity, inputBytes, outputBytes }
  }
  const items = maxItemsOf(signature, deployment)
  return {
    capacity,
    inputBytes: deployment.inputBytes ?? bytesOf(inputs, items, free),
    outputBytes: deployment.outputBytes ?? bytesOf(outputs, items, free),
  }
}

/** Whether a request chooses a size of the tensor. */
const isFree = (spec: TensorSpec): boolean => itemBytes({ ...spec, itemAxis: null }) === undefined

/** Bytes of the tensors of a request that runs alone: all that are free have `free` bytes together. */
function aloneBytes(specs: readonly TensorSpec[], free: number, areFree: boolean): number {
  let fixed = 0
  let rows = 0
  for (const spec of specs) {
    if (areFree || isFree(spec)) rows += itemBytes(spec) ?? 0
    else fixed += itemBytes({ ...spec, itemAxis: null })!
  }
  const hasFree = specs.length > 0 && (areFree || specs.some(isFree))
  return fixed + (hasFree ? Math.max(free, rows) : 0) + specs.length * TENSOR_HEAD_BYTES
}

function bytesOf(specs: readonly TensorSpec[], items: number, free: number): number {
  let bytes = 0
  for (const spec of specs) {
    const item = itemBytes(spec)
    const data = item === undefined ? free : Math.max(item, Math.min(MIB, item * items))
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
