import { WeirError } from '../../core/errors.ts'
import {
  decodeGeneral,
  encodeGeneral,
  type GeneralMap,
  type GeneralValue,
  mapsField,
  numberField,
  textField,
} from '../general-envelope.ts'
import { type Datatype, isDatatype } from './tensor.ts'

/** Name, datatype and shape of one tensor of a model; -1 is a size that the request chooses. */
export interface TensorSignature {
  readonly name: string
  readonly datatype: Datatype
  readonly shape: readonly number[]
  /** Axis along which requests share a run; absent where they do not, or where the tensor has no items. */
  readonly itemAxis?: number
  /** What each element is where a transform of the server takes it; earlier releases do not say it. */
  readonly takes?: InputContent
}

/** What a transform takes: a text, an encoded image, or an object of JSON. */
export type InputContent = 'text' | 'image' | 'json'

/** State of a version: only a ready one answers. */
export type VersionState = 'READY' | 'LOADING' | 'UNAVAILABLE'

/** One version of a model in the repository. */
export interface ModelVersionInfo {
  readonly version: number
  readonly state: VersionState
  /** Why the version is not ready; empty for a ready one. */
  readonly reason: string
}

/** A model of the repository. Inputs and outputs are those of the live version. */
export interface ModelInfo {
  readonly name: string
  /** Kind of the model: `onnx`, `function`, `remote` or `pipeline`. */
  readonly kind: string
  /** Version that answers requests that name none; 0 while none is live. */
  readonly liveVersion: number
  readonly versions: readonly ModelVersionInfo[]
  readonly aliases: Readonly<Record<string, number>>
  readonly inputs: readonly TensorSignature[]
  readonly outputs: readonly TensorSignature[]
  /**
   * Number of the stored revision of the settings that are live (`weir model revisions`); settings that were edited by
   * hand have the number that they get at the next change. 0 while no version is live.
   */
  readonly revision: number
  /** Most items of a run that requests share; 0 where each request runs alone, or none is live. */
  readonly maxBatchItems: number
  /** Along which axes requests share a run, or why they do not; empty while no version is live. */
  readonly batching: string
  /** Where the workers run, one sentence each; absent where the settings name no device. */
  readonly devices?: readonly string[]
  /** Whether the live version answers in parts. @default false */
  readonly parts?: boolean
  /** Latency goal of requests that name no deadline, ms; 0 while no version is live, and from earlier releases. */
  readonly sloMs: number
  /** What is wrong with the files of the model, and its newest version, one sentence each. */
  readonly problems: readonly string[]
  /** The server is ready only if the model answers: it was there at the start, or has answered since. */
  readonly isExpected: boolean
  /** Counters and times of the model since the process started, by name. */
  readonly statistics: Readonly<Record<string, number>>
}

/** What a MODELS frame asks for: the list, or a change that the role `admin` may ask for. */
export interface ModelsRequest {
  readonly action: 'list' | 'load' | 'unload'
  /** Name of the model; empty for all models (`list` only). */
  readonly model: string
}

const ACTIONS: readonly string[] = ['list', 'load', 'unload']

/** Encodes the body of a MODELS request. */
export function encodeModelsRequest(request: ModelsRequest): Uint8Array {
  return encodeGeneral({ ...request })
}

/** Decodes the body of a MODELS request. Throws PROTOCOL_ERROR, INVALID_ARGUMENT. */
export function decodeModelsRequest(bytes: Uint8Array, start: number, end: number): ModelsRequest {
  const map = decodeGeneral(bytes, start, end)
  const action = textField(map, 'action')
  const model = textField(map, 'model')
  if (!ACTIONS.includes(action)) {
    throw new WeirError(
      'INVALID_ARGUMENT',
      `"${action}" is no action of MODELS; the actions are ${ACTIONS.join(', ')}`,
    )
  }
  if (action !== 'list' && model === '') {
    throw new WeirError('INVALID_ARGUMENT', `MODELS ${action} needs the name of a model`)
  }
  return { action: action as ModelsRequest['action'], model }
}

/** Encodes the models of an answer. */
export function encodeModels(models: readonly ModelInfo[]): Uint8Array {
  return encodeGeneral({ models: models.map(mapOf) })
}

function mapOf(model: ModelInfo): GeneralValue {
  const tensors = (list: readonly TensorSignature[]): GeneralValue =>
    list.map(({ name, datatype, shape, itemAxis, takes }) => ({
      name,
      datatype,
      shape: [...shape],
      ...(itemAxis === undefined ? {} : { itemAxis }),
      ...(takes === undefined ? {} : { takes }),
    }))
  return {
    name: model.name,
    kind: model.kind,
    liveVersion: model.liveVersion,
    versions: model.versions.map((version) => ({ ...version })),
    aliases: { ...model.aliases },
    inputs: tensors(model.inputs),
    outputs: tensors(model.outputs),
    revision: model.revision,
    maxBatchItems: model.maxBatchItems,
    batching: model.batching,
    ...(model.devices === undefined ? {} : { devices: [...model.devices] }),
    ...(model.parts === true ? { parts: true } : {}),
    sloMs: model.sloMs,
    problems: [...model.problems],
    isExpected: model.isExpected,
    statistics: { ...model.statistics },
  }
}

/** Decodes the models of an answer. Throws PROTOCOL_ERROR. */
export function decodeModels(bytes: Uint8Array, start: number, end: number): ModelInfo[] {
  return mapsField(decodeGeneral(bytes, start, end), 'models').map((map) => ({
    name: textField(map, 'name'),
    kind: textField(map, 'kind'),
    liveVersion: numberField(map, 'liveVersion'),
    versions: mapsField(map, 'versions').map(versionOf),
    aliases: numbersField(map, 'aliases'),
    inputs: mapsField(map, 'inputs').map(signatureOf),
    outputs: mapsField(map, 'outputs').map(signatureOf),
    revision: numberField(map, 'revision'),
    ...laterFields(map),
    statistics: numbersField(map, 'statistics'),
  }))
}

/** Servers of earlier releases do not send these. */
function laterFields(map: GeneralMap) {
  const { maxBatchItems, batching, devices, parts, sloMs, problems, isExpected } = map
  return {
    ...(Array.isArray(devices) ? { devices: textsOf(devices) } : {}),
    ...(parts === true ? { parts } : {}),
    maxBatchItems: typeof maxBatchItems === 'number' ? maxBatchItems : 0,
    batching: typeof batching === 'string' ? batching : '',
    sloMs: typeof sloMs === 'number' ? sloMs : 0,
    problems: Array.isArray(problems) ? textsOf(problems) : [],
    isExpected: isExpected === true,
  }
}

const textsOf = (values: readonly GeneralValue[]): string[] =>
  values.filter((one) => typeof one === 'string')

function versionOf(map: GeneralMap): ModelVersionInfo {
  const state = textField(map, 'state')
  return {
    version: numberField(map, 'version'),
    state: state === 'READY' || state === 'LOADING' ? state : 'UNAVAILABLE',
    reason: textField(map, 'reason'),
  }
}

function signatureOf(map: GeneralMap): TensorSignature {
  const datatype = textField(map, 'datatype')
  if (!isDatatype(datatype)) {
    throw new WeirError('PROTOCOL_ERROR', `a signature has the unknown datatype "${datatype}"`)
  }
  const { shape, itemAxis, takes } = map
  return {
    name: textField(map, 'name'),
    datatype,
    shape: Array.isArray(shape) ? shape.filter((size) => typeof size === 'number') : [],
    ...(typeof itemAxis === 'number' ? { itemAxis } : {}),
    ...(takes === 'text' || takes === 'image' || takes === 'json' ? { takes } : {}),
  }
}

function numbersField(map: GeneralMap, name: string): Readonly<Record<string, number>> {
  const value = map[name]
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    ),
  )
}
