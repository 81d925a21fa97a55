/** Schema of the envelope of an answer. */
export const ENVELOPE_SCHEMA = {
  type: 'object',
  description: 'Which state the answer is from.',
  properties: {
    modelVersion: { type: 'integer', description: 'Model version; 0 for state without versions.' },
    source: { type: 'integer', description: 'Number of the source of the position.' },
    partition: { type: 'integer', description: 'Position of the last write; -1 if none.' },
    offset: { type: 'integer' },
    checkpointId: { type: 'integer', description: 'Last completed checkpoint.' },
    ageMs: { type: 'number', description: 'Upper bound of the age in ms; -1 when unknown.' },
    servedBy: { type: 'string', description: '`<query server>/<slot>`.' },
  },
} as const

/** Schema of a problem (RFC 9457). */
export const PROBLEM_SCHEMA = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What happened, where, and what to do.' },
    code: { type: 'string', description: 'Code of the table of errors.' },
    retryable: { type: 'boolean' },
    details: { type: 'object', additionalProperties: true },
  },
} as const

/** Longest id of a user or an item, in characters. */
export const MAX_ID_LENGTH = 1024

/** Schema of the id of a user or an item. */
export const ID_SCHEMA = { type: 'string', minLength: 1, maxLength: MAX_ID_LENGTH } as const

/** Schema of the id of a user or an item of an observation: a record of the topic is one line. */
export const OBSERVED_ID_SCHEMA = {
  ...ID_SCHEMA,
  pattern: '^[^\\r\\n]+$',
  description: 'An id without line ends.',
} as const

/** Model that answers a request without the name of a state. */
export const DEFAULT_STATE = 'ALS_MODEL'

/** Schema of the name of a state. */
export const STATE_SCHEMA = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  default: DEFAULT_STATE,
  description: 'Name of the queryable state.',
} as const
