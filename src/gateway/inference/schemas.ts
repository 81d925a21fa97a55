import { DATATYPES } from '../../wire/inference/tensor.ts'

const TEXT = { type: 'string' } as const
const COUNT = { type: 'integer', minimum: 0 } as const
const PARAMETERS = { type: 'object', additionalProperties: true } as const

const DATATYPE = { type: 'string', enum: Object.keys(DATATYPES) }
const SHAPE = { type: 'array', items: { type: 'integer', minimum: -1 } } as const

const object = (properties: object, optional: readonly string[] = []) => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
})

/** An object of a request, which takes its own fields alone. */
const closed = (properties: object, optional: readonly string[] = []) => ({
  ...object(properties, optional),
  additionalProperties: false,
})

const list = (items: object) => ({ type: 'array', items })

const answer = (schema: object, description = 'The answer.') => ({
  200: { description, ...schema },
})

/** Path parameters of a model; its version is a whole number from 1. */
export const MODEL_PARAMETERS = {
  model: {
    ...TEXT,
    minLength: 1,
    description: 'Name of a model: `ALS_MODEL`, `SVM_MODEL`, or one of `weir run models`.',
  },
  version: {
    ...TEXT,
    pattern: '^[1-9][0-9]{0,14}$',
    description: 'A loaded version of the model.',
  },
} as const

const TENSOR = object({ name: TEXT, datatype: DATATYPE, shape: SHAPE })

const INPUT_TENSOR = closed(
  {
    name: TEXT,
    datatype: DATATYPE,
    shape: { type: 'array', items: COUNT },
    data: { type: 'array', description: 'Elements, flat or nested; bytes follow without it.' },
    parameters: PARAMETERS,
  },
  ['data', 'parameters'],
)

const OUTPUT_TENSOR = object(
  {
    name: TEXT,
    datatype: DATATYPE,
    shape: { type: 'array', items: COUNT },
    data: { type: 'array' },
    parameters: PARAMETERS,
  },
  ['data', 'parameters'],
)

/** An inference request. */
export const REQUEST = closed(
  {
    id: TEXT,
    parameters: PARAMETERS,
    inputs: list(INPUT_TENSOR),
    outputs: list(closed({ name: TEXT, parameters: PARAMETERS }, ['parameters'])),
  },
  ['id', 'parameters', 'outputs'],
)

const EXAMPLE = {
  inputs: [
    { name: 'user', datatype: 'BYTES', shape: [1], data: ['1'] },
    { name: 'item', datatype: 'BYTES', shape: [2], data: ['1', '2'] },
  ],
}

/** Body of an inference request, for the document. */
export const INFER_BODY = {
  content: { 'application/json': { schema: REQUEST, example: EXAMPLE } },
}

/** Answers of an inference request, for the document. */
export const INFER_ANSWER = {
  200: {
    description:
      'The outputs. With binary outputs JSON comes first, then the bytes of the tensors.',
    content: {
      'application/json': {
        schema: object(
          {
            model_name: TEXT,
            model_version: TEXT,
            parameters: PARAMETERS,
            id: TEXT,
            outputs: list(OUTPUT_TENSOR),
          },
          ['parameters', 'id'],
        ),
      },
      'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
    },
  },
}

/** Answer of the server's metadata, for the document. */
export const SERVER_ANSWER = answer(
  object({ name: TEXT, version: TEXT, extensions: list(TEXT) }),
  'Name, version and extensions.',
)

/** Answers of the probes, for the document. */
export const LIVE_ANSWER = answer(object({ live: { type: 'boolean' } }), 'It runs.')
export const READY_ANSWER = answer(
  object({ name: TEXT, ready: { type: 'boolean' }, problems: { type: 'array', items: TEXT } }, [
    'name',
    'problems',
  ]),
  'It is ready.',
)

/** Answer of a model's metadata, for the document. */
export const MODEL_ANSWER = answer(
  object({
    name: TEXT,
    versions: list(TEXT),
    platform: TEXT,
    inputs: list(TENSOR),
    outputs: list(TENSOR),
  }),
  'Inputs and outputs.',
)

const CONFIG_TENSOR = object(
  { name: TEXT, data_type: TEXT, dims: SHAPE, optional: { type: 'boolean' } },
  ['optional'],
)

/** Answer of a model's configuration, for the document. */
export const CONFIG_ANSWER = answer(
  object(
    {
      name: TEXT,
      platform: TEXT,
      backend: TEXT,
      max_batch_size: COUNT,
      input: list(CONFIG_TENSOR),
      output: list(CONFIG_TENSOR),
      model_transaction_policy: object({ decoupled: { type: 'boolean' } }),
      parameters: { type: 'object', additionalProperties: object({ string_value: TEXT }) },
    },
    ['model_transaction_policy', 'parameters'],
  ),
  "The configuration, with Triton's fields.",
)

const DURATION = object({ count: COUNT, ns: COUNT })

/** Answer of statistics, for the document. */
export const STATISTICS_ANSWER = answer(
  object({
    model_stats: list(
      object({
        name: TEXT,
        version: TEXT,
        last_inference: { type: 'number', description: 'Unix ms; 0 before the first request.' },
        inference_count: COUNT,
        execution_count: COUNT,
        inference_stats: { type: 'object', additionalProperties: DURATION },
        batch_stats: list({ type: 'object' }),
      }),
    ),
  }),
  'Requests of each version.',
)

/** Body of a request for the index, for the document: empty, or a filter. */
export const INDEX_BODY = {
  content: {
    'application/json': { schema: closed({ ready: { type: 'boolean' } }, ['ready']) },
  },
}

/** Answer of the index, for the document. */
export const INDEX_ANSWER = answer(
  list(object({ name: TEXT, version: TEXT, state: TEXT, reason: TEXT })),
  'The versions of all models.',
)

/** Bodies of requests to load and to unload a model: Triton's clients say what is to become of models that others use. */
export const CHANGE_BODIES = {
  load: { content: { 'application/json': { schema: changeBody({}) } } },
  unload: {
    content: {
      'application/json': { schema: changeBody({ unload_dependents: { type: 'boolean' } }) },
    },
  },
}

/** Answer of a request to load or unload a model, for the document. */
export const CHANGED = answer({ type: 'object' }, 'It is done.')

function changeBody(parameters: object): object {
  return closed({ parameters: closed(parameters, Object.keys(parameters)) }, ['parameters'])
}

/** Body of a classification, for the document. */
export const CLASSIFY_BODY = {
  content: {
    'application/json': {
      schema: closed(
        {
          model: TEXT,
          input: {
            oneOf: [{ type: 'array' }, { type: 'object' }],
            description: 'Values of the only input, nested by dimension, or values by input.',
          },
          output: { ...TEXT, description: 'Output that has the scores; the first without it.' },
          top: { type: 'integer', minimum: 1, maximum: 1000, default: 5 },
        },
        ['output', 'top'],
      ),
    },
  },
}

/** Answer of a classification, for the document. */
export const CLASSIFY_ANSWER = answer(
  object({
    model: TEXT,
    version: TEXT,
    predictions: list(list(object({ index: COUNT, score: { type: 'number' } }))),
  }),
  'The best classes of each item, best first.',
)

/** Body for a model that takes objects: one, or a list of them. */
export const JSON_BODY = {
  content: {
    'application/json': {
      schema: {
        oneOf: [PARAMETERS, list(PARAMETERS)],
        description: 'An object with a field for each input, or a list of such objects.',
      },
    },
  },
}

/** Answer of a model that takes objects, for the document. */
export const JSON_ANSWER = answer(
  { oneOf: [PARAMETERS, list(PARAMETERS)] },
  'An object with a field for each output, or a list of them in the order of the request.',
)

/** Query of a registration, for the document. */
export const REGISTER_PARAMETERS = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { ...TEXT, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' },
    version: { ...TEXT, pattern: '^[1-9][0-9]{0,8}$', description: 'By default the next one.' },
    format: { type: 'string', enum: ['onnx', 'ts', 'js', 'mjs', 'json'], default: 'onnx' },
  },
}

/** Answer of a registration, for the document. */
export const REGISTER_ANSWER = answer(
  object({ name: TEXT, version: COUNT, bytes: COUNT, sha256: TEXT }),
  'The stored version.',
)
