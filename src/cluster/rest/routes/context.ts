import type { FastifyRequest } from 'fastify'
import { WeirError } from '../../../core/errors.ts'
import type { RefusedRequests } from '../../../http/access/control.ts'
import type { JobHistories } from '../live/job-histories.ts'
import type { Cluster } from '../port/cluster.ts'
import type { JobControl } from '../port/job-control.ts'
import type { JobSnapshot, VertexSnapshot } from '../port/job-snapshot.ts'
import type { AsyncOperations } from './async-operations.ts'

/** Parts that every route uses. */
export interface RouteContext {
  readonly cluster: Cluster
  readonly operations: AsyncOperations
  readonly histories: JobHistories
  /** A new trigger id: 32 hexadecimal digits. */
  readonly newTriggerId: () => string
  /** Requests that the port has refused for their token. */
  readonly refused: RefusedRequests
}

/** Id of a job, a vertex or a trigger: 32 hexadecimal digits, as Flink's. */
export const HEX_ID = { type: 'string', pattern: '^[0-9a-fA-F]{32}$' } as const

/** The schema of path parameters: ids in hexadecimal digits, whole numbers and names. */
export function paramsOf(names: readonly string[]): object {
  const properties = names.map((name) => [name, PARAMETERS[name] ?? { type: 'string' }])
  return { type: 'object', properties: Object.fromEntries(properties), required: names }
}

const NUMBER = { type: 'integer', minimum: 0, maximum: 2 ** 53 - 1 } as const
const PARAMETERS: Readonly<Record<string, object>> = {
  jobid: HEX_ID,
  vertexid: HEX_ID,
  triggerid: HEX_ID,
  subtaskindex: NUMBER,
  attempt: NUMBER,
  checkpointid: NUMBER,
}

/** A path parameter; the schema of the route has checked it. */
export function param(request: FastifyRequest, name: string): string {
  return String((request.params as Record<string, unknown>)[name])
}

/** A path parameter that is a whole number. */
export function numberParam(request: FastifyRequest, name: string): number {
  return Number((request.params as Record<string, unknown>)[name])
}

/** A query parameter; the last one where it is given several times. */
export function queryOf(request: FastifyRequest, name: string): string | undefined {
  const value = (request.query as Record<string, unknown>)[name]
  const last: unknown = Array.isArray(value) ? value.at(-1) : value
  return typeof last === 'string' ? last : undefined
}

/** All values of a query parameter that is given once for each. */
export function listOfAll(request: FastifyRequest, name: string): readonly string[] {
  const value = (request.query as Record<string, unknown>)[name]
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one) => typeof one === 'string')
}

/** A query parameter that lists names, `a,b,c`; undefined where it is missing. */
export function listOf(request: FastifyRequest, name: string): readonly string[] | undefined {
  const value = (request.query as Record<string, unknown>)[name]
  if (value === undefined) return undefined
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value]
  return texts.flatMap((text) => String(text).split(',')).filter((text) => text !== '')
}

/** The job that the path names. Throws NOT_FOUND. */
export function controlOf({ cluster }: RouteContext, request: FastifyRequest): JobControl {
  const id = param(request, 'jobid').toLowerCase()
  const job = cluster.job(id)
  if (job !== undefined) return job
  throw new WeirError('NOT_FOUND', `no job has the id ${id}; "weir list -a" shows all jobs`)
}

/** The snapshot of the job that the path names. Throws NOT_FOUND. */
export function jobOf(context: RouteContext, request: FastifyRequest): Promise<JobSnapshot> {
  return controlOf(context, request).snapshot()
}

/** The vertex that the path names. Throws NOT_FOUND. */
export function vertexOf(job: JobSnapshot, request: FastifyRequest): VertexSnapshot {
  const id = param(request, 'vertexid').toLowerCase()
  const vertex = job.vertices.find((candidate) => candidate.id === id)
  if (vertex !== undefined) return vertex
  throw new WeirError('NOT_FOUND', `job ${job.id} has no vertex with the id ${id}`)
}

/** The subtask that the path names. Throws NOT_FOUND. */
export function subtaskOf(vertex: VertexSnapshot, request: FastifyRequest): number {
  const subtask = numberParam(request, 'subtaskindex')
  if (subtask < vertex.parallelism) return subtask
  throw new WeirError(
    'NOT_FOUND',
    `${vertex.name} has the subtasks 0 to ${vertex.parallelism - 1}, not ${subtask}`,
  )
}
