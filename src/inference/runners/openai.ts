import type { IncomingMessage } from 'node:http'
import { isWeirError, requireArgument, WeirError } from '../../core/errors.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { ModelSource } from '../port/model.ts'
import { OPENAI_OPERATIONS, OPENAI_SIGNATURE, textOf, textTensor } from '../port/openai.ts'
import type { LoadedModel, RunnerOptions } from '../port/runner.ts'
import type { Tensor } from '../port/tensor.ts'
import { partsSignature, wholeAnswer } from './parts-signature.ts'
import { eventsOf, type Json, jsonOf, requireGood } from './remote-events.ts'
import { RemoteServer } from './remote-exchange.ts'

type RemoteSource = Extract<ModelSource, { kind: 'remote' }>

/** Time in which a server must list its models, ms. */
const LIST_MS = 5_000
const MAX_LIST_BYTES = 1024 * 1024

/**
 * Opens a model of a server that speaks OpenAI's interface. Rejects with MODEL_NOT_LOADED when the server does not answer,
 * and with MODEL_FAILED when it lists its models and does not have this one.
 */
export async function loadOpenAi(
  { url, model }: RemoteSource,
  { remoteKey }: Pick<RunnerOptions, 'remoteKey'>,
): Promise<LoadedModel> {
  const server = new RemoteServer(url, remoteKey)
  try {
    await requireListed(server, model)
  } catch (error) {
    server.close()
    throw error
  }
  const parts = (
    inputs: readonly Tensor[],
    signal: AbortSignal,
  ): AsyncGenerator<readonly Tensor[]> => relayed(server, model, { inputs, signal })
  return {
    signature: partsSignature(OPENAI_SIGNATURE),
    parts,
    run: (inputs) => wholeAnswer(parts, inputs),
    async close() {
      server.close()
    },
  }
}

async function requireListed(server: RemoteServer, model: string): Promise<void> {
  const asked = { path: '/v1/models', timeoutMs: LIST_MS, maxBytes: MAX_LIST_BYTES }
  try {
    const { json } = await server.exchange(asked)
    const data = (json as Json | null)?.['data']
    const isThere = !Array.isArray(data) || data.some((one: Json | null) => one?.['id'] === model)
    if (isThere) return
  } catch (error) {
    // A server that refuses to list its models may still run this one.
    if (isWeirError(error, 'MODEL_FAILED')) return
    throw error
  }
  const message = `the model server ${server.name} does not list the model "${model}"; "model" of model.json is its name there`
  throw new WeirError('MODEL_FAILED', message)
}

async function* relayed(
  server: RemoteServer,
  model: string,
  { inputs, signal }: { readonly inputs: readonly Tensor[]; readonly signal: AbortSignal },
): AsyncGenerator<readonly Tensor[]> {
  const [operation, request] = inputs.map(textOf)
  const known = OPENAI_OPERATIONS.find((one) => one === operation)
  requireArgument(known !== undefined, `the operations are ${OPENAI_OPERATIONS.join(' and ')}`)
  const body = { ...(jsonOf(request) ?? notJson()), model }
  const response = await server.open(`/v1/${known}`, JSON.stringify(body), signal)
  try {
    requireGood(server, response)
    const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true
    const answers = isStream ? eventsOf(server, response, '[DONE]') : wholeOf(server, response)
    for await (const text of answers) yield [textTensor('openai_answer', text)]
  } catch (error) {
    throw server.errorOf(error, signal)
  } finally {
    response.destroy()
  }
}

function notJson(): never {
  throw new WeirError('INVALID_ARGUMENT', 'openai_request is no JSON object')
}

async function* wholeOf(server: RemoteServer, response: IncomingMessage): AsyncGenerator<string> {
  const text = (await server.bodyOf(response, MAX_FRAME_BYTES)).toString('utf8')
  if (jsonOf(text) === undefined) throw server.wrong('sent an answer that is no JSON object')
  yield text
}
