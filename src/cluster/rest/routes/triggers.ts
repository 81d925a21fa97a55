import type { FastifyReply, FastifyRequest } from 'fastify'
import { serializedThrowable } from '../json/serialized-throwable.ts'
import type { JobControl } from '../port/job-control.ts'
import type { OperationKey, OperationState } from './async-operations.ts'
import { controlOf, param, type RouteContext } from './context.ts'

/** A request that triggers an operation. */
export interface Acceptance {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly kind: OperationKey['kind']
  /** Status of the answer. @default 202 */
  readonly status?: number
}

/** Starts an operation on the job and answers with its trigger id. Throws NOT_FOUND. */
export async function accept(
  context: RouteContext,
  { request, reply, kind, status = 202 }: Acceptance,
  run: (job: JobControl) => Promise<object>,
): Promise<FastifyReply> {
  const job = controlOf(context, request)
  const given = (request.body as { readonly triggerId?: string | null } | null)?.triggerId
  const triggerId = (given ?? context.newTriggerId()).toLowerCase()
  context.operations.start({ kind, jobId: job.id, triggerId }, () => run(job))
  return await reply.code(status).send({ 'request-id': triggerId })
}

/** The operation that the path names. */
export function keyOf(request: FastifyRequest, kind: OperationKey['kind']): OperationKey {
  const jobId = param(request, 'jobid').toLowerCase()
  return { kind, jobId, triggerId: param(request, 'triggerid').toLowerCase() }
}

/** The state of an operation, in Flink's form. */
export function stateJson(state: OperationState): object {
  switch (state.kind) {
    case 'in-progress':
      return { status: { id: 'IN_PROGRESS' }, operation: null }
    case 'completed':
      return { status: { id: 'COMPLETED' }, operation: state.value }
    case 'failed':
      return {
        status: { id: 'COMPLETED' },
        operation: { 'failure-cause': serializedThrowable(state.error) },
      }
  }
}
