import { requireArgument, WeirError } from '../../core/errors.ts'
import { requireKnownFields } from '../../http/body-fields.ts'
import { JSON_LIMITS, parseJsonBody, requireJsonBytes } from '../../http/json-body.ts'
import type { SequenceTerms } from '../../inference/sequences/sequence-states.ts'
import { parseExactly } from '../../wire/inference/json-values.ts'
import { FloatsForm } from './numbers/floats-form.ts'
import { REQUEST } from './schemas.ts'
import { flagOf, sequenceOf } from './sequence-parameters.ts'
import { dataOfJson, type Tensor, type TensorMetadata, tensorOfBytes } from './tensor.ts'

/*
 * Bodies of the Open Inference Protocol. With the header `Inference-Header-Content-Length: N` a body is N
 * bytes of JSON and then the raw bytes of the tensors that have the parameter `binary_data_size`, in the
 * order of the JSON:
 *
 *   +--------------+------------------+------------------+
 *   | JSON, N bytes| tensor, m0 bytes | tensor, m1 bytes | ...
 *   +--------------+------------------+------------------+
 */

/** Name of the header of a body with binary tensors, in lower case. */
export const JSON_LENGTH_HEADER = 'inference-header-content-length'

/** An inference request. */
export interface InferenceRequest {
  readonly id: string | undefined
  readonly inputs: readonly Tensor[]
  /** Names of the wanted outputs; empty for all. */
  readonly outputs: readonly string[]
  /** Number of best classes that the client wants instead of an output's elements; 0 for the elements. */
  readonly classesOf: (output: string) => number
  /** Outputs whose data the client wants as bytes. */
  readonly isBinary: (output: string) => boolean
  /** In JSON, NaN and the infinities are `null` and no texts. */
  readonly hasNulls: boolean
  /** Deadline of the client in ms; undefined for the default. */
  readonly timeoutMs: number | undefined
  /** The sequence of the request; undefined for one by itself. */
  readonly sequence?: SequenceTerms | undefined
  /** Whose request it is, for a pipeline; undefined where it does not say. */
  readonly context?: string | undefined
}

type Json = Readonly<Record<string, unknown>>

/** An input as its JSON has it: a tensor, or the number of its bytes behind the JSON. */
type PlannedInput = Tensor | (TensorMetadata & { readonly binarySize: number })

/** What the JSON of a request says. */
interface RequestPlan extends Omit<InferenceRequest, 'inputs'> {
  readonly inputs: readonly PlannedInput[]
}

/** Longer JSON is read each time. */
const MAX_KNOWN_BYTES = 4096
const NO_BYTES = Buffer.alloc(0)
/** The form of one in so many parsed bodies is kept: a client whose ids change makes each form useless. */
const FORM_EVERY = 16

/**
 * Reads the requests for one model. Clients send the same JSON again and again, in front of tensors of bytes or around the
 * numbers of a tensor, so the last one is kept with its meaning.
 */
export class ModelRequests {
  private readonly inputs: readonly TensorMetadata[]
  private knownJson = NO_BYTES
  private known: RequestPlan | undefined
  private form: FloatsForm<InferenceRequest> | undefined
  /** Bodies of JSON without binary tensors that were parsed. */
  private parsed = 0
  /** Whole numbers of 64 bits need all their digits, which takes longer to read. */
  private readonly parse: typeof parseExactly

  constructor(inputs: readonly TensorMetadata[]) {
    this.inputs = inputs
    const isWide = inputs.some(({ datatype }) => datatype === 'INT64' || datatype === 'UINT64')
    this.parse = isWide ? parseExactly : JSON.parse
  }

  /** A request, whose tensors refer to the bytes of the body. Throws INVALID_ARGUMENT. */
  read(body: Buffer, jsonLength: string | undefined): InferenceRequest {
    if (jsonLength === undefined) return this.readJson(body)
    const length = lengthOf(jsonLength, body.length)
    const plan = this.planOf(body.subarray(0, length))
    return { ...plan, inputs: tensorsOf(plan.inputs, body.subarray(length)) }
  }

  /**
   * A request whose parts a decoder has separated already: its JSON, and the bytes of the inputs that have a
   * `binary_data_size`, in their order. Throws INVALID_ARGUMENT.
   */
  readParts(json: Json, raw: readonly Uint8Array[]): InferenceRequest {
    const plan = planOf(json, this.inputs)
    let next = 0
    const inputs = plan.inputs.map((input) =>
      'binarySize' in input ? tensorOfBytes(input, raw[next++]!) : input,
    )
    return { ...plan, inputs }
  }

  private readJson(json: Buffer): InferenceRequest {
    requireJsonBytes(json.length)
    const { form } = this
    const floats = form?.floatsOf(json)
    if (form !== undefined && floats !== undefined) {
      const [input] = form.meaning.inputs
      return { ...form.meaning, inputs: [{ ...input!, data: floats }] }
    }
    const plan = planOf(objectOf(json, this.parse), this.inputs)
    const inputs = tensorsOf(plan.inputs, NO_BYTES)
    if (this.parsed++ % FORM_EVERY === 0) this.keepForm(json, { ...plan, inputs })
    return { ...plan, inputs }
  }

  private keepForm(json: Buffer, request: InferenceRequest): void {
    const [input] = request.inputs
    if (request.inputs.length !== 1 || !(input!.data instanceof Float32Array)) return
    this.form = FloatsForm.of(json, input!.data.length, request)
  }

  private planOf(json: Buffer): RequestPlan {
    if (this.known !== undefined && this.knownJson.equals(json)) return this.known
    const plan = planOf(objectOf(json), this.inputs)
    if (json.length <= MAX_KNOWN_BYTES && plan.inputs.every((input) => 'binarySize' in input)) {
      this.knownJson = Buffer.from(json)
      this.known = plan
    }
    return plan
  }
}

/** Parameters of a request, of an input and of an output; others would change nothing, which would go unnoticed. */
const KNOWN_PARAMETERS = {
  request: [
    'binary_data_output',
    'non_finite_as_null',
    'timeout',
    'sequence_id',
    'sequence_start',
    'sequence_end',
    'sequence_after',
    'context',
  ],
  input: ['binary_data_size'],
  output: ['binary_data', 'classification'],
} as const

function planOf(json: Json, inputs: readonly TensorMetadata[]): RequestPlan {
  requireKnownFields(REQUEST, json)
  const parameters = knownParameters(json, 'request')
  const outputs = listOf(json['outputs'] ?? [], 'outputs')
  const binaryOutputs = new Map(
    outputs.map((output) => [
      textOf(output, 'name'),
      knownParameters(output, 'output')['binary_data'],
    ]),
  )
  const classes = new Map(
    outputs.map((output) => [textOf(output, 'name'), classesOf(parametersOf(output))]),
  )
  const isBinaryByDefault = parameters['binary_data_output'] === true
  return {
    id: idOf(json),
    inputs: plannedInputs(listOf(json['inputs'], 'inputs'), inputs),
    outputs: [...binaryOutputs.keys()],
    classesOf: (output) => classes.get(output) ?? 0,
    isBinary: (output) => {
      const wanted = binaryOutputs.get(output)
      return wanted === undefined ? isBinaryByDefault : wanted === true
    },
    hasNulls: flagOf(parameters, 'non_finite_as_null'),
    timeoutMs: timeoutOf(parameters['timeout']),
    sequence: sequenceOf(parameters),
    context: contextOf(parameters['context']),
  }
}

/** The parameter `context`, a text or a whole number, as ids are. Throws INVALID_ARGUMENT. */
function contextOf(value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined
  requireArgument(
    typeof value === 'string' || typeof value === 'bigint' || Number.isSafeInteger(value),
    'the parameter context is a text, or a whole number that JSON has exactly',
  )
  return String(value)
}

function idOf({ id }: Json): string | undefined {
  requireArgument(id === undefined || typeof id === 'string', '"id" is a string')
  return id
}

function plannedInputs(
  given: readonly Json[],
  wanted: readonly TensorMetadata[],
): readonly PlannedInput[] {
  // Of one more than the model has, one is unknown or comes twice: a client may send thousands.
  const inputs = given.slice(0, wanted.length + 1).map((json) => plannedInput(json, wanted))
  for (const { name, isOptional } of wanted) {
    const count = inputs.filter((input) => input.name === name).length
    requireArgument(
      count === 1 || (count === 0 && isOptional === true),
      `the request has input "${name}" ${count} times; give it once`,
    )
  }
  return inputs
}

function plannedInput(json: Json, wanted: readonly TensorMetadata[]): PlannedInput {
  const name = textOf(json, 'name')
  const metadata = wanted.find((input) => input.name === name)
  if (metadata === undefined) throw unknownInput(name, wanted)
  const tensor = tensorOf(json, metadata)
  const size = knownParameters(json, 'input')['binary_data_size']
  if (size === undefined) {
    const { data } = json
    requireArgument(Array.isArray(data), `input "${name}" has neither data nor binary_data_size`)
    return { ...tensor, data: dataOfJson(tensor, data) }
  }
  requireArgument(
    Number.isSafeInteger(size) && (size as number) >= 0,
    `input "${name}": binary_data_size is a number of bytes, not ${String(size).slice(0, 20)}`,
  )
  return { ...tensor, binarySize: size as number }
}

function unknownInput(name: string, wanted: readonly TensorMetadata[]): WeirError {
  const known = wanted.map((input) => `"${input.name}"`).join(', ')
  return new WeirError('INVALID_ARGUMENT', `no input is named "${name}"; the inputs are ${known}`)
}

function tensorsOf(inputs: readonly PlannedInput[], binary: Buffer): readonly Tensor[] {
  let at = 0
  const tensors = inputs.map((input) => {
    if (!('binarySize' in input)) return input
    const { name, binarySize } = input
    const end = at + binarySize
    if (end > binary.length) throw tooShort(name, binarySize, binary.length - at)
    const bytes = binary.subarray(at, end)
    at = end
    return tensorOfBytes(input, bytes)
  })
  if (at === binary.length) return tensors
  throw new WeirError('INVALID_ARGUMENT', `${binary.length - at} bytes of the body are of no input`)
}

function tooShort(name: string, size: number, more: number): WeirError {
  const message = `input "${name}": ${size} bytes of binary data, but the body has ${more} more`
  return new WeirError('INVALID_ARGUMENT', message)
}

function tensorOf(json: Json, metadata: TensorMetadata): TensorMetadata {
  const { name, datatype } = metadata
  requireArgument(
    json['datatype'] === datatype,
    `input "${name}" has the datatype ${String(json['datatype']).slice(0, 20)}; the model takes ${datatype}`,
  )
  const { shape } = json
  requireArgument(Array.isArray(shape), `input "${name}" has no shape`)
  return { name, datatype, shape: shape as number[] }
}

function lengthOf(header: string, most: number): number {
  const length = Number(header)
  if (/^[0-9]+$/.test(header) && length <= most) return length
  const shown = header.slice(0, 20)
  const message = `${JSON_LENGTH_HEADER} is ${shown}; the body has ${most} bytes`
  throw new WeirError('INVALID_ARGUMENT', message)
}

/** The object of a body of JSON. Throws INVALID_ARGUMENT, FRAME_TOO_LARGE. */
export function objectOf(bytes: Buffer, parse: typeof parseExactly = JSON.parse): Json {
  const value = parseJsonBody(bytes, JSON_LIMITS, parse)
  requireArgument(isObject(value), 'the body is no JSON object')
  return value
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown, name: string): readonly Json[] {
  requireArgument(
    Array.isArray(value) && value.every(isObject),
    `"${name}" is a list of objects with name, shape and datatype`,
  )
  return value as Json[]
}

function textOf(json: Json, field: string): string {
  const value = json[field]
  requireArgument(typeof value === 'string', `a tensor has no ${field}`)
  return value
}

function parametersOf(json: Json): Json {
  const { parameters = {} } = json
  requireArgument(isObject(parameters), '"parameters" is an object')
  return parameters
}

/** The parameters of a part of the request. Throws UNKNOWN_OPTION for one that Weir does not know. */
function knownParameters(json: Json, part: keyof typeof KNOWN_PARAMETERS): Json {
  const parameters = parametersOf(json)
  const known: readonly string[] = KNOWN_PARAMETERS[part]
  for (const name of Object.keys(parameters)) {
    if (known.includes(name)) continue
    const what =
      part === 'request' ? 'the request' : `${part} "${String(json['name']).slice(0, 40)}"`
    const message = `${what} has the parameter "${name.slice(0, 40)}", which this server does not know; leave it out (known are ${known.join(', ')})`
    throw new WeirError('UNKNOWN_OPTION', message)
  }
  return parameters
}

/** The parameter `classification` of an output; 0 without it. */
function classesOf({ classification = 0 }: Json): number {
  requireArgument(
    Number.isSafeInteger(classification) && (classification as number) >= 0,
    `the parameter classification is a number of classes, not ${String(classification).slice(0, 20)}`,
  )
  return classification as number
}

/** The parameter `timeout`, which is in microseconds; 0 is none. */
function timeoutOf(value: unknown): number | undefined {
  const micros = Number(value ?? 0)
  requireArgument(
    Number.isSafeInteger(micros) && micros >= 0,
    `the parameter timeout is in microseconds, not ${String(value).slice(0, 20)}`,
  )
  return micros === 0 ? undefined : Math.max(1, Math.ceil(micros / 1000))
}
