import type { FastifyInstance } from 'fastify'
import { asWeirError, WeirError } from '../../core/errors.ts'
import { modelObject } from '../../http/access/object-rights.ts'
import { JSON_LIMITS } from '../../http/json-body.ts'
import { mayOf, requireMayOf, sharerOf } from '../../http/principal.ts'
import {
  OPENAI_OPERATIONS,
  OPENAI_SIGNATURE,
  type OpenAiOperation,
  textOf,
  textTensor,
} from '../../inference/port/openai.ts'
import { addErrorHandlers } from '../http/error-handlers.ts'
import { namedModel } from '../http/objects.ts'
import { type Problem, problemOf } from '../http/problem.ts'
import { givenQueryOptions, QUERY_OPTION_SCHEMAS } from '../http/query-options.ts'
import { ownerOf } from '../http/socket-owner.ts'
import type { InferenceTarget } from '../inference/answers.ts'
import { documented, documentedJson } from '../inference/documented.ts'
import type { ModelRepository, ServedModelEntry } from '../inference/repository.ts'
import { takeAnyBody } from '../inference/routes.ts'
import { bytesOfData } from '../inference/tensor.ts'
import type { AnswerPart, PartsAnswers } from './answers.ts'
import { sendEvents } from './events.ts'
import { OPENAI_ANSWER, OPENAI_BODY, OPENAI_MODEL, OPENAI_MODELS, OPENAI_NAME } from './schemas.ts'

const NO_BODY = Buffer.alloc(0)
const [, REQUEST_INPUT] = OPENAI_SIGNATURE.inputs

interface Asked {
  readonly model: string
  readonly stream?: boolean
  readonly [field: string]: unknown
}

/** The models and answers behind the routes. */
export interface OpenAiOptions {
  readonly repository: ModelRepository
  readonly parts: PartsAnswers
}

/** Adds OpenAI's interface for the models that speak it: those of servers with `"protocol": "openai"`. */
export function addOpenAiRoutes(app: FastifyInstance, { repository, parts }: OpenAiOptions): void {
  void app.register(async (routes) => {
    addErrorHandlers(routes, (problem) => ({ error: errorOf(problem) }))
    takeAnyBody(routes)
    for (const operation of OPENAI_OPERATIONS)
      addOperation(routes, operation, { repository, parts })
    routes.get(
      '/v1/models',
      documented("Models that speak OpenAI's interface", { response: OPENAI_MODELS }),
      async (request) => ({
        object: 'list',
        data: (await repository.all())
          .filter(({ info }) => mayOf(request, 'read', modelObject(info.name)))
          .filter(speaksOpenAi)
          .map(({ info }) => modelOf(info.name)),
      }),
    )
    routes.get<{ Params: { model: string } }>(
      '/v1/models/:model',
      documented(
        "A model that speaks OpenAI's interface",
        { params: OPENAI_NAME, response: OPENAI_MODEL },
        { on: namedModel, problems: [404] },
      ),
      async (request) => {
        const { model } = request.params
        requireSpeaks(await repository.find(model, undefined))
        return modelOf(model)
      },
    )
  })
}

function addOperation(
  app: FastifyInstance,
  operation: OpenAiOperation,
  { repository, parts }: OpenAiOptions,
): void {
  const { headers } = QUERY_OPTION_SCHEMAS
  app.post<{ Body: Buffer | undefined }>(
    `/v1/${operation}`,
    documented(
      `OpenAI's ${operation}, answered by the server behind the model`,
      { headers, body: OPENAI_BODY, response: OPENAI_ANSWER },
      { role: 'read', problems: [404], bodyLimit: JSON_LIMITS.bytes },
    ),
    async (request, reply) => {
      const options = givenQueryOptions(request.headers)
      const asked = documentedJson<Asked>(request, OPENAI_BODY, request.body ?? NO_BODY)
      const { model, stream = false } = asked
      requireMayOf(request, 'read', modelObject(model))
      requireSpeaks(await repository.find(model, undefined))
      const by = { owner: ownerOf(request.raw.socket), client: sharerOf(request) }
      const call = callOf(asked, operation, { options, ...by })
      if (!stream) {
        const text = answerOf(await parts.only(...call), model)
        return reply.type('application/json; charset=utf-8').send(Buffer.from(text))
      }
      await sendEvents(reply, {
        data: texts(parts.parts(...call), model),
        failure: (error) =>
          JSON.stringify({ error: errorOf(problemOf(asWeirError(error, 'ILLEGAL_STATE'))) }),
        last: '[DONE]',
      })
      return reply
    },
  )
}

function callOf(
  asked: Asked,
  operation: OpenAiOperation,
  given: Pick<InferenceTarget, 'options' | 'owner' | 'client'>,
): Parameters<PartsAnswers['parts']> {
  const values = [operation, JSON.stringify(asked)]
  const inputs = OPENAI_SIGNATURE.inputs.map(({ name }, i) => textTensor(name, values[i]!))
  return [
    { model: asked.model, version: undefined, ...given },
    (requests) =>
      requests.readParts(
        {
          inputs: inputs.map(({ name, datatype, shape, data }) => ({
            name,
            datatype,
            shape,
            parameters: { binary_data_size: data.length },
          })),
        },
        inputs.map(({ data }) => data),
      ),
  ]
}

async function* texts(parts: AsyncGenerator<AnswerPart>, model: string): AsyncGenerator<string> {
  for await (const part of parts) yield answerOf(part, model)
}

/** A piece of an answer, in which the model has the name that the client knows. */
function answerOf({ outputs }: AnswerPart, model: string): string {
  const text = textOf({ data: bytesOfData(outputs[0]!) })
  return JSON.stringify({ ...(JSON.parse(text) as object), model })
}

const modelOf = (id: string) => ({ id, object: 'model', created: 0, owned_by: 'weir' })

const speaksOpenAi = ({ model }: Pick<ServedModelEntry, 'model'>): boolean =>
  model.inputs.some(({ name }) => name === REQUEST_INPUT.name)

function requireSpeaks(entry: ServedModelEntry): void {
  const { info } = entry
  // A model that is not loaded has no inputs yet, and says itself why.
  if (info.liveVersion === 0 || speaksOpenAi(entry)) return
  const message = `model "${info.name}" does not speak OpenAI's interface; ask /v2/models/${info.name}`
  throw new WeirError('UNKNOWN_MODEL', message)
}

/** An error as clients of OpenAI read it. */
function errorOf({ detail, code, status }: Problem) {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  return { message: detail, type, code, param: null }
}
