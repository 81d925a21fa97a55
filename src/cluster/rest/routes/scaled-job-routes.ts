import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import type { ProcessAction, ScaledJob } from '../port/scaled-job.ts'
import { controlOf, paramsOf, type RouteContext } from './context.ts'

const JOB = { schema: { params: paramsOf(['jobid']) } }
const ACTIONS: readonly ProcessAction[] = ['drain', 'balance', 'stop', 'cancel']
const ACT = {
  schema: {
    params: paramsOf(['jobid']),
    body: {
      type: 'object',
      required: ['action'],
      additionalProperties: false,
      properties: { action: { enum: ACTIONS } },
    },
  },
}
const REBALANCE = {
  schema: {
    params: paramsOf(['jobid']),
    body: {
      type: ['object', 'null'],
      additionalProperties: false,
      properties: { drain: { type: ['string', 'null'], minLength: 1, maxLength: 512 } },
    },
  },
}

/** Routes of a job in many processes: who owns what, what one process says, and what processes ask each other. */
export function scaledJobRoutes(app: FastifyInstance, context: RouteContext): void {
  app.get('/weir/jobs/:jobid/assignment', JOB, async (request) =>
    scaledOf(context, request).assignment(),
  )
  app.get('/weir/jobs/:jobid/process', JOB, async (request) => scaledOf(context, request).report())
  app.post('/weir/jobs/:jobid/process', ACT, async (request) => {
    const { action } = request.body as { readonly action: ProcessAction }
    await scaledOf(context, request).act(action)
    return {}
  })
  app.post('/weir/jobs/:jobid/rebalance', REBALANCE, async (request) => {
    const { drain } = (request.body ?? {}) as { readonly drain?: string | null }
    return { asked: await scaledOf(context, request).rebalance(drain ?? undefined) }
  })
}

function scaledOf(context: RouteContext, request: FastifyRequest): ScaledJob {
  const job = controlOf(context, request)
  if (job.scaled !== undefined) return job.scaled
  throw new WeirError(
    'UNSUPPORTED',
    `job ${job.id} runs in one process; --scale-out starts one of many`,
  )
}
