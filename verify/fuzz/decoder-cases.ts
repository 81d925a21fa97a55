import { inferBody } from '../../src/client/request-bodies.ts'
import { decodeJob, encodeJob } from '../../src/cluster/jobmanager/store/format.ts'
import { decodeFetchAnswer } from '../../src/connectors/kafka/client/answers/fetch-answer.ts'
import { ByteReader } from '../../src/core/byte-reader.ts'
import { ByteWriter } from '../../src/core/byte-writer.ts'
import { keyOfText } from '../../src/core/formats/key-text.ts'
import { plainMsgpackSerializer } from '../../src/core/formats/msgpack-serializer.ts'
import { readPlainKey, writePlainKey } from '../../src/core/formats/plain-key.ts'
import { readableValue } from '../../src/core/formats/readable-value.ts'
import { codecsOf } from '../../src/gateway/grpc/codec.ts'
import { requestOf } from '../../src/gateway/grpc/messages.ts'
import { RequestReader } from '../../src/gateway/hot/request-reader.ts'
import { ModelRequests } from '../../src/gateway/inference/message.ts'
import {
  type JsonObservation,
  observationsOfCsv,
  observationsOfNdjson,
} from '../../src/gateway/observations/body.ts'
import { scanPairs } from '../../src/gateway/routes/pairs-scanner.ts'
import { parseTokens } from '../../src/http/access/tokens-file.ts'
import { parseJsonBody } from '../../src/http/json-body.ts'
import { readModelGraph } from '../../src/inference/onnx/graph.ts'
import { readS3Listing } from '../../src/inference/places/s3-listing.ts'
import { readSettingsText } from '../../src/inference/repository/settings.ts'
import { parseTextRow } from '../../src/models/als/text-row.ts'
import { parseNpyHeader } from '../../src/models/files/npy.ts'
import { parseTextWeights } from '../../src/models/linear/weight-row.ts'
import { decodeManifest, encodeManifest } from '../../src/runtime/checkpoint/manifest/format.ts'
import { decodeAsync } from '../../src/serving/server/async-requests.ts'
import { modelsRequest } from '../../src/serving/server/models-requests.ts'
import { type Codec, compress, decompress } from '../../src/wire/batch/compression.ts'
import { RecordBatchReader } from '../../src/wire/batch/record-batch-reader.ts'
import { RecordBatchWriter } from '../../src/wire/batch/record-batch-writer.ts'
import { FrameReader, KIND } from '../../src/wire/frame.ts'
import { FrameWriter } from '../../src/wire/frame-writer.ts'
import { readHello, readWelcome } from '../../src/wire/hello.ts'
import { beginRequest, RequestCursor } from '../../src/wire/request.ts'
import { readRouting } from '../../src/wire/routing-table.ts'
import { methodOf } from '../../test/gateway/grpc/frames.ts'
import { GATEWAY_REQUESTS } from './http-requests.ts'
import { QUERY_FRAMES } from './query-frames.ts'

/** What reads bytes that a stranger may have made. It throws, or rejects with, nothing but a WeirError. */
export interface Decoder {
  readonly name: string
  /** Bytes that it reads well; cases are mutations of them. */
  readonly samples: readonly Uint8Array[]
  readonly decode: (bytes: Buffer) => unknown
}

const MOST_FRAME_BYTES = 65_536
const CODECS: readonly Codec[] = ['gzip', 'snappy', 'lz4', 'zstd']

const bytesOf = (...texts: readonly string[]): readonly Buffer[] =>
  texts.map((text) => Buffer.from(text))

function inferFrame(): Uint8Array {
  const writer = new FrameWriter(256)
  const consistency = { level: 'live' } as const
  const preamble = { state: 'double', version: 0, deadlineMs: 100, consistency }
  beginRequest(writer, KIND.infer, 0, 1, preamble)
  const texts = {
    name: 't',
    datatype: 'BYTES',
    shape: [1],
    data: Uint8Array.of(1, 0, 0, 0, 65),
  } as const
  const numbers = { name: 'x', datatype: 'FP32', shape: [1, 2], data: new Uint8Array(8) } as const
  inferBody({ inputs: [numbers, texts], outputs: ['y'] }).write(writer)
  writer.end(1)
  return writer.toBytes()
}

const CLIENT = { principal: undefined, from: 'fuzz', audit: () => {} } as const

function decodeFrames(bytes: Buffer): void {
  const reader = new FrameReader(() => MOST_FRAME_BYTES)
  const cursor = new RequestCursor()
  reader.append(bytes)
  while (reader.next()) {
    if (reader.kind === KIND.hello) readHello(reader)
    else if (reader.kind === KIND.hello + 0x80) readWelcome(reader)
    else if (reader.kind === KIND.routing + 0x80) readRouting(reader)
    else {
      cursor.open(reader)
      cursor.readPreamble()
      const isOfModels = cursor.kind === KIND.infer || cursor.kind === KIND.models
      if (isOfModels) modelsRequest(cursor, CLIENT)
      else decodeAsync(cursor)
    }
  }
}

function batch(): Uint8Array {
  const writer = new RecordBatchWriter()
  writer.reset(7)
  const key = Buffer.from('key')
  for (let i = 0; i < 3; i++) {
    writer.append(key, Buffer.from(`value ${i}`), 1_700_000_000_000 + i, i, [
      { key: 'h', value: key },
    ])
  }
  return writer.finish({}).slice()
}

function readBatch(bytes: Buffer): void {
  const reader = new RecordBatchReader()
  reader.open(bytes, 0, false)
  while (reader.next()) reader.headers()
}

const MODEL_INPUTS = [
  { name: 'x', datatype: 'FP32', shape: [-1, 2] },
  { name: 't', datatype: 'BYTES', shape: [-1] },
] as const

const JSON_INFER = bytesOf(
  '{"id":"a","inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1.5,"NaN"]},{"name":"t","datatype":"BYTES","shape":[1],"data":["é"]}],"outputs":[{"name":"y","parameters":{"classification":2}}],"parameters":{"timeout":100}}',
  '{"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4e3]]},{"name":"t","datatype":"BYTES","shape":[2],"data":["a","b"]}]}',
)
const BINARY_HEAD =
  '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}},{"name":"t","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}'
const BINARY_INFER = Buffer.concat([
  Buffer.from(BINARY_HEAD),
  Buffer.alloc(8),
  Buffer.from([1, 0, 0, 0, 65]),
])

const GRPC = codecsOf()('ModelInfer')
const grpcInfer = (message: object): Uint8Array =>
  methodOf('ModelInfer').requestSerialize({ model_name: 'm', ...message })
const GRPC_INFER = [
  grpcInfer({
    inputs: MODEL_INPUTS.map((input) => ({ ...input, shape: [1, 2].slice(0, input.shape.length) })),
    raw_input_contents: [Buffer.alloc(8), Buffer.from([1, 0, 0, 0, 65])],
    parameters: { sequence_id: { string_param: 'a' } },
  }),
  grpcInfer({
    inputs: [
      { name: 'x', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [1, 2] } },
      { name: 't', datatype: 'BYTES', shape: [1], contents: { bytes_contents: [Buffer.of(65)] } },
    ],
    outputs: [{ name: 'y', parameters: { classification: { int64_param: '2' } } }],
  }),
]

const isObservation = (value: unknown): value is JsonObservation => {
  const { user, item, rating, timestamp } = (value ?? {}) as Record<string, unknown>
  const isTime = timestamp === undefined || typeof timestamp === 'number'
  return (
    typeof user === 'string' && typeof item === 'string' && typeof rating === 'number' && isTime
  )
}

const MANIFEST = encodeManifest({
  ...{ jobId: 'ab'.repeat(16), jobName: 'job', attempt: 2, generation: 3, checkpointId: 41 },
  ...{ kind: 'savepoint', triggeredAtMs: 1_700_000_000_000, completedAtMs: 1_700_000_000_250 },
  operators: [
    {
      ...{ uid: 'model', parallelism: 2, maxParallelism: 128, segments: [] },
      declarations: [{ name: 'factors@1', kind: 'vector', format: 'float32[10]' }],
      operatorState: [[{ name: 'offsets', redistribution: 'union', entries: [Uint8Array.of(1)] }]],
    },
  ],
})

const TOKENS = `{"version":1,"tokens":[{"id":"t1","name":"a","role":"read","sha256":"${'0'.repeat(64)}","created":"2026-01-01T00:00:00.000Z","limit":{"perSecond":5,"burst":5}}]}`

const SETTINGS = `slo-ms: 50
workers: 2
batching:
  rule: slack
cache: 1 MiB
version: latest
checks: {}
`

function packedValue(value: unknown): Uint8Array {
  const writer = new ByteWriter()
  plainMsgpackSerializer<unknown>().write(value, writer)
  return writer.toBytes()
}

function packedKey(): Uint8Array {
  const writer = new ByteWriter()
  writePlainKey(['a', 1, true, -5n, ['b']], writer)
  return writer.toBytes()
}

/** ModelProto with an operator set and a graph with one node. */
const ONNX = Uint8Array.of(
  ...[8, 9, 0x42, 2, 0x10, 17, 0x3a, 26, 0x0a, 14, 0x0a, 1, 0x78, 0x12, 1, 0x79, 0x22, 6],
  ...[0x52, 0x65, 0x6c, 0x75, 0x21, 0x21, 0x12, 1, 0x67, 0x5a, 3, 0x0a, 1, 0x78],
)

const VALUES = [{ a: [1, 'b', null, 2.5], m: new Map([['k', 1n]]) }, 'text', Uint8Array.of(1, 2)]

const NPY = Buffer.from(
  `\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n`,
  'latin1',
)

const JOB = encodeJob({
  ...{ id: 'ab'.repeat(16), submittedMs: 1, submission: { job: 'models', options: {} } },
} as unknown as Parameters<typeof encodeJob>[0])

const hotLimits = {
  maxBodyBytes: MOST_FRAME_BYTES,
  maxObservationBytes: 1024,
  onlyLoopbackNames: false,
}

/** Every decoder of bytes from outside: frames, bodies, answers of other servers, files. */
export const DECODERS: readonly Decoder[] = [
  { name: 'query frames', samples: [...QUERY_FRAMES, inferFrame()], decode: decodeFrames },
  {
    name: 'hot requests',
    samples: GATEWAY_REQUESTS.filter(({ length }) => length < 4096),
    decode: (bytes) => new RequestReader(hotLimits).read(bytes.toString('latin1'), 0),
  },
  {
    name: 'inferences as JSON',
    samples: JSON_INFER,
    decode: (bytes) => new ModelRequests(MODEL_INPUTS).read(bytes, undefined),
  },
  {
    name: 'inferences with bytes',
    samples: [BINARY_INFER],
    decode: (bytes) => new ModelRequests(MODEL_INPUTS).read(bytes, String(BINARY_HEAD.length)),
  },
  {
    name: 'messages of gRPC',
    samples: GRPC_INFER,
    decode: (bytes) => requestOf(GRPC.decode(bytes), new ModelRequests(MODEL_INPUTS)),
  },
  {
    name: 'lists of buckets',
    samples: bytesOf(
      '<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%2Bb</Key><ETag>&quot;1&quot;</ETag><Size>5</Size></Contents></ListBucketResult>',
    ),
    decode: (bytes) => readS3Listing(bytes.toString(), 'http://s3.example'),
  },
  {
    name: 'JSON',
    samples: [...JSON_INFER, ...bytesOf('{"a":[[[{"b":null}]]],"__proto__":{"c":1e5}}')],
    decode: parseJsonBody,
  },
  {
    name: 'pairs',
    samples: bytesOf('{"pairs":[["1","2"],["user", "item"]]}'),
    decode: (bytes) => scanPairs(bytes),
  },
  {
    name: 'observations as CSV',
    samples: bytesOf('1,2,3\n4,5,1,100\n'),
    decode: observationsOfCsv,
  },
  {
    name: 'observations as NDJSON',
    samples: bytesOf(
      '{"user":"1","item":"2","rating":3}\n{"user":"1","item":"2","rating":3,"timestamp":5}\n',
    ),
    decode: (bytes) => observationsOfNdjson(bytes, isObservation),
  },
  { name: 'batches of records', samples: [batch()], decode: readBatch },
  ...CODECS.map((codec) => ({
    name: `records in ${codec}`,
    samples: [compress(codec, Buffer.from('some records '.repeat(40)))],
    decode: (bytes: Buffer) => decompress(codec, bytes),
  })),
  { name: 'answers of a broker', samples: [fetchAnswer()], decode: decodeFetchAnswer },
  { name: 'manifests of checkpoints', samples: [MANIFEST], decode: decodeManifest },
  { name: 'stored jobs', samples: [JOB], decode: (bytes) => decodeJob(bytes, 'job') },
  {
    name: 'tokens files',
    samples: bytesOf(TOKENS),
    decode: (bytes) => parseTokens(bytes.toString(), 'tokens.json'),
  },
  {
    name: 'settings of models',
    samples: bytesOf(SETTINGS),
    decode: (bytes) => readSettingsText(bytes.toString(), 'deployment.yaml'),
  },
  {
    name: 'ONNX graphs',
    samples: [ONNX],
    decode: (bytes) =>
      readModelGraph({
        length: bytes.length,
        read: (at, length) => bytes.subarray(at, at + length),
      }),
  },
  { name: 'values', samples: VALUES.map(packedValue), decode: (bytes) => readableValue(bytes) },
  {
    name: 'values of state',
    samples: VALUES.map(packedValue),
    decode: (bytes) => plainMsgpackSerializer<unknown>().read(new ByteReader(bytes)),
  },
  { name: 'keys', samples: [packedKey()], decode: (bytes) => readPlainKey(new ByteReader(bytes)) },
  {
    name: 'keys as text',
    samples: bytesOf('\u0001[1,"a",{"bigint":"5"}]', 'text'),
    decode: (bytes) => keyOfText(bytes.toString()),
  },
  {
    name: 'rows of a model as text',
    samples: bytesOf('1,U,0.5;0.25'),
    decode: (b) => parseTextRow(b.toString()),
  },
  {
    name: 'weights as text',
    samples: bytesOf('1:0.5;2:1e-3'),
    decode: (b) => parseTextWeights(b.toString()),
  },
  { name: 'matrices of NumPy', samples: [NPY], decode: parseNpyHeader },
]

/** The answer of a broker to a fetch, with one partition. */
function fetchAnswer(): Uint8Array {
  const writer = new ByteWriter()
  const zeros = (count: number) => writer.raw(new Uint8Array(count))
  zeros(10)
  writer.raw(Uint8Array.of(2))
  zeros(16)
  writer.raw(Uint8Array.of(2, 0, 0, 0, 7, 0, 0))
  zeros(24)
  writer.raw(Uint8Array.of(2))
  zeros(16)
  writer.raw(Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff, 5, 1, 2, 3, 4, 0, 0, 0))
  return writer.toBytes()
}
