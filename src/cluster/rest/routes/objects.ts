import type { FastifyRequest } from 'fastify'
import { mayOn } from '../../../http/access/control.ts'
import type { AccessObject } from '../../../http/access/object-rights.ts'
import type { Role } from '../../../http/access/role.ts'
import type { Principal } from '../../../http/access/token-verifier.ts'
import { requireMayOf } from '../../../http/principal.ts'
import { ALS_MODEL } from '../../../models/topic/als-serving-function.ts'
import { parseMemberId, parseSlotId } from '../json/task-managers.ts'
import type { Cluster, JobSubmission } from '../port/cluster.ts'
import type { JobSnapshot } from '../port/job-snapshot.ts'
import { listOfAll } from './context.ts'

/** What a request of a token with rights does. */
export interface RequestedAction {
  readonly principal: Principal
  readonly needed: Role
}

/**
 * The objects that the path of a request names: its job, and the state or the model of that job. Undefined for a
 * request about the whole process, where the role of the token decides.
 */
export async function objectsOf(
  cluster: Cluster,
  request: FastifyRequest,
  action: RequestedAction,
): Promise<readonly AccessObject[] | undefined> {
  const { url = '', method } = request.routeOptions
  if (method === 'POST' && /^(?:\/v1)?\/jobs$/.test(url)) return [{ kind: 'job', name: undefined }]
  const ids = url.endsWith('/weir/events') ? watchedJobs(request) : jobIdsOf(request)
  if (ids.length === 0) return undefined
  const jobs = await Promise.all(ids.map((id) => jobObject(cluster, id, action)))
  return [...jobs, ...(await innerObjects(cluster, request, ids[0]!))]
}

/** The jobs that a client may read. */
export async function readableJobs(
  cluster: Pick<Cluster, 'jobs'>,
  { principal }: FastifyRequest,
): Promise<readonly JobSnapshot[]> {
  const jobs = await cluster.jobs()
  if (principal?.rights === undefined) return jobs
  return jobs.filter((job) => mayOnJob({ principal, needed: 'read' }, job))
}

/** Whether a client may act on a job: rights name it, or its id. */
export function mayOnJob(
  { principal, needed }: RequestedAction,
  { id, name }: Pick<JobSnapshot, 'id' | 'name'>,
): boolean {
  return [name, id].some((one) => mayOn(principal, needed, { kind: 'job', name: one }))
}

/** Options of a submission that name topics, by what a token needs on them. */
const TOPIC_OPTIONS = {
  read: ['topic', 'observations', 'learn-from'],
  write: ['write-back', 'quarantine'],
} as const

/** Throws ACCESS_DENIED, unless a client may submit this job and let it use the topics that its options name. */
export function requireSubmission(request: FastifyRequest, { job, options }: JobSubmission): void {
  if (request.principal?.rights === undefined) return
  requireMayOf(request, 'admin', { kind: 'job', name: job })
  for (const needed of ['read', 'write'] as const) {
    for (const name of TOPIC_OPTIONS[needed].flatMap((option) => options[option] ?? [])) {
      requireMayOf(request, needed, { kind: 'topic', name: String(name) })
    }
  }
}

function jobIdsOf({ params }: FastifyRequest): readonly string[] {
  const { jobid, taskmanagerid } = (params ?? {}) as Readonly<Record<string, string | undefined>>
  if (jobid !== undefined) return [jobid.toLowerCase()]
  if (taskmanagerid === undefined) return []
  return [(parseSlotId(taskmanagerid) ?? parseMemberId(taskmanagerid))?.jobId ?? taskmanagerid]
}

/** The jobs of the paths of a stream of events. */
function watchedJobs(request: FastifyRequest): readonly string[] {
  const ids = listOfAll(request, 'path').flatMap((path) => {
    const id = /\/jobs\/([0-9a-fA-F]{32})(?:[/?]|$)/.exec(path)?.[1]
    return id === undefined ? [] : [id.toLowerCase()]
  })
  return [...new Set(ids)]
}

/** A job by the name on which the client has the right, where it has it on one. */
async function jobObject(
  cluster: Cluster,
  id: string,
  action: RequestedAction,
): Promise<AccessObject> {
  const job = (await cluster.jobs()).find((one) => one.id === id)
  if (job === undefined) return { kind: 'job', name: id }
  const byId = mayOn(action.principal, action.needed, { kind: 'job', name: id })
  return { kind: 'job', name: byId ? id : job.name }
}

async function innerObjects(
  cluster: Cluster,
  { params, routeOptions: { url = '' } }: FastifyRequest,
  jobId: string,
): Promise<readonly AccessObject[]> {
  const { name } = (params ?? {}) as Readonly<Record<string, string | undefined>>
  if (name !== undefined && url.includes('/states/')) return [{ kind: 'state', name }]
  if (url.endsWith('/recommendations')) return [{ kind: 'state', name: ALS_MODEL }]
  if (!/\/jobs\/:jobid\/models(?:\/|$)/.test(url)) return []
  const { model } = (await cluster.job(jobId)?.data.models({})) ?? {}
  return model === undefined ? [] : [{ kind: 'model', name: model }]
}
