import type { fromJSON } from '@grpc/proto-loader'

/** A field: its type and number; a list where it is repeated, and a map from texts. */
export type Field = readonly [type: string, id: number, kind?: 'list' | 'map']
type Fields = Readonly<Record<string, Field>>

/** A choice of one field of several. */
const PARAMETER: Fields = {
  bool_param: ['bool', 1],
  int64_param: ['int64', 2],
  string_param: ['string', 3],
  double_param: ['double', 4],
  uint64_param: ['uint64', 5],
}

const REPOSITORY_PARAMETER: Fields = {
  bool_param: ['bool', 1],
  int64_param: ['int64', 2],
  string_param: ['string', 3],
  bytes_param: ['bytes', 4],
}

const VERSION_OF_MODEL: Fields = { name: ['string', 1], version: ['string', 2] }

const TENSOR: Fields = {
  name: ['string', 1],
  datatype: ['string', 2],
  shape: ['int64', 3, 'list'],
  parameters: ['InferParameter', 4, 'map'],
  contents: ['InferTensorContents', 5],
}

const CHANGED_MODEL: Fields = {
  repository_name: ['string', 1],
  model_name: ['string', 2],
  parameters: ['ModelRepositoryParameter', 3, 'map'],
}

/** Messages of the Open Inference Protocol: the numbers of their fields are those of the protocol. */
export const MESSAGES: Readonly<Record<string, Fields>> = {
  ServerLiveRequest: {},
  ServerLiveResponse: { live: ['bool', 1] },
  ServerReadyRequest: {},
  ServerReadyResponse: { ready: ['bool', 1] },
  ModelReadyRequest: VERSION_OF_MODEL,
  ModelReadyResponse: { ready: ['bool', 1] },
  ServerMetadataRequest: {},
  ServerMetadataResponse: {
    name: ['string', 1],
    version: ['string', 2],
    extensions: ['string', 3, 'list'],
  },
  ModelMetadataRequest: VERSION_OF_MODEL,
  TensorMetadata: {
    name: ['string', 1],
    datatype: ['string', 2],
    shape: ['int64', 3, 'list'],
  },
  ModelMetadataResponse: {
    name: ['string', 1],
    versions: ['string', 2, 'list'],
    platform: ['string', 3],
    inputs: ['TensorMetadata', 4, 'list'],
    outputs: ['TensorMetadata', 5, 'list'],
  },
  InferParameter: PARAMETER,
  InferTensorContents: {
    bool_contents: ['bool', 1, 'list'],
    int_contents: ['int32', 2, 'list'],
    int64_contents: ['int64', 3, 'list'],
    uint_contents: ['uint32', 4, 'list'],
    uint64_contents: ['uint64', 5, 'list'],
    fp32_contents: ['float', 6, 'list'],
    fp64_contents: ['double', 7, 'list'],
    bytes_contents: ['bytes', 8, 'list'],
  },
  InferTensor: TENSOR,
  InferRequestedOutputTensor: {
    name: ['string', 1],
    parameters: ['InferParameter', 2, 'map'],
  },
  ModelInferRequest: {
    model_name: ['string', 1],
    model_version: ['string', 2],
    id: ['string', 3],
    parameters: ['InferParameter', 4, 'map'],
    inputs: ['InferTensor', 5, 'list'],
    outputs: ['InferRequestedOutputTensor', 6, 'list'],
    raw_input_contents: ['bytes', 7, 'list'],
  },
  ModelInferResponse: {
    model_name: ['string', 1],
    model_version: ['string', 2],
    id: ['string', 3],
    parameters: ['InferParameter', 4, 'map'],
    outputs: ['InferTensor', 5, 'list'],
    raw_output_contents: ['bytes', 6, 'list'],
  },
  ModelStreamInferResponse: {
    error_message: ['string', 1],
    infer_response: ['ModelInferResponse', 2],
  },
  ModelRepositoryParameter: REPOSITORY_PARAMETER,
  RepositoryIndexRequest: { repository_name: ['string', 1], ready: ['bool', 2] },
  ModelIndex: {
    name: ['string', 1],
    version: ['string', 2],
    state: ['string', 3],
    reason: ['string', 4],
  },
  RepositoryIndexResponse: { models: ['ModelIndex', 1, 'list'] },
  RepositoryModelLoadRequest: CHANGED_MODEL,
  RepositoryModelLoadResponse: {},
  RepositoryModelUnloadRequest: CHANGED_MODEL,
  RepositoryModelUnloadResponse: {},
}

/** Names of the methods with one answer; each takes the message NAMERequest and answers NAMEResponse. */
export const METHODS = [
  'ServerLive',
  'ServerReady',
  'ModelReady',
  'ServerMetadata',
  'ModelMetadata',
  'ModelInfer',
  'RepositoryIndex',
  'RepositoryModelLoad',
  'RepositoryModelUnload',
] as const

/** Name of a method with one answer for each request. */
export type UnaryMethod = (typeof METHODS)[number]

/** Name of the method whose requests and answers are streams of those of `ModelInfer`. */
export const STREAM = 'ModelStreamInfer'

/** Full name of the service. */
export const SERVICE = 'inference.GRPCInferenceService'

/** The service of the protocol, as the loader takes one. */
export const SCHEMA: Parameters<typeof fromJSON>[0] = {
  nested: {
    inference: {
      nested: {
        GRPCInferenceService: {
          methods: {
            ...Object.fromEntries(
              METHODS.map((name) => [
                name,
                { requestType: `${name}Request`, responseType: `${name}Response` },
              ]),
            ),
            [STREAM]: {
              requestType: 'ModelInferRequest',
              requestStream: true,
              responseType: 'ModelStreamInferResponse',
              responseStream: true,
              comment: '',
            },
          },
        },
        ...Object.fromEntries(
          Object.entries(MESSAGES).map(([name, fields]) => [name, messageOf(fields)]),
        ),
      },
    },
  },
}

function messageOf(fields: Fields) {
  const isChoice = fields === PARAMETER || fields === REPOSITORY_PARAMETER
  return {
    ...(isChoice ? { oneofs: { choice: { oneof: Object.keys(fields) } } } : {}),
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, [type, id, kind]]) => [
        name,
        {
          type,
          id,
          ...(kind === 'list' ? { rule: 'repeated' } : {}),
          ...(kind === 'map' ? { keyType: 'string' } : {}),
        },
      ]),
    ),
  }
}
