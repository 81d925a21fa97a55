import type {
  FastifyBaseLogger,
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyServerOptions,
} from 'fastify'
import { asWeirError, isWeirError } from '../../core/errors.ts'
import { STATUS_CODES } from '../../http/builtin.ts'
import { refuseClient } from '../../http/client-errors.ts'
import {
  httpProblem,
  inferenceProblem,
  PROBLEM_TYPE,
  type Problem,
  problemFieldsOf,
  problemOf,
} from './problem.ts'

/**
 * Makes every error of the routes a problem (RFC 9457). `extension` gives further members, for clients
 * that read others.
 */
export function addErrorHandlers(
  app: FastifyInstance,
  extension: (problem: Problem) => object = () => ({}),
): void {
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const problem = problemOfThrown(error)
    logProblem(request.log, error, problem)
    return sendProblem(reply, { ...problem, ...extension(problem) })
  })
}

/** Logs an error that is a failure of the gateway or of the job. */
function logProblem(
  log: Pick<FastifyBaseLogger, 'error' | 'info'>,
  error: Error,
  { status, detail }: Problem,
): void {
  if (status === 500) log.error({ err: error }, detail)
  // A job that is gone or overloaded would write a line for each request; metrics count them.
  else if (status > 500) log.info({ err: error }, detail)
}

/** The problem of what a request without a Fastify route has thrown; it is logged as those of routes are. */
export function loggedProblem(
  log: Pick<FastifyBaseLogger, 'error' | 'info'>,
  thrown: unknown,
): Problem {
  const error = asWeirError(thrown, 'ILLEGAL_STATE')
  const problem = problemOf(error)
  logProblem(log, error, problem)
  return problem
}

/** Problems of requests that reach no route: those that HTTP itself refuses, and paths that cannot be read. */
export const EARLY_ERRORS: Pick<FastifyServerOptions, 'clientErrorHandler' | 'frameworkErrors'> = {
  frameworkErrors: (error, _request, reply) => void sendProblem(reply, problemOfThrown(error)),
  clientErrorHandler: (error, socket) =>
    refuseClient(error, socket, (status, detail) => ({
      type: PROBLEM_TYPE,
      text: JSON.stringify(httpProblem(status, codeOf(status), detail)),
    })),
}

/**
 * Sends a problem, with `Retry-After` where waiting helps and the reply does not have it yet.
 */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  if (!reply.hasHeader('retry-after')) reply.headers(problemFieldsOf(problem))
  const isInference = /^\/v2(?:[/?]|$)/.test(reply.request.url)
  const body = isInference ? inferenceProblem(problem) : problem
  return reply.code(problem.status).type(PROBLEM_TYPE).serializer(JSON.stringify).send(body)
}

/** Sentences that say what to do, where Fastify's do not. */
const REMEDIES: Readonly<Record<number, string>> = {
  413: 'the body is larger than this route takes, after decompression; send it in parts',
  414: 'a part of the path is too long; an id has at most 1,024 characters',
  415: 'this route does not read bodies of this Content-Type; /docs lists the types of each route',
}

function problemOfThrown(error: FastifyError): Problem {
  if (isWeirError(error)) return problemOf(error)
  const status = error.statusCode ?? 500
  if (error.validation !== undefined) return httpProblem(400, 'INVALID_ARGUMENT', error.message)
  // Fastify's own errors below 500 are about the request: body too large, unknown media type, bad JSON.
  if (status < 500) return httpProblem(status, codeOf(status), REMEDIES[status] ?? error.message)
  return problemOf(asWeirError(error, 'ILLEGAL_STATE'))
}

function codeOf(status: number): string {
  return (STATUS_CODES[status] ?? 'BAD_REQUEST').toUpperCase().replaceAll(/[^A-Z]+/g, '_')
}
