import type { IncomingMessage } from 'node:http'
import { isWeirError, requireArgument, WeirError } from '../../core/errors.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import type { ModelSource } from '../port/model.ts'
import { OPENAI_OPERATIONS, OPENAI_SIGNATURE, textOf, textTensor } from '../port/openai.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { Tensor } from '../port/tensor.ts'
import { partsSignature, wholeAnswer } from './parts-signature.ts'
import { RemoteServer } from './remote-exchange.ts'

type RemoteSource = Extract<ModelSource, { kind: 'remote' }>
type Json = Readonly<Record<string, unknown>>

/** Time in which a server must list its models, ms. */
const LIST_MS = 5_000
const MAX_LIST_BYTES = 1024 * 1024
/** Most connections to a server at a time; answers in parts keep theirs until the end. */
const MOST_CONNECTIONS = 1024
/** Bytes of the longest event of an answer. */
const MAX_EVENT_BYTES = 1024 * 1024

/**
 * Opens a model of a server that speaks OpenAI's interface. Rejects with MODEL_NOT_LOADED when the server does not answer,
 * and with MODEL_FAILED when it lists its models and does not have this one.
 */
export async function loadOpenAi({ url, model }: RemoteSource): Promise<LoadedModel> {
  const server = new RemoteServer(url, MOST_CONNECTIONS)
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
    const answers = isStream ? eventsOf(server, response) : wholeOf(server, response)
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

function requireGood(server: RemoteServer, { statusCode: status = 0 }: IncomingMessage): void {
  if (status === 200) return
  const message = `the model server ${server.name} answered with HTTP ${status}`
  if (status === 429 || status === 503) throw new WeirError('MODEL_NOT_LOADED', message)
  // What it says of a token is about the operator of this server, not about who asks.
  const isRefused = status >= 400 && status < 500 && status !== 401 && status !== 403
  if (!isRefused) throw new WeirError('REMOTE_MODEL_FAILED', message)
  throw new WeirError('INVALID_ARGUMENT', `${message}: it refuses the request`)
}

async function* wholeOf(server: RemoteServer, response: IncomingMessage): AsyncGenerator<string> {
  const text = (await server.bodyOf(response, MAX_FRAME_BYTES)).toString('utf8')
  if (jsonOf(text) === undefined) throw server.wrong('sent an answer that is no JSON object')
  yield text
}

/** The data of server-sent events until `[DONE]`. */
async function* eventsOf(server: RemoteServer, response: IncomingMessage): AsyncGenerator<string> {
  let rest = ''
  response.setEncoding('utf8')
  for await (const piece of response as AsyncIterable<string>) {
    const events = (rest + piece).replaceAll('\r\n', '\n').split('\n\n')
    rest = events.pop()!
    if (rest.length > MAX_EVENT_BYTES) {
      throw server.wrong(`sent an event of more than ${MAX_EVENT_BYTES} bytes`)
    }
    for (const event of events) {
      const data = dataOf(event)
      if (data === '[DONE]') return
      // A comment keeps the connection alive.
      if (data === undefined) continue
      const json = jsonOf(data)
      if (json === undefined) throw server.wrong('sent an event that is no JSON object')
      if (json['error'] !== undefined)
        throw server.wrong('sent an error in the middle of its answer')
      yield data
    }
  }
  throw server.wrong('ended its answer before [DONE]')
}

/** The data of an event; undefined for one without. */
function dataOf(event: string): string | undefined {
  const lines = event.split('\n').filter((line) => line.startsWith('data:'))
  return lines.length === 0
    ? undefined
    : lines.map((line) => line.slice('data:'.length).trimStart()).join('\n')
}

/** The JSON object of a text; undefined for anything else. */
function jsonOf(text: string | undefined): Json | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '')
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Json) : undefined
  } catch {
    return undefined
  }
}
