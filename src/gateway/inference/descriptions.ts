import type { ServedModelEntry } from './repository.ts'
import type { Datatype } from './tensor.ts'

/** Names of the datatypes in Triton's model configuration. */
const CONFIG_TYPES: Readonly<Record<Datatype, string>> = {
  BOOL: 'TYPE_BOOL',
  UINT8: 'TYPE_UINT8',
  UINT16: 'TYPE_UINT16',
  UINT32: 'TYPE_UINT32',
  UINT64: 'TYPE_UINT64',
  INT8: 'TYPE_INT8',
  INT16: 'TYPE_INT16',
  INT32: 'TYPE_INT32',
  INT64: 'TYPE_INT64',
  FP16: 'TYPE_FP16',
  BF16: 'TYPE_BF16',
  FP32: 'TYPE_FP32',
  FP64: 'TYPE_FP64',
  BYTES: 'TYPE_STRING',
}

/** Metadata of a model as the protocol gives it. */
export function metadataOf({ info, model }: ServedModelEntry) {
  return {
    name: info.name,
    versions: info.versions.map(String),
    platform: model.platform,
    inputs: model.inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    outputs: model.outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
  }
}

/**
 * Configuration of a model as Triton gives it. Triton's batches are along the first axis of all tensors, which its sizes
 * then leave out; along other axes its largest batch is 0, and the parameter `batching` says what is so. A model that answers
 * in parts is decoupled there.
 */
export function configOf({ info, model }: ServedModelEntry) {
  const { maxBatchItems = 0, batching = '' } = model
  const isFirst = [...model.inputs, ...model.outputs].every(({ itemAxis }) => itemAxis === 0)
  const isBatched = maxBatchItems > 0 && isFirst
  const tensors = (list: typeof model.inputs) =>
    list.map(({ name, datatype, shape, isOptional }) => ({
      name,
      data_type: CONFIG_TYPES[datatype],
      dims: isBatched ? shape.slice(1) : shape,
      ...(isOptional === true ? { optional: true } : {}),
    }))
  return {
    name: info.name,
    platform: model.platform,
    backend: 'weir',
    max_batch_size: isBatched ? maxBatchItems : 0,
    input: tensors(model.inputs),
    output: tensors(model.outputs),
    ...(model.answersInParts === true ? { model_transaction_policy: { decoupled: true } } : {}),
    ...(batching === '' ? {} : { parameters: { batching: { string_value: batching } } }),
  }
}

/** Entries of the repository index: a line for each version. */
export function indexOf(entries: readonly ServedModelEntry[], readyOnly: boolean) {
  return entries.flatMap(({ info, versions }) =>
    versions
      .filter(
        ({ version, state }) => !readyOnly || (version === info.liveVersion && state === 'READY'),
      )
      .map(({ version, state, reason }) => ({
        name: info.name,
        version: String(version),
        state,
        reason: version === info.liveVersion && state === 'READY' ? 'live' : reason,
      })),
  )
}
