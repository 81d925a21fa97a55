import { asWeirError } from '../../core/errors.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { ModelSource } from '../port/model.ts'
import type { LoadedModel, RunnerOptions } from '../port/runner.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor, type TensorDatatype } from '../port/tensor.ts'
import { declaredSignature } from './item-axes.ts'
import { type RemoteAnswer, RemoteServer } from './remote-exchange.ts'
import { remoteAnswersOf, remotePartsModel } from './remote-parts.ts'

type RemoteSource = Extract<ModelSource, { kind: 'remote' }>

/** Time in which a server must describe a model, and in which it must run it. */
const DESCRIBE_MS = 5_000
const RUN_MS = 30_000
/** Bytes of the longest description. */
const MAX_DESCRIPTION_BYTES = 1024 * 1024
/** Most dimensions of a tensor. */
const MAX_DIMENSIONS = 32
const NAME = /^[\x20-\x7e]{1,200}$/

/**
 * Opens a model of a server that speaks the Open Inference Protocol v2 over HTTP with binary tensors. Throws
 * MODEL_NOT_LOADED when the server does not answer, MODEL_FAILED when it does not have the model, and
 * REMOTE_MODEL_FAILED when it fails or its answer is wrong.
 */
export async function loadRemote(
  source: RemoteSource,
  options: RunnerOptions,
): Promise<LoadedModel> {
  const version =
    source.version === undefined ? '' : `/versions/${encodeURIComponent(source.version)}`
  const path = `/v2/models/${encodeURIComponent(source.model)}${version}`
  const server = new RemoteServer(source.url, options.remoteKey)
  const ask = { timeoutMs: DESCRIBE_MS, maxBytes: MAX_DESCRIPTION_BYTES }
  try {
    const { json } = await server.exchange({ path, ...ask })
    const described = signatureOf(server, json, source.maxItems)
    const answers = await remoteAnswersOf(server, { path: `${path}/config`, ...ask })
    if (answers.areInParts) {
      return remotePartsModel(server, path, { signature: described, ...answers })
    }
    const signature = options.signature ?? declaredSignature(described, options)
    return remoteModel(server, `${path}/infer`, signature)
  } catch (error) {
    server.close()
    throw asWeirError(error, 'MODEL_NOT_LOADED', `${server.name}${path}`)
  }
}

function remoteModel(server: RemoteServer, path: string, signature: ModelSignature): LoadedModel {
  return {
    signature,
    async run(inputs) {
      const head = Buffer.from(JSON.stringify(headOf(inputs)))
      const answer = await server.exchange({
        path,
        body: [head, ...inputs.map(({ data }) => Buffer.from(data))],
        timeoutMs: RUN_MS,
        maxBytes: MAX_FRAME_BYTES,
      })
      return outputsOf(server, answer, signature.outputs)
    },
    async close() {
      server.close()
    },
  }
}

const headOf = (inputs: readonly Tensor[]) => ({
  inputs: inputs.map(({ name, datatype, shape, data }) => ({
    name,
    datatype,
    shape,
    parameters: { binary_data_size: data.length },
  })),
  parameters: { binary_data_output: true },
})

/** A tensor as the JSON of a server has it; every field may be anything. */
interface RemoteTensor {
  readonly name?: unknown
  readonly datatype?: unknown
  readonly shape?: unknown
  readonly parameters?: { readonly binary_data_size?: unknown } | null
}

function signatureOf(
  server: RemoteServer,
  json: unknown,
  maxItems: number | undefined,
): ModelSignature {
  const [inputs, outputs] = (['inputs', 'outputs'] as const).map((field) =>
    tensorsOf(json, field)?.map((tensor) => specOf(server, tensor)),
  )
  if (inputs === undefined || outputs === undefined) {
    throw server.wrong('describes the model without inputs and outputs')
  }
  const tensors = { inputs, outputs }
  // The protocol does not say whether rows are independent; who limits the items of a shared run does.
  return maxItems === undefined ? tensors : { ...tensors, maxItems, batches: true }
}

/** The tensors of a list in the JSON of a server; undefined where there is none. */
function tensorsOf(json: unknown, field: 'inputs' | 'outputs'): RemoteTensor[] | undefined {
  const list = (json as Record<string, unknown> | null)?.[field]
  const isList = Array.isArray(list) && list.every((one) => typeof one === 'object' && one !== null)
  return isList ? list : undefined
}

function specOf(server: RemoteServer, { name, datatype, shape }: RemoteTensor): TensorSpec {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw server.wrong('names a tensor with other than 1 to 200 printable characters of ASCII')
  }
  if (typeof datatype !== 'string' || !Object.hasOwn(DATATYPE_BYTES, datatype)) {
    throw server.wrong(`gives "${name}" an unknown datatype`)
  }
  const sizes = Array.isArray(shape) ? shape.map(Number) : undefined
  const isShape = sizes?.every((size) => Number.isSafeInteger(size) && size >= -1) === true
  if (!isShape || sizes.length > MAX_DIMENSIONS) {
    throw server.wrong(`gives "${name}" no shape`)
  }
  return {
    name,
    datatype: datatype as TensorDatatype,
    shape: sizes,
    itemAxis: sizes[0] === -1 ? 0 : null,
  }
}

/** The outputs, which the server may send in any order, as it promised them. */
function outputsOf(
  server: RemoteServer,
  { json, binary }: RemoteAnswer,
  specs: readonly TensorSpec[],
): Tensor[] {
  const byName = new Map<string, Tensor>()
  let at = 0
  for (const output of tensorsOf(json, 'outputs') ?? []) {
    const spec = specOf(server, output)
    const size = output.parameters?.binary_data_size
    if (size === undefined) throw server.wrong(`sent "${spec.name}" as JSON, not as bytes`)
    const isSize = Number.isSafeInteger(size) && (size as number) >= 0
    if (!isSize || at + (size as number) > binary.length) {
      throw server.wrong(`sent fewer bytes of "${spec.name}" than it says`)
    }
    const data = new Uint8Array(binary.subarray(at, at + (size as number)))
    at += size as number
    byName.set(spec.name, { ...spec, data })
  }
  return specs.map((spec) => promised(server, byName.get(spec.name), spec))
}

/** The output of a server, if it is what the server's description promises. */
function promised(server: RemoteServer, output: Tensor | undefined, spec: TensorSpec): Tensor {
  const { name, datatype, shape } = spec
  if (output === undefined) throw server.wrong(`sent no "${name}"`)
  if (output.datatype !== datatype) {
    throw server.wrong(`promised "${name}" as ${datatype} and sent ${output.datatype}`)
  }
  const fits =
    output.shape.length === shape.length &&
    output.shape.every((size, i) => size >= 0 && (shape[i] === -1 || shape[i] === size))
  if (!fits) throw server.wrong(`sent "${name}" in another shape than it promised`)
  const bytes = DATATYPE_BYTES[datatype] * output.shape.reduce((product, size) => product * size, 1)
  if (DATATYPE_BYTES[datatype] > 0 && output.data.length !== bytes) {
    throw server.wrong(`sent ${output.data.length} bytes of "${name}", its shape needs ${bytes}`)
  }
  return output
}
