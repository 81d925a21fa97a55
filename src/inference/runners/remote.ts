import type { Agent as HttpAgent, IncomingMessage } from 'node:http'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { Agent, request } from '../../http/builtin.ts'
import type { ModelSource } from '../port/model.ts'
import type { LoadedModel, RunnerOptions } from '../port/runner.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor, type TensorDatatype } from '../port/tensor.ts'
import { declaredSignature } from './item-axes.ts'

type RemoteSource = Extract<ModelSource, { kind: 'remote' }>

/** Header of the length of the JSON part, of the binary tensor extension. */
const JSON_LENGTH = 'inference-header-content-length'

/**
 * Opens a model of a server that speaks the Open Inference Protocol v2 over HTTP with binary tensors. Throws
 * MODEL_NOT_LOADED when the server cannot be reached, MODEL_FAILED when it does not have the model.
 */
export async function loadRemote(
  source: RemoteSource,
  options: RunnerOptions,
): Promise<LoadedModel> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const version =
    source.version === undefined ? '' : `/versions/${encodeURIComponent(source.version)}`
  const path = `/v2/models/${encodeURIComponent(source.model)}${version}`
  const target = { base: source.url, agent }
  try {
    const { json } = await exchange(target, path)
    const signature =
      options.signature ?? declaredSignature(signatureOf(json, source.maxItems), options)
    return remoteModel(target, `${path}/infer`, signature)
  } catch (error) {
    agent.destroy()
    throw asWeirError(error, 'MODEL_NOT_LOADED', `${source.url}${path}`)
  }
}

interface Target {
  readonly base: string
  readonly agent: HttpAgent
}

function remoteModel(target: Target, path: string, signature: ModelSignature): LoadedModel {
  return {
    signature,
    async run(inputs) {
      const answer = await exchange(target, path, inputs)
      return outputsOf(answer, signature.outputs)
    },
    async close() {
      target.agent.destroy()
    },
  }
}

interface Answer {
  readonly json: unknown
  /** What follows the JSON part. */
  readonly binary: Buffer
}

/** One HTTP exchange: a GET without tensors, else an inference request. */
function exchange(target: Target, path: string, inputs?: readonly Tensor[]): Promise<Answer> {
  const head = inputs === undefined ? undefined : Buffer.from(JSON.stringify(headOf(inputs)))
  const length = (inputs ?? []).reduce((sum, { data }) => sum + data.length, head?.length ?? 0)
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, target.base),
      {
        agent: target.agent,
        method: head === undefined ? 'GET' : 'POST',
        headers:
          head === undefined
            ? {}
            : {
                'content-type': 'application/octet-stream',
                [JSON_LENGTH]: head.length,
                'content-length': length,
              },
      },
      (response) => readAnswer(response).then(resolve, reject),
    )
    sent.on('error', (error) =>
      reject(
        new WeirError('MODEL_NOT_LOADED', `${target.base} does not answer: ${messageOf(error)}`, {
          cause: error,
        }),
      ),
    )
    if (head !== undefined) {
      sent.write(head)
      for (const { data } of inputs ?? []) sent.write(Buffer.from(data))
    }
    sent.end()
  })
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

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part)
  const body = Buffer.concat(parts)
  const status = response.statusCode ?? 0
  if (status !== 200) {
    const code = status === 503 || status === 429 ? 'MODEL_NOT_LOADED' : 'MODEL_FAILED'
    throw new WeirError(code, `HTTP ${status}: ${body.toString('utf8', 0, 500)}`)
  }
  const jsonLength = Number(response.headers[JSON_LENGTH] ?? body.length)
  try {
    return {
      json: JSON.parse(body.toString('utf8', 0, jsonLength)),
      binary: body.subarray(jsonLength),
    }
  } catch (error) {
    throw asWeirError(error, 'MODEL_FAILED', 'the answer is no JSON')
  }
}

interface RemoteTensor {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly number[]
  readonly parameters?: { readonly binary_data_size?: number }
}

function signatureOf(json: unknown, maxItems: number | undefined): ModelSignature {
  const { inputs, outputs } = json as { inputs?: RemoteTensor[]; outputs?: RemoteTensor[] }
  if (!Array.isArray(inputs) || !Array.isArray(outputs)) {
    throw new WeirError('MODEL_FAILED', 'the metadata has no inputs and outputs')
  }
  const tensors = { inputs: inputs.map(specOf), outputs: outputs.map(specOf) }
  // The protocol does not say whether rows are independent; who limits the items of a shared run does.
  return maxItems === undefined ? tensors : { ...tensors, maxItems, batches: true }
}

function specOf({ name, datatype, shape }: RemoteTensor): TensorSpec {
  if (!Object.hasOwn(DATATYPE_BYTES, datatype)) {
    throw new WeirError('MODEL_FAILED', `"${name}" has the unknown datatype ${datatype}`)
  }
  const sizes = shape.map(Number)
  return {
    name,
    datatype: datatype as TensorDatatype,
    shape: sizes,
    itemAxis: sizes[0] === -1 ? 0 : null,
  }
}

/** The outputs, which the server may send in any order. */
function outputsOf({ json, binary }: Answer, specs: readonly TensorSpec[]): Tensor[] {
  const { outputs } = json as { outputs?: readonly RemoteTensor[] }
  const byName = new Map<string, Tensor>()
  let at = 0
  for (const output of outputs ?? []) {
    const size = output.parameters?.binary_data_size
    if (size === undefined) {
      throw new WeirError('MODEL_FAILED', `the server sent "${output.name}" as JSON, not as bytes`)
    }
    const data = new Uint8Array(binary.subarray(at, at + size))
    at += size
    byName.set(output.name, { ...specOf(output), shape: output.shape.map(Number), data })
  }
  return specs.map((spec) => {
    const tensor = byName.get(spec.name)
    if (tensor === undefined) throw new WeirError('MODEL_FAILED', `the answer lacks "${spec.name}"`)
    return tensor
  })
}
