import type { FastifyInstance } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import { sharerOf } from '../../../http/principal.ts'
import type { JobSubmission } from '../port/cluster.ts'
import { controlOf, HEX_ID, paramsOf, queryOf, type RouteContext } from './context.ts'
import { requireSubmission } from './objects.ts'
import { rescalingRoutes } from './rescaling-routes.ts'
import { accept, keyOf, stateJson } from './triggers.ts'

const JOB = { schema: { params: paramsOf(['jobid']) } }
const TRIGGER = { schema: { params: paramsOf(['jobid', 'triggerid']) } }

/** Routes that change a job: cancel, checkpoint, savepoint, stop, rescaling, submission, and what is refused. */
export function operationRoutes(app: FastifyInstance, context: RouteContext): void {
  app.patch('/jobs/:jobid', { ...JOB, config: { query: ['mode'] } }, async (request, reply) => {
    const mode = queryOf(request, 'mode') ?? 'cancel'
    if (mode !== 'cancel') {
      const message = `mode=${mode}: jobs can be cancelled (mode=cancel), or stopped with POST /jobs/:jobid/stop`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
    await controlOf(context, request).cancel()
    return await reply.code(202).send({})
  })
  savepointRoutes(app, context)
  checkpointTriggerRoutes(app, context)
  rescalingRoutes(app, context)
  submissionRoutes(app, context)
  refusedRoutes(app)
}

interface SavepointBody {
  readonly 'target-directory'?: string | null
  readonly targetDirectory?: string | null
  readonly 'cancel-job'?: boolean | null
  readonly drain?: boolean | null
  readonly triggerId?: string | null
}

const TEXT_OR_NULL = { type: ['string', 'null'], maxLength: 4096 } as const
const BOOLEAN_OR_NULL = { type: ['boolean', 'null'] } as const
const ID_OR_NULL = { anyOf: [HEX_ID, { type: 'null' }] } as const
const SAVEPOINT = {
  schema: {
    params: paramsOf(['jobid']),
    body: {
      type: ['object', 'null'],
      additionalProperties: false,
      properties: {
        'target-directory': TEXT_OR_NULL,
        targetDirectory: TEXT_OR_NULL,
        'cancel-job': BOOLEAN_OR_NULL,
        drain: BOOLEAN_OR_NULL,
        formatType: { enum: ['CANONICAL', 'NATIVE', null] },
        triggerId: ID_OR_NULL,
      },
    },
  },
}

function savepointRoutes(app: FastifyInstance, context: RouteContext): void {
  app.post('/jobs/:jobid/savepoints', SAVEPOINT, async (request, reply) => {
    const body = (request.body ?? {}) as SavepointBody
    const folder = body['target-directory'] ?? undefined
    return await accept(context, { request, reply, kind: 'savepoint' }, async (job) => {
      if (body['cancel-job'] !== true) return { location: await job.savepoint(folder) }
      return { location: await job.stop({ folder, drain: false }) }
    })
  })
  app.post('/jobs/:jobid/stop', SAVEPOINT, async (request, reply) => {
    const body = (request.body ?? {}) as SavepointBody
    const folder = body.targetDirectory ?? body['target-directory'] ?? undefined
    return await accept(context, { request, reply, kind: 'stop' }, async (job) => ({
      location: await job.stop({ folder, drain: body.drain === true }),
    }))
  })
  app.get('/jobs/:jobid/savepoints/:triggerid', TRIGGER, async (request) =>
    stateJson(context.operations.stateOf(keyOf(request, 'savepoint'))),
  )
}

function checkpointTriggerRoutes(app: FastifyInstance, context: RouteContext): void {
  const schema = {
    params: paramsOf(['jobid']),
    body: {
      type: ['object', 'null'],
      additionalProperties: false,
      properties: {
        checkpointType: { enum: ['CONFIGURED', 'FULL', 'INCREMENTAL', null] },
        triggerId: ID_OR_NULL,
      },
    },
  }
  app.post('/jobs/:jobid/checkpoints', { schema }, async (request, reply) =>
    accept(context, { request, reply, kind: 'checkpoint' }, async (job) => ({
      checkpointId: await job.checkpoint(),
    })),
  )
  app.get('/jobs/:jobid/checkpoints/:triggerid', TRIGGER, async (request) =>
    stateJson(context.operations.stateOf(keyOf(request, 'checkpoint'))),
  )
}

function submissionRoutes(app: FastifyInstance, context: RouteContext): void {
  const schema = {
    body: {
      type: 'object',
      required: ['job'],
      additionalProperties: false,
      properties: {
        job: { type: 'string', minLength: 1, maxLength: 4096 },
        options: {
          type: 'object',
          propertyNames: { pattern: '^[a-z][a-z-]{0,63}$' },
          additionalProperties: {
            anyOf: [
              { type: 'string', maxLength: 4096 },
              { type: 'boolean' },
              { type: 'array', items: { type: 'string', maxLength: 4096 }, maxItems: 256 },
            ],
          },
        },
      },
    },
  }
  app.post('/jobs', { schema }, async (request, reply) => {
    const { job, options = {} } = request.body as Pick<JobSubmission, 'job'> &
      Partial<JobSubmission>
    requireSubmission(request, { job, options })
    const client = sharerOf(request)
    const jobid = await context.cluster.submit({ job, options }, client)
    return await reply.code(202).send({ jobid })
  })
}

/** Routes of Flink that Weir has another way for. */
function refusedRoutes(app: FastifyInstance): void {
  const dispose = (): never => {
    throw new WeirError(
      'UNSUPPORTED',
      'a savepoint is a folder that holds everything that it needs: delete the folder',
    )
  }
  app.post('/savepoint-disposal', dispose)
  app.get('/savepoint-disposal/:triggerid', dispose)
}
