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

/** Body of a request of OpenAI's interface, for the document: fields that are not named here go to the server. */
export const OPENAI_BODY = {
  content: {
    'application/json': {
      schema: {
        ...VALUES,
        required: ['model'],
        properties: {
          model: { type: 'string', minLength: 1, description: 'Name of the model here.' },
          stream: { type: 'boolean', description: 'Whether the answer comes in parts.' },
        },
      },
      example: { model: 'chat', messages: [{ role: 'user', content: 'hello' }] },
    },
  },
}

/** Answer of the server behind a model, for the document. */
export const OPENAI_ANSWER = {
  200: {
    description:
      'The answer of the server, with the name of the model here. With `stream`, an event for each part, and `[DONE]`; after an error in the middle, the last event has `error`.',
    content: { 'application/json': { schema: VALUES }, ...EVENTS },
  },
}

const MODEL = {
  type: 'object',
  required: ['id', 'object', 'created', 'owned_by'],
  properties: {
    id: { type: 'string' },
    object: { type: 'string' },
    created: { type: 'integer' },
    owned_by: { type: 'string' },
  },
}

/** Path of a model of OpenAI's interface, for the document. */
export const OPENAI_NAME = {
  type: 'object',
  required: ['model'],
  properties: { model: { type: 'string', minLength: 1 } },
}

/** A model of OpenAI's interface, for the document. */
export const OPENAI_MODEL = { 200: { description: 'The model.', ...MODEL } }

/** The models of OpenAI's interface, for the document. */
export const OPENAI_MODELS = {
  200: {
    description: 'The models.',
    type: 'object',
    required: ['object', 'data'],
    properties: { object: { type: 'string' }, data: { type: 'array', items: MODEL } },
  },
}
