import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { requireArgument } from '../../core/errors.ts'
import { JSON_LIMITS, parseJsonBody } from '../../http/json-body.ts'
import { parseExactly, stringifyExactly } from '../../wire/inference/json-values.ts'
import { namedModel } from '../http/objects.ts'
import { givenQueryOptions, QUERY_OPTION_SCHEMAS } from '../http/query-options.ts'
import { ownerOf } from '../http/socket-owner.ts'
import { documented } from './documented.ts'
import type { ModelRepository } from './repository.ts'
import { JSON_ANSWER, JSON_BODY, MODEL_PARAMETERS } from './schemas.ts'

/** Path of a model. */
interface ModelPath {
  readonly Params: { readonly model: string }
  readonly Body: Buffer | undefined
}

const NO_BODY = Buffer.alloc(0)
const PARAMS = {
  type: 'object',
  required: ['model'],
  properties: { model: MODEL_PARAMETERS.model },
}

/** Route of models that take and give objects: `transforms: { json: true }` in their settings. */
export const JSON_ROUTE = '/v2/models/:model/json'

/** Adds the route that runs a model on an object, or on a list of objects. */
export function addJsonRoute(app: FastifyInstance, repository: ModelRepository): void {
  app.post<ModelPath>(
    JSON_ROUTE,
    documented(
      'Run a model that takes objects on one, or on a list of them',
      {
        params: PARAMS,
        headers: QUERY_OPTION_SCHEMAS.headers,
        body: JSON_BODY,
        response: JSON_ANSWER,
      },
      { on: namedModel, role: 'read', problems: [404, 422], bodyLimit: JSON_LIMITS.bytes },
    ),
    async (request, reply) => await inferObjects(repository, request, reply),
  )
}

async function inferObjects(
  repository: ModelRepository,
  { params, body, headers, raw }: FastifyRequest<ModelPath>,
  reply: FastifyReply,
): Promise<string> {
  const { model: name } = params
  const options = givenQueryOptions(headers)
  const { model } = await repository.find(name, undefined)
  const [input] = model.inputs
  requireArgument(
    input?.takes === 'json',
    `model "${name}" takes no objects; write "transforms: { json: true }" into its settings, or send tensors to /v2/models/${name}/infer`,
  )
  const value = parseJsonBody(body ?? NO_BODY, JSON_LIMITS, parseExactly)
  const isList = Array.isArray(value)
  requireArgument(
    typeof value === 'object' && value !== null,
    'the body is no object of JSON and no list of objects',
  )
  const data = (isList ? value : [value]).map(stringifyExactly)
  const tensor = { name: input.name, datatype: input.datatype, shape: [data.length], data }
  const owner = ownerOf(raw.socket)
  const { outputs } = await model.infer(name, [tensor], options, { owner })
  // The model has written the objects already: their numbers keep all digits.
  const texts = outputs[0]!.data as readonly string[]
  reply.type('application/json; charset=utf-8')
  return isList ? `[${texts.join(',')}]` : texts[0]!
}
