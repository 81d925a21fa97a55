import type { FastifyRequest } from 'fastify'
import type { AddedRoute } from '../../../http/audit.ts'
import { isRead } from '../../../http/own-origin.ts'

/** Routes that change something, by the word of the audit. */
const CHANGES: Readonly<Record<string, string>> = {
  'POST /jobs': 'submit',
  'PATCH /jobs/:jobid': 'cancel',
  'POST /jobs/:jobid/stop': 'stop',
  'POST /jobs/:jobid/savepoints': 'savepoint',
  'POST /jobs/:jobid/checkpoints': 'checkpoint',
  'PATCH /jobs/:jobid/rescaling': 'rescale',
  'PUT /jobs/:jobid/resource-requirements': 'rescale',
  'POST /weir/jobs/:jobid/models/:version/promote': 'promote',
  'POST /weir/jobs/:jobid/models/rollback': 'rollback',
  'POST /weir/jobs/:jobid/rebalance': 'rebalance',
  'POST /weir/jobs/:jobid/process': 'process action',
  'DELETE /cluster': 'shut down',
}

/** The word of the audit for a route; undefined for one that only reads. A route without a word has its path. */
export function changeOf({ method, url }: AddedRoute): string | undefined {
  const methods = [method].flat()
  if (methods.every(isRead)) return undefined
  const route = `${methods.join(',')} ${url.replace(/^\/v1(?=\/)/, '')}`
  return CHANGES[route] ?? route
}

/** The job that a submission names in its body. */
export function fieldOf({ body }: FastifyRequest): Readonly<Record<string, string>> {
  const { job } = (body ?? {}) as { readonly job?: unknown }
  return typeof job === 'string' ? { job } : {}
}
