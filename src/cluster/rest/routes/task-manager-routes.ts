import type { FastifyInstance, FastifyRequest } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import { isTerminal } from '../../../runtime/job/status.ts'
import { type FlameNode, flameGraphOf } from '../json/flame-graph.ts'
import {
  memberDetailJson,
  memberJson,
  parseMemberId,
  parseSlotId,
  taskManagerDetailJson,
  taskManagerJson,
} from '../json/task-managers.ts'
import type { JobControl } from '../port/job-control.ts'
import type { JobSnapshot, SlotSnapshot } from '../port/job-snapshot.ts'
import { logRoutes } from './cluster-routes.ts'
import type { RouteContext } from './context.ts'
import { readableJobs } from './objects.ts'

/** Time for which a thread dump samples, ms. */
const SAMPLED_MS = 100

/** Routes of task managers: each slot of a job that has not ended is one, and each process of a job in many. */
export function taskManagerRoutes(app: FastifyInstance, context: RouteContext): void {
  const { cluster } = context
  app.get('/taskmanagers', async (request) => {
    const all = await readableJobs(cluster, request)
    const jobs = all.filter(({ status }) => !isTerminal(status))
    const rows = jobs.flatMap((job) =>
      job.processes === undefined
        ? job.slots.map((slot) => taskManagerJson(job, slot))
        : job.processes.map((_, place) => memberJson(job, place)),
    )
    return { taskmanagers: rows }
  })
  app.get('/taskmanagers/:taskmanagerid', async (request) => {
    const { taskmanagerid } = request.params as { readonly taskmanagerid: string }
    const member = parseMemberId(taskmanagerid)
    const of = member === undefined ? undefined : await cluster.job(member.jobId)?.snapshot()
    if (of?.processes?.[member!.place] !== undefined) return memberDetailJson(of, member!.place)
    const { job, slot } = await slotOf(context, request)
    return taskManagerDetailJson(job, slot)
  })
  app.get('/taskmanagers/:taskmanagerid/thread-dump', async (request) => {
    const { control, job, slot } = await slotOf(context, request)
    const profile = await control.profile(slot.number, SAMPLED_MS)
    const threadName = `slot ${slot.number} of ${job.name}`
    const stack = stackText(flameGraphOf([profile], 'full'), 0)
    const info = `"${threadName}": samples of ${SAMPLED_MS} ms, callers above callees\n${stack}`
    return { threadInfos: [{ threadName, stringifiedThreadInfo: info }] }
  })
  logRoutes(app, '/taskmanagers/:taskmanagerid', ({ taskmanagerid = '' }) => {
    const jobId = parseSlotId(taskmanagerid)?.jobId
    return jobId === undefined ? undefined : cluster.logsOf(jobId)
  })
}

interface FoundSlot {
  readonly control: JobControl
  readonly job: JobSnapshot
  readonly slot: SlotSnapshot
}

async function slotOf({ cluster }: RouteContext, request: FastifyRequest): Promise<FoundSlot> {
  const { taskmanagerid } = request.params as { readonly taskmanagerid: string }
  const place = parseSlotId(taskmanagerid)
  const control = place === undefined ? undefined : cluster.job(place.jobId)
  const job = await control?.snapshot()
  const slot = job?.slots.find(({ number }) => number === place?.slot)
  if (control !== undefined && job !== undefined && slot !== undefined)
    return { control, job, slot }
  throw new WeirError(
    'NOT_FOUND',
    `no slot has the id ${taskmanagerid}; ids are JOBID-slot-N, see /taskmanagers`,
  )
}

function stackText({ name, value, children }: FlameNode, depth: number): string {
  const line = `${' '.repeat(depth)}${name} (${value})\n`
  return line + children.map((child) => stackText(child, depth + 1)).join('')
}
