/** What decides which errors a route can answer with. */
export interface ErrorCauses {
  /** The path has parameters. */
  readonly hasParameters: boolean
  /** The path names a job, which may be in another process. */
  readonly isOfJob: boolean
  readonly hasBody: boolean
  readonly needsToken: boolean
  /** Statuses that only some routes have. */
  readonly others: readonly number[]
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The request is not valid.',
  401: 'The token is missing or wrong.',
  403: 'The role of the token does not allow this, or a page of another site asks.',
  404: 'There is no such thing.',
  408: 'The request did not arrive in time.',
  409: 'The state of the job or of the model does not allow this.',
  413: 'The body is too large.',
  415: 'The body is no JSON.',
  429: 'Too many requests; wait as long as Retry-After says.',
  431: 'The path and the header fields are too long.',
  500: 'The server failed.',
  501: 'Weir, this process or this job does not do this; the sentence says what to do.',
  503: 'Not now; try again.',
  504: 'No answer came before the deadline.',
}

/** The errors of a route as responses of OpenAPI, by status. */
export function errorResponses(causes: ErrorCauses): Readonly<Record<number, object>> {
  const { hasParameters, isOfJob, hasBody, needsToken, others } = causes
  const statuses = [
    ...[400, 403, 408, 431, 500, 503],
    ...(hasParameters ? [404] : []),
    ...(isOfJob ? [409, 504] : []),
    ...(hasBody ? [413, 415] : []),
    ...(needsToken ? [401, 429] : []),
    ...others,
  ]
  return Object.fromEntries(statuses.map((status) => [status, responseOf(status)]))
}

function responseOf(status: number): object {
  return {
    description: DESCRIPTIONS[status],
    content: { 'application/json': { schema: { $ref: 'Errors#' } } },
  }
}
