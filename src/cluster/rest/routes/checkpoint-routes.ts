import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import type { CheckpointStatistics } from '../../../runtime/checkpoint/coordinator/statistics.ts'
import {
  checkpointConfigJson,
  checkpointDetailJson,
  checkpointsJson,
  checkpointVertexJson,
} from '../json/checkpoints.ts'
import type { CheckpointsSnapshot, JobSnapshot } from '../port/job-snapshot.ts'
import { jobOf, numberParam, paramsOf, type RouteContext, vertexOf } from './context.ts'

const JOB = { schema: { params: paramsOf(['jobid']) } }
const CHECKPOINT = { schema: { params: paramsOf(['jobid', 'checkpointid']) } }
const VERTEX = { schema: { params: paramsOf(['jobid', 'checkpointid', 'vertexid']) } }

/** Routes that describe the checkpoints of a job. */
export function checkpointRoutes(app: FastifyInstance, context: RouteContext): void {
  app.get('/jobs/:jobid/checkpoints', JOB, async (request) =>
    checkpointsJson(checkpointsOf(await jobOf(context, request))),
  )
  app.get('/jobs/:jobid/checkpoints/config', JOB, async (request) =>
    checkpointConfigJson(checkpointsOf(await jobOf(context, request)).settings),
  )
  app.get('/jobs/:jobid/checkpoints/details/:checkpointid', CHECKPOINT, async (request) => {
    const job = await jobOf(context, request)
    return checkpointDetailJson(job, checkpointOf(job, request))
  })
  app.get(
    '/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid',
    VERTEX,
    async (request) => {
      const job = await jobOf(context, request)
      return checkpointVertexJson(checkpointOf(job, request), vertexOf(job, request))
    },
  )
}

function checkpointsOf({ id, checkpoints }: JobSnapshot): CheckpointsSnapshot {
  if (checkpoints !== undefined) return checkpoints
  throw new WeirError(
    'NOT_FOUND',
    `job ${id} takes no checkpoints; set execution.checkpointing.dir`,
  )
}

function checkpointOf(job: JobSnapshot, request: FastifyRequest): CheckpointStatistics {
  const id = numberParam(request, 'checkpointid')
  const found = checkpointsOf(job).history.find((checkpoint) => checkpoint.id === id)
  if (found !== undefined) return found
  throw new WeirError(
    'NOT_FOUND',
    `checkpoint ${id} of job ${job.id} is not among the last ones, of which details are kept`,
  )
}
