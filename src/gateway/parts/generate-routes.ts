import type { FastifyInstance, FastifyRequest } from 'fastify'
import { asWeirError, requireArgument } from '../../core/errors.ts'
import { JSON_LIMITS } from '../../http/json-body.ts'
import { sharerOf } from '../../http/principal.ts'
import { parseExactly } from '../../wire/inference/json-values.ts'
import { addErrorHandlers } from '../http/error-handlers.ts'
import { namedModel } from '../http/objects.ts'
import { inferenceProblem, problemOf } from '../http/problem.ts'
import { givenQueryOptions, QUERY_OPTION_SCHEMAS } from '../http/query-options.ts'
import { ownerOf } from '../http/socket-owner.ts'
import { documented } from '../inference/documented.ts'
import { type InferenceRequest, type ModelRequests, objectOf } from '../inference/message.ts'
import type { InferenceModel } from '../inference/model.ts'
import { answeredElements } from '../inference/model-answers.ts'
import { MODEL_PATHS, paramsOf, takeAnyBody } from '../inference/routes.ts'
import type { TensorMetadata } from '../inference/tensor.ts'
import type { AnswerPart, PartsAnswers } from './answers.ts'
import { sendEvents } from './events.ts'
import { GENERATE_ANSWER, GENERATE_BODY, GENERATE_STREAM_ANSWER } from './schemas.ts'

/** Path of a model, with or without a version. */
interface ModelPath {
  readonly Params: { readonly model: string; readonly version?: string }
  readonly Body: Buffer | undefined
}

const NO_BODY = Buffer.alloc(0)

/** Adds the generate extension: the answer of a model in parts as server-sent events, and an answer of one part as JSON. */
export function addGenerateRoutes(app: FastifyInstance, answers: PartsAnswers): void {
  void app.register(async (routes) => {
    addErrorHandlers(routes, ({ detail }) => ({ error: detail }))
    takeAnyBody(routes)
    for (const path of MODEL_PATHS) addTo(routes, path, answers)
  })
}

function addTo(app: FastifyInstance, path: string, answers: PartsAnswers): void {
  const extras = {
    on: namedModel,
    role: 'read',
    problems: [422, 501],
    bodyLimit: JSON_LIMITS.bytes,
  } as const
  const { headers } = QUERY_OPTION_SCHEMAS
  const of = { params: paramsOf(path), headers, body: GENERATE_BODY }
  app.post<ModelPath>(
    `${path}/generate`,
    documented(
      'Run a model on fields of JSON; an answer in several parts is refused',
      { ...of, response: GENERATE_ANSWER },
      extras,
    ),
    async (request, reply) => {
      const part = await answers.only(...askedBy(request))
      return reply.type('application/json; charset=utf-8').send(Buffer.from(generatedPart(part)))
    },
  )
  app.post<ModelPath>(
    `${path}/generate_stream`,
    documented(
      'Run a model on fields of JSON; each part of the answer is a server-sent event',
      { ...of, response: GENERATE_STREAM_ANSWER },
      extras,
    ),
    async (request, reply) => {
      await sendEvents(reply, {
        data: texts(answers.parts(...askedBy(request))),
        failure: (error) =>
          JSON.stringify(inferenceProblem(problemOf(asWeirError(error, 'ILLEGAL_STATE')))),
      })
      return reply
    },
  )
}

function askedBy(request: FastifyRequest<ModelPath>): Parameters<PartsAnswers['parts']> {
  const { params, body = NO_BODY, headers, raw } = request
  const { model, version } = params
  const by = { owner: ownerOf(raw.socket), client: sharerOf(request) }
  const target = { model, version, options: givenQueryOptions(headers), ...by }
  const json = objectOf(body, parseExactly)
  return [target, (requests, to) => generateRequest(json, requests, to)]
}

async function* texts(parts: AsyncGenerator<AnswerPart>): AsyncGenerator<string> {
  for await (const part of parts) yield generatedPart(part)
}

type Json = Readonly<Record<string, unknown>>

/*
 * The form of Triton's generate extension: inputs and outputs are fields of one object, without datatypes and shapes.
 *
 *   {"text_input": "hello", "parameters": {...}}   ->   {"model_name": "m", "model_version": "1", "text_output": "world"}
 */

/** The request of a body. Throws INVALID_ARGUMENT for a field that is no input, UNKNOWN_OPTION for a parameter. */
function generateRequest(
  body: Json,
  requests: ModelRequests,
  { inputs }: Pick<InferenceModel, 'inputs'>,
): InferenceRequest {
  const { id, parameters, ...fields } = withoutInputs(body, inputs)
  const [unknown] = Object.keys(fields)
  const known = inputs.map(({ name }) => name).join(', ')
  requireArgument(
    unknown === undefined,
    `no input is named "${unknown?.slice(0, 40)}"; the inputs are ${known}`,
  )
  const given = inputs.filter(({ name }) => Object.hasOwn(body, name))
  return requests.readParts(
    {
      ...(id === undefined ? {} : { id }),
      ...(parameters === undefined ? {} : { parameters }),
      inputs: given.map((input) => tensorOf(input, body[input.name])),
    },
    [],
  )
}

/** One part as an object of its outputs: an output of one element is that element, another one a list. */
function generatedPart({ head, outputs, request }: AnswerPart): string {
  const values = outputs.map((tensor) => {
    const elements = answeredElements(tensor, request)
    return [tensor.name, elements.length === 1 ? elements[0] : elements] as const
  })
  const id = request.id === undefined ? {} : { id: request.id }
  return JSON.stringify({ ...Object.fromEntries(values), ...head, ...id })
}

function withoutInputs(body: Json, inputs: readonly TensorMetadata[]): Json {
  const isInput = (name: string): boolean => inputs.some((input) => input.name === name)
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isInput(name)))
}

/** The input with the shape of its value; a value of fewer dimensions than the input has gets sizes of 1 before. */
function tensorOf({ name, datatype, shape: declared }: TensorMetadata, value: unknown): Json {
  const shape: number[] = []
  for (let level = value; Array.isArray(level); level = level[0]) shape.push(level.length)
  const missing = Math.max(0, declared.length - shape.length)
  const data = Array.isArray(value) ? value.flat(Infinity) : [value]
  return { name, datatype, shape: [...Array<number>(missing).fill(1), ...shape], data }
}
