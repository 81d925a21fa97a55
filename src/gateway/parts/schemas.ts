const VALUES = { type: 'object', additionalProperties: true } as const

/** Body of a request of the generate extension, for the document. */
export const GENERATE_BODY = {
  content: {
    'application/json': {
      schema: {
        ...VALUES,
        description: 'Values by input, nested by dimension; `id` and `parameters` as in `infer`.',
      },
      example: { text_input: 'hello' },
    },
  },
}

/** Answer of `generate`, for the document. */
export const GENERATE_ANSWER = {
  200: {
    description: 'Values by output: one element, or a list of all.',
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['model_name', 'model_version'],
          properties: { model_name: { type: 'string' }, model_version: { type: 'string' } },
          additionalProperties: true,
        },
      },
    },
  },
}

const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } }

/** Answer of `generate_stream`, for the document. */
export const GENERATE_STREAM_ANSWER = {
  200: {
    description:
      'An event for each part, with values by output. After an error in the middle, the last event is a problem with the field `error`.',
    content: EVENTS,
  },
}
