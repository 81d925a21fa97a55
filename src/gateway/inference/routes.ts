import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { modelObject } from '../../http/access/object-rights.ts'
import { mayOf, sharerOf } from '../../http/principal.ts'
import { MAX_FRAME_BYTES } from '../../wire/frame.ts'
import { addErrorHandlers } from '../http/error-handlers.ts'
import { namedModel } from '../http/objects.ts'
import { givenQueryOptions, QUERY_OPTION_SCHEMAS } from '../http/query-options.ts'
import { ownerOf } from '../http/socket-owner.ts'
import type { GatewayServices, ServedState } from '../port/services.ts'
import { requireLiveModel } from '../routes/live-model.ts'
import { requireLive, requireReady } from '../routes/require-live.ts'
import type { InferenceAnswers } from './answers.ts'
import { addClassifyRoutes } from './classify-routes.ts'
import { configOf, indexOf, metadataOf } from './descriptions.ts'
import { documented, documentedJson } from './documented.ts'
import { addJsonRoute } from './json-routes.ts'
import { JSON_LENGTH_HEADER } from './message.ts'
import { requireModelControl } from './model-control.ts'
import { type ModelRepository, type ServedModelEntry, versionNumber } from './repository.ts'
import {
  CHANGE_BODIES,
  CHANGED,
  CONFIG_ANSWER,
  INDEX_ANSWER,
  INDEX_BODY,
  INFER_ANSWER,
  INFER_BODY,
  LIVE_ANSWER,
  MODEL_ANSWER,
  MODEL_PARAMETERS,
  READY_ANSWER,
  SERVER_ANSWER,
  STATISTICS_ANSWER,
} from './schemas.ts'
import type { InferenceStatistics } from './statistics.ts'

/** Options of the routes. */
export interface InferenceOptions {
  readonly state: ServedState
  readonly repository: ModelRepository
  readonly answers: InferenceAnswers
  readonly statistics: InferenceStatistics
  /** Lets clients change models; undefined when they may not. */
  readonly modelControl?: GatewayServices['modelControl'] | undefined
  /** Version of the server in its metadata. */
  readonly version: string
}

/** Path of a model, with or without a version. */
interface ModelPath {
  readonly Params: { readonly model: string; readonly version?: string }
}

/** A route about the model in its path. */
const ON_MODEL = { on: namedModel }

const NO_BODY = Buffer.alloc(0)

/** Paths of a model: its live version, and the one in the path. */
export const MODEL_PATHS = ['/v2/models/:model', '/v2/models/:model/versions/:version'] as const

/** Routes that run a model: its live version, and the one in the path. */
export const INFER_ROUTES = MODEL_PATHS.map((path) => `${path}/infer`)

/** Extensions of the protocol that the server has. */
const EXTENSIONS = [
  'binary_tensor_data',
  'classification',
  'generate',
  'model_repository',
  'model_configuration',
  'statistics',
  'sequence',
]

/**
 * Adds the Open Inference Protocol v2 with the extensions for binary tensors, repository, configuration and
 * statistics. Errors have the field `error` besides those of a problem, because clients read it.
 */
export function addInferenceRoutes(app: FastifyInstance, options: InferenceOptions): void {
  void app.register(async (routes) => {
    addErrorHandlers(routes, ({ detail }) => ({ error: detail }))
    takeAnyBody(routes)
    new InferenceRoutes(options).add(routes)
    addClassifyRoutes(routes, options.repository, options.modelControl)
    addJsonRoute(routes, options.repository)
  })
}

/** Clients send JSON and tensors under any media type, or none: the routes get bodies as bytes. */
export function takeAnyBody(routes: FastifyInstance): void {
  routes.removeAllContentTypeParsers()
  routes.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  )
}

/** Schema of the parameters of a path, for the document. */
export function paramsOf(path: string): object {
  const properties: Record<string, object> = { model: MODEL_PARAMETERS.model }
  if (path.includes(':version')) properties['version'] = MODEL_PARAMETERS.version
  return { type: 'object', required: Object.keys(properties), properties }
}

class InferenceRoutes {
  private readonly options: InferenceOptions
  private readonly repository: ModelRepository
  private readonly statistics: InferenceStatistics

  constructor(options: InferenceOptions) {
    this.options = options
    this.statistics = options.statistics
    this.repository = options.repository
  }

  add(app: FastifyInstance): void {
    const { state, version } = this.options
    app.get(
      '/v2',
      documented('Name, version and extensions of the server', { response: SERVER_ANSWER }),
      async () => ({ name: 'weir', version, extensions: EXTENSIONS }),
    )
    app.get(
      '/v2/health/live',
      documented('Whether the server runs', { response: LIVE_ANSWER }, { role: 'public' }),
      async () => ({ live: true }),
    )
    app.get(
      '/v2/health/ready',
      documented(
        'Whether each model answers that was there at the start, or has answered since',
        { response: READY_ANSWER },
        { role: 'public' },
      ),
      async () => {
        await requireLiveModel(state)
        return { ready: true }
      },
    )
    this.addModels(app)
    this.addRepository(app)
  }

  private addModels(app: FastifyInstance): void {
    for (const path of MODEL_PATHS) {
      const params = paramsOf(path)
      app.get<ModelPath>(
        path,
        documented('Inputs and outputs of a model', { params, response: MODEL_ANSWER }, ON_MODEL),
        async ({ params }) => metadataOf(await this.repository.find(params.model, params.version)),
      )
      app.get<ModelPath>(
        `${path}/ready`,
        documented('Whether a model can answer', { params, response: READY_ANSWER }, ON_MODEL),
        async ({ params }) => {
          const entry = await this.repository.findNow(params.model, params.version)
          if (params.version === undefined) requireLive(entry)
          else requireReady(entry, versionNumber(params.version))
          const { problems } = entry
          return { name: params.model, ready: true, ...(problems.length > 0 ? { problems } : {}) }
        },
      )
      app.get<ModelPath>(
        `${path}/config`,
        documented(
          "A model in Triton's configuration",
          { params, response: CONFIG_ANSWER },
          ON_MODEL,
        ),
        async ({ params }) => configOf(await this.repository.find(params.model, params.version)),
      )
      app.get<ModelPath>(
        `${path}/stats`,
        documented(
          'Requests of a model on this gateway',
          { params, response: STATISTICS_ANSWER },
          ON_MODEL,
        ),
        async ({ params }) => ({
          model_stats: this.statsOf(
            await this.repository.find(params.model, params.version),
            params.version,
          ),
        }),
      )
      app.post<ModelPath & { Body: Buffer | undefined }>(
        `${path}/infer`,
        documented(
          'Run a model on tensors',
          {
            params,
            headers: QUERY_OPTION_SCHEMAS.headers,
            body: INFER_BODY,
            response: INFER_ANSWER,
          },
          { ...ON_MODEL, role: 'read', problems: [422, 501], bodyLimit: MAX_FRAME_BYTES },
        ),
        async (request, reply) => await this.infer(request, reply),
      )
    }
    app.get(
      '/v2/models/stats',
      documented('Requests of all models on this gateway', { response: STATISTICS_ANSWER }),
      async (request) => ({
        model_stats: (await this.readable(request)).flatMap((entry) =>
          this.statsOf(entry, undefined),
        ),
      }),
    )
  }

  private addRepository(app: FastifyInstance): void {
    app.post<{ Body: Buffer | undefined }>(
      '/v2/repository/index',
      documented(
        'Versions of all models and their states',
        { body: INDEX_BODY, response: INDEX_ANSWER },
        { role: 'read', hasOptionalBody: true },
      ),
      async (request) => indexOf(await this.readable(request), wantsReadyOnly(request)),
    )
    for (const action of ['load', 'unload'] as const) {
      const path = `/v2/repository/models/:model/${action}`
      app.post<ModelPath & { Body: Buffer | undefined }>(
        path,
        {
          ...documented(
            `${action === 'load' ? 'Load' : 'Unload'} a model of "weir run models"; refused for models of a topic, and without --model-control`,
            { params: paramsOf(path), body: CHANGE_BODIES[action], response: CHANGED },
            { ...ON_MODEL, role: 'admin', change: action, problems: [501], hasOptionalBody: true },
          ),
          onRequest: requireModelControl(this.options.modelControl),
        },
        async (request) => {
          const { params, body = NO_BODY } = request
          if (body.length > 0) documentedJson(request, CHANGE_BODIES[action], body)
          await this.repository.change(action, params.model)
          return {}
        },
      )
    }
  }

  /** The models that a client may read. */
  private async readable(request: FastifyRequest): Promise<readonly ServedModelEntry[]> {
    const all = await this.repository.all()
    return all.filter(({ info }) => mayOf(request, 'read', modelObject(info.name)))
  }

  private async infer(
    request: FastifyRequest<ModelPath & { Body: Buffer | undefined }>,
    reply: FastifyReply,
  ): Promise<Buffer> {
    const { params, body, headers, raw } = request
    const { json, tensors } = await this.options.answers.answer({
      model: params.model,
      version: params.version,
      body: body ?? NO_BODY,
      jsonLength: headers[JSON_LENGTH_HEADER]?.toString(),
      options: givenQueryOptions(headers),
      owner: ownerOf(raw.socket),
      client: sharerOf(request),
    })
    const text = Buffer.from(json)
    if (tensors.length === 0) {
      reply.type('application/json; charset=utf-8')
      return text
    }
    reply.type('application/octet-stream').header(JSON_LENGTH_HEADER, text.length)
    return Buffer.concat([text, ...tensors])
  }

  private statsOf({ info }: ServedModelEntry, version: string | undefined) {
    const versions = version === undefined ? info.versions.map(String) : [version]
    return versions.map((one) => this.statistics.read(info.name, one))
  }
}

/** Whether the body of a request for the index asks for live versions only. Throws INVALID_ARGUMENT. */
function wantsReadyOnly(request: FastifyRequest<{ Body: Buffer | undefined }>): boolean {
  const { body = NO_BODY } = request
  return body.length > 0 && documentedJson(request, INDEX_BODY, body)['ready'] === true
}
