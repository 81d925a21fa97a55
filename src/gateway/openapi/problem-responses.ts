/** What decides which problems a route can answer with. */
export interface ProblemCauses {
  /** The path has parameters. */
  readonly hasParameters: boolean
  readonly hasBody: boolean
  readonly needsToken: boolean
  /** Statuses that only this route has. */
  readonly others: readonly number[]
}

interface Described {
  readonly description: string
  /** Header fields of the answer. */
  readonly headers?: Readonly<Record<string, object>>
}

const RETRY_AFTER = {
  'Retry-After': { type: 'string', pattern: '^[0-9]+$', description: 'Seconds to wait.' },
}

const DESCRIPTIONS: Readonly<Record<number, Described>> = {
  400: { description: 'The request is not valid.' },
  401: {
    description: 'The token is missing or wrong.',
    headers: { 'WWW-Authenticate': { type: 'string' } },
  },
  403: { description: 'The role of the token does not allow this.' },
  404: { description: 'There is no such thing.' },
  406: { description: 'The answer has no type that Accept allows.' },
  408: { description: 'The request did not arrive in time.' },
  409: {
    description: 'The state of the model does not allow this, or the version exists already.',
  },
  413: { description: 'The body is too large.' },
  414: { description: 'A part of the path is too long.' },
  415: { description: 'The body has a type that the route does not read.' },
  422: { description: 'The model cannot answer this request, alone or in a batch.' },
  429: {
    description: 'Too many requests; wait as long as Retry-After says.',
    headers: RETRY_AFTER,
  },
  431: { description: 'The path and the header fields are too long.' },
  500: { description: 'The server failed.' },
  501: { description: 'The gateway does not do this; the detail says what to do.' },
  503: { description: 'Not now; wait as long as Retry-After says.', headers: RETRY_AFTER },
  504: { description: 'No answer came before the deadline.' },
  507: { description: 'The disk is full.' },
}

const ALWAYS = [400, 408, 431, 500, 503, 504]

/** The problems of a route as responses of OpenAPI, by status. */
export function problemResponses(causes: ProblemCauses): Readonly<Record<number, object>> {
  const { hasParameters, hasBody, needsToken, others } = causes
  const statuses = [
    ...ALWAYS,
    ...(hasParameters ? [404, 414] : []),
    ...(hasBody ? [413, 415] : []),
    ...(needsToken ? [401, 403, 429] : []),
    ...others,
  ]
  return Object.fromEntries(statuses.map((status) => [status, responseOf(DESCRIPTIONS[status]!)]))
}

function responseOf({ description, headers }: Described): object {
  return {
    description,
    ...(headers === undefined ? {} : { headers }),
    content: { 'application/problem+json': { schema: { $ref: 'Problem#' } } },
  }
}
