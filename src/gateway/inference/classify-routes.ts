import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requireArgument, WeirError } from '../../core/errors.ts'
import { modelObject } from '../../http/access/object-rights.ts'
import { JSON_LIMITS } from '../../http/json-body.ts'
import { requireMayOf } from '../../http/principal.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import { namedModel } from '../http/objects.ts'
import { givenQueryOptions, QUERY_OPTION_SCHEMAS } from '../http/query-options.ts'
import type { GatewayServices } from '../port/services.ts'
import { bestClasses } from './classification.ts'
import { documented, documentedJson } from './documented.ts'
import { requireModelControl } from './model-control.ts'
import { type ModelRepository, versionNumber } from './repository.ts'
import { CLASSIFY_ANSWER, CLASSIFY_BODY, REGISTER_ANSWER, REGISTER_PARAMETERS } from './schemas.ts'
import { dataOfJson, type Tensor, type TensorMetadata } from './tensor.ts'

/** Classes of an answer that asks for no number of them. */
const DEFAULT_TOP = 5
const NO_BODY = Buffer.alloc(0)

/** Body of a classification, after its schema. */
interface Classification {
  readonly model: string
  readonly input: unknown
  readonly output?: string
  readonly top?: number
}

/** Query of a registration. */
interface RegisterQuery {
  readonly name?: string
  readonly version?: string
  readonly format?: string
}

/**
 * Adds Rafiqi's two endpoints: `/register` stores a model, where clients may; `/classify` returns the best classes
 * of an input.
 */
export function addClassifyRoutes(
  app: FastifyInstance,
  repository: ModelRepository,
  modelControl: GatewayServices['modelControl'],
): void {
  app.post<{ Body: Buffer | undefined }>(
    '/classify',
    documented(
      'The best classes of an input',
      { headers: QUERY_OPTION_SCHEMAS.headers, body: CLASSIFY_BODY, response: CLASSIFY_ANSWER },
      { role: 'read', problems: [404, 422, 501], bodyLimit: JSON_LIMITS.bytes },
    ),
    async (request) =>
      await classify(
        repository,
        request,
        documentedJson<Classification>(request, CLASSIFY_BODY, request.body ?? NO_BODY),
      ),
  )
  const registry = modelControl?.registry
  app.post<{ Body: Buffer | undefined; Querystring: RegisterQuery }>(
    '/register',
    {
      ...documented(
        'Store a model in the repository of --repository; its bytes are the body. Refused without --model-control',
        { querystring: REGISTER_PARAMETERS, response: REGISTER_ANSWER },
        {
          role: 'admin',
          on: namedModel,
          change: 'register',
          problems: [409, 501, 507],
          bodyLimit: MAX_FRAME_BYTES,
        },
      ),
      onRequest: requireModelControl(modelControl),
    },
    async ({ query, body }) => {
      if (registry === undefined) {
        throw new WeirError(
          'UNSUPPORTED',
          'this gateway has no folder of models; start it with --repository DIR',
        )
      }
      const { name, version, format = 'onnx' } = query
      requireArgument(typeof name === 'string', 'the query has no name: /register?name=NAME')
      requireArgument(body !== undefined && body.length > 0, 'the body is empty; send the model')
      const { file: _, ...pushed } = await registry.register({
        name,
        format,
        bytes: body,
        ...(version === undefined ? {} : { version: versionNumber(version) }),
      })
      return pushed
    },
  )
}

async function classify(
  repository: ModelRepository,
  request: FastifyRequest,
  { model: name, input, output, top = DEFAULT_TOP }: Classification,
) {
  requireMayOf(request, 'read', modelObject(name))
  const options = givenQueryOptions(request.headers)
  const { model } = await repository.find(name, undefined)
  const inputs = inputsOf(input, model.inputs)
  const { outputs, modelVersion } = await model.infer(name, inputs, options)
  const scores = outputs.find((one) => output === undefined || one.name === output)
  requireArgument(
    scores !== undefined,
    `no output is named "${output?.slice(0, 40)}"; the outputs are ${outputs.map((one) => one.name).join(', ')}`,
  )
  return {
    model: name,
    version: String(modelVersion),
    predictions: bestClasses(scores, top),
  }
}

/** The tensors of `input`: values by input, or the values of the only input. */
function inputsOf(input: unknown, wanted: readonly TensorMetadata[]): Tensor[] {
  const [only] = wanted
  if (Array.isArray(input) && wanted.length === 1) return [tensorOf(only!, input)]
  requireArgument(
    typeof input === 'object' && input !== null && !Array.isArray(input),
    `"input" is a list of values, or values by input: ${wanted.map(({ name }) => name).join(', ')}`,
  )
  return Object.entries(input).map(([name, values]) => {
    const metadata = wanted.find((one) => one.name === name)
    requireArgument(metadata !== undefined, `no input is named "${name.slice(0, 40)}"`)
    return tensorOf(metadata, values)
  })
}

function tensorOf(metadata: TensorMetadata, values: unknown): Tensor {
  requireArgument(Array.isArray(values), `input "${metadata.name}" is a list, nested by dimension`)
  const shape: number[] = []
  for (let level: unknown = values; Array.isArray(level); level = level[0]) shape.push(level.length)
  const tensor = { name: metadata.name, datatype: metadata.datatype, shape }
  return { ...tensor, data: dataOfJson(tensor, values) }
}
