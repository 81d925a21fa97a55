import { isWeirError, WeirError } from '../../core/errors.ts'
import { jsonOfRaw, rawOfJson } from '../../wire/inference/json-tensor.ts'
import { parseExactly, stringifyExactly } from '../../wire/inference/json-values.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import { partsSignature, wholeAnswer } from './parts-signature.ts'
import { eventsOf, type Json, requireGood } from './remote-events.ts'
import type { RemoteRequest, RemoteServer } from './remote-exchange.ts'

/** What the configuration of a model on another server says about its answers. */
export interface RemoteAnswers {
  /** They come in parts: Triton calls such a model decoupled. */
  readonly areInParts: boolean
  /** The first size of each tensor is that of the batch, which is 1 in the generate extension. */
  readonly isBatched: boolean
}

/**
 * Asks a server how a model answers. One without the configuration extension gives whole answers. Rejects with
 * MODEL_NOT_LOADED when the server does not answer.
 */
export async function remoteAnswersOf(
  server: RemoteServer,
  asked: RemoteRequest,
): Promise<RemoteAnswers> {
  try {
    const config = (await server.exchange(asked)).json as Json | null
    const policy = config?.['model_transaction_policy'] as Json | null | undefined
    return {
      areInParts: policy?.['decoupled'] === true,
      isBatched: Number(config?.['max_batch_size'] ?? 0) > 0,
    }
  } catch (error) {
    if (isWeirError(error, 'MODEL_NOT_LOADED')) throw error
    return { areInParts: false, isBatched: false }
  }
}

/**
 * A model on another server that answers in parts, through Triton's generate extension over HTTP. Its events have elements and no
 * shapes. Throws UNSUPPORTED for a model whose outputs could have several shapes then.
 */
export function remotePartsModel(
  server: RemoteServer,
  path: string,
  { signature, isBatched }: { readonly signature: ModelSignature; readonly isBatched: boolean },
): LoadedModel {
  const { inputs, outputs } = signature
  const forms = outputs.map((spec) => formOf(server, spec, isBatched))
  const parts = (given: readonly Tensor[], signal: AbortSignal) =>
    streamed(server, `${path}/generate_stream`, { inputs: given, forms, signal })
  return {
    // Requests share no run, so no tensor has items.
    signature: partsSignature({ inputs: inputs.map(apart), outputs: outputs.map(apart) }),
    parts,
    run: (given) => wholeAnswer(parts, given),
    async close() {
      server.close()
    },
  }
}

const apart = (spec: TensorSpec): TensorSpec => ({ ...spec, itemAxis: null })

/** An output and the shape of so many elements of it. */
interface OutputForm {
  readonly spec: TensorSpec
  readonly shapeOf: (elements: number) => readonly number[]
}

function formOf(server: RemoteServer, spec: TensorSpec, isBatched: boolean): OutputForm {
  const sizes = isBatched && spec.shape[0] === -1 ? [1, ...spec.shape.slice(1)] : spec.shape
  const free = sizes.filter((size) => size === -1).length
  if (free > 1) {
    const message = `the model server ${server.name} gives "${spec.name}" of the shape [${spec.shape.join(', ')}] in parts, whose elements come without their shape over HTTP; one size may be free`
    throw new WeirError('UNSUPPORTED', message)
  }
  const known = sizes.reduce((product, size) => (size === -1 ? product : product * size), 1)
  return {
    spec,
    shapeOf: (elements) => sizes.map((size) => (size === -1 ? elements / known : size)),
  }
}

async function* streamed(
  server: RemoteServer,
  path: string,
  {
    inputs,
    forms,
    signal,
  }: {
    readonly inputs: readonly Tensor[]
    readonly forms: readonly OutputForm[]
    readonly signal: AbortSignal
  },
): AsyncGenerator<readonly Tensor[]> {
  const fields = inputs.map((tensor) => [tensor.name, fieldOf(tensor)])
  const body = stringifyExactly(Object.fromEntries(fields))
  const response = await server.open(path, body, signal)
  try {
    requireGood(server, response)
    for await (const text of eventsOf(server, response)) yield outputsOf(server, text, forms)
  } catch (error) {
    throw server.errorOf(error, signal)
  } finally {
    response.destroy()
  }
}

/** The value of a field: one element by itself, others as a list nested by dimension. */
function fieldOf(tensor: Tensor): unknown {
  const elements = jsonOfRaw(tensor)
  if (elements.length === 1) return elements[0]
  return tensor.shape
    .slice(1)
    .reduceRight<unknown[]>((inner, size) => divided(inner, size), elements)
}

const divided = (elements: readonly unknown[], size: number): unknown[] =>
  Array.from({ length: elements.length / size }, (_, i) => elements.slice(i * size, (i + 1) * size))

function outputsOf(server: RemoteServer, text: string, forms: readonly OutputForm[]): Tensor[] {
  const event = parseExactly(text) as Json
  return forms.map(({ spec: { name, datatype }, shapeOf }) => {
    const value = event[name]
    if (value === undefined) throw server.wrong(`sent a part without "${name}"`)
    const data = (Array.isArray(value) ? value : [value]).flat(Infinity)
    try {
      return rawOfJson({ name, datatype, shape: shapeOf(data.length), data })
    } catch {
      throw server.wrong(`sent a part whose "${name}" is not what it promised`)
    }
  })
}
