import type { FastifyInstance, FastifyReply } from 'fastify'
import { isWeirError } from '../../core/errors.ts'
import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { sendProblem } from '../http/error-handlers.ts'
import type { ObjectsOf } from '../http/objects.ts'
import { problemOf } from '../http/problem.ts'
import type {
  ModelControl,
  ModelSwitch,
  PromoteOptions,
  RollBackOptions,
} from '../port/model-control.ts'

const EXPECT_LIVE = {
  type: 'integer',
  minimum: 0,
  maximum: HIGHEST_VERSION,
  description: 'Fail with 409 unless this version is live (0: none).',
} as const
const REASON = { type: 'string', minLength: 1, maxLength: 1000 } as const

const SWITCH = {
  200: {
    description: 'The switch.',
    type: 'object',
    required: ['model', 'live', 'before', 'how'],
    properties: {
      model: { type: 'string' },
      live: { type: 'integer', description: 'Version that is live now.' },
      before: { type: 'integer', description: 'Version that was live, 0 for none.' },
      how: { type: 'string', enum: ['promoted', 'forced', 'rolled back'] },
    },
  },
} as const

const VERSIONS = {
  200: {
    description: 'The model and its versions, newest first.',
    type: 'object',
    required: ['model', 'live', 'rollback', 'revision', 'versions', 'unfinished'],
    properties: {
      model: { type: 'string' },
      live: { type: 'integer', description: 'Live version, 0 for none.' },
      rollback: { type: 'integer', description: 'Version that a rollback makes live, 0 for none.' },
      revision: { type: 'integer', description: 'Grows with every switch.' },
      versions: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: true,
          required: ['number', 'id', 'state'],
          properties: {
            number: { type: 'integer' },
            id: { type: 'string' },
            state: { type: 'string', enum: ['candidate', 'live', 'replaced', 'retired'] },
          },
        },
      },
      unfinished: {
        type: 'array',
        description:
          'Versions that are not whole, newest first: never live, and dropped with weir model drop.',
        items: {
          type: 'object',
          required: ['name', 'number', 'state', 'rows', 'bytes', 'atMs'],
          properties: {
            name: { type: 'string' },
            number: { type: 'integer' },
            state: { type: 'string', enum: ['publishing', 'incomplete', 'deleting'] },
            rows: { type: 'integer' },
            bytes: { type: 'integer', description: 'Bytes of keys and values of the rows.' },
            publisher: {
              type: 'string',
              description: 'Machine, process and number of the publication.',
            },
            atMs: { type: 'integer', description: 'Time of its last marker, ms since 1970.' },
          },
        },
      },
    },
  },
} as const

function bodyOf(properties: object): object {
  return { type: ['object', 'null'], additionalProperties: false, properties }
}

const CHANGE = { role: 'admin', document: { problems: [409, 501], hasOptionalBody: true } } as const

/** Adds the routes that list the versions of a model, promote one and roll back. */
export function addModelRoutes(app: FastifyInstance, control: ModelControl): void {
  const on: ObjectsOf = () => ({ kind: 'model', name: control.model })
  app.get(
    '/v1/models/versions',
    {
      config: { on, document: { problems: [501] } },
      schema: { tags: ['models'], summary: 'List the versions of the model', response: VERSIONS },
    },
    async () => await control.versions(),
  )
  app.post<{ Params: { readonly version: string }; Body: PromoteOptions | undefined }>(
    '/v1/models/versions/:version/promote',
    {
      config: { ...CHANGE, on, change: 'promote' },
      schema: {
        tags: ['models'],
        summary: 'Make a version live that has passed its checks',
        params: {
          type: 'object',
          required: ['version'],
          properties: {
            version: {
              type: 'string',
              minLength: 1,
              maxLength: 200,
              description: 'A number, an id or `latest`.',
            },
          },
        },
        body: bodyOf({
          expectLive: EXPECT_LIVE,
          force: { ...REASON, description: 'Ignore the checks; the reason is stored.' },
        }),
        response: SWITCH,
      },
    },
    async ({ params, body }, reply) =>
      await switched(reply, control.promote(params.version, body ?? {})),
  )
  app.post<{ Body: RollBackOptions | undefined }>(
    '/v1/models/rollback',
    {
      config: { ...CHANGE, on, change: 'rollback' },
      schema: {
        tags: ['models'],
        summary: 'Make the previous live version live again',
        body: bodyOf({ expectLive: EXPECT_LIVE, reason: REASON }),
        response: SWITCH,
      },
    },
    async ({ body }, reply) => await switched(reply, control.rollBack(body ?? {})),
  )
}

/** The switch. A registry without a version to go back to is a conflict, as in the JobManager's REST interface. */
async function switched(
  reply: FastifyReply,
  change: Promise<ModelSwitch>,
): Promise<ModelSwitch | FastifyReply> {
  try {
    return await change
  } catch (error) {
    if (!isWeirError(error) || error.code !== 'ILLEGAL_STATE') throw error
    return sendProblem(reply, { ...problemOf(error), status: 409 })
  }
}
