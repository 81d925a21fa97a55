import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asWeirError, messageOf, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { ModelSource } from '../port/model.ts'
import type { LoadedModel } from '../port/runner.ts'
import { itemAxisOf, type ModelSignature, type TensorSpec } from '../port/signature.ts'
import { DATATYPE_BYTES, type Tensor } from '../port/tensor.ts'
import type { Transforms } from '../port/transforms.ts'
import { ImageInput, loadDecoder } from './image.ts'
import { JsonObjects } from './json-objects.ts'
import { TopLabels } from './labels.ts'
import { TextInput } from './text.ts'
import { TextTokenizer } from './text-tokenizer.ts'
import { type OpenTransforms, TransformedModel } from './transformed-model.ts'

/** What the transforms of a model are opened from. */
interface TransformOptions {
  readonly transforms?: Transforms | undefined
  readonly source: ModelSource
  /** What the first load found; undefined for the first. */
  readonly signature?: ModelSignature | undefined
}

/**
 * A model with what happens before and after its runs. `signature` is what is known of the model itself. Throws
 * INVALID_ARGUMENT for a transform that does not fit the model, FILE_NOT_FOUND for a file that is not there, and UNSUPPORTED
 * and MALFORMED_DATA for one that cannot be used.
 */
export async function withTransforms(
  model: LoadedModel,
  signature: ModelSignature,
  { transforms = {}, source, signature: known }: TransformOptions,
): Promise<LoadedModel> {
  const { images = {}, tokenizers = {}, labels = {}, json } = transforms
  const named = [images, tokenizers, labels].flatMap((of) => Object.keys(of))
  if (named.length === 0 && json === undefined && signature === model.signature) return model
  const open = {
    images: await imagesOf(signature, images),
    texts: await textsOf(signature, tokenizers, source),
    labels: await labelsOf(signature, labels, source),
  }
  const alone = aloneWith(signature, transforms)
  const tensors = new TransformedModel(model, signature, { transforms: open, alone })
  if (open.texts.length > 0 && known === undefined)
    await requireVocabulary(model, signature, open.texts)
  if (json === undefined) return tensors
  const objects: OpenTransforms = { ...open, json: new JsonObjects(tensors.signature, json) }
  return new TransformedModel(model, signature, { transforms: objects, alone })
}

async function imagesOf(
  signature: ModelSignature,
  images: NonNullable<Transforms['images']>,
): Promise<ReadonlyMap<string, ImageInput>> {
  requireNames(signature.inputs, Object.keys(images), 'input')
  const inputs = new Map<string, ImageInput>()
  if (Object.keys(images).length === 0) return inputs
  const decoder = await loadDecoder()
  for (const spec of signature.inputs) {
    const transform = images[spec.name]
    if (transform !== undefined) inputs.set(spec.name, new ImageInput(spec, transform, decoder))
  }
  return inputs
}

async function textsOf(
  { inputs }: ModelSignature,
  tokenizers: NonNullable<Transforms['tokenizers']>,
  source: ModelSource,
): Promise<TextInput[]> {
  const texts: TextInput[] = []
  for (const [name, transform] of Object.entries(tokenizers)) {
    const tokenizer = await TextTokenizer.open(join(folderOf(source), transform.file))
    const text = new TextInput(name, inputs, { transform, tokenizer })
    requireOwnNames(text, inputs, texts)
    texts.push(text)
  }
  return texts
}

/** Throws INVALID_ARGUMENT for a text whose names, or the inputs that it becomes, are those of something else. */
function requireOwnNames(
  { specs, inputs: own }: TextInput,
  inputs: readonly TensorSpec[],
  texts: readonly TextInput[],
): void {
  const names = specs.map(({ name }) => name)
  const refuse = (name: string, why: string): never => {
    throw new WeirError('INVALID_ARGUMENT', `transforms: input "${name}": ${why}`)
  }
  for (const [i, name] of names.entries()) {
    const isInput = inputs.some((spec) => spec.name === name && !own.includes(name))
    if (isInput)
      refuse(name, 'the model has an input of this name that takes no tokens; choose another name')
    const isTwice =
      names.indexOf(name) < i || texts.some((text) => text.specs.some((one) => one.name === name))
    if (isTwice) refuse(name, 'two texts have this name; choose another one for pair')
  }
  const taken = texts.find((other) => other.inputs.some((one) => own.includes(one)))
  if (taken === undefined) return
  const [first] = taken.specs
  refuse(
    names[0]!,
    `its tokens go into the same inputs as those of "${first!.name}"; set ids, mask and types of both, or pair of one if they are pairs`,
  )
}

async function labelsOf(
  { outputs }: ModelSignature,
  labels: NonNullable<Transforms['labels']>,
  source: ModelSource,
): Promise<ReadonlyMap<string, TopLabels>> {
  requireNames(outputs, Object.keys(labels), 'output')
  const found = new Map<string, TopLabels>()
  for (const spec of outputs) {
    const transform = labels[spec.name]
    if (transform === undefined) continue
    const text = await textOf(join(folderOf(source), transform.file))
    found.set(spec.name, new TopLabels(spec, transform, text))
  }
  return found
}

/** Why requests share no run with these transforms; undefined where the model itself says it, or they do. */
function aloneWith(
  signature: ModelSignature,
  { tokenizers = {}, json }: Transforms,
): string | undefined {
  const texts = Object.entries(tokenizers)
  if (signature.alone !== undefined || texts.length === 0) return undefined
  const longest = texts.find(([, { padding }]) => padding === 'longest')
  if (longest !== undefined) return `padding of "${longest[0]}" is longest`
  // An object has its outputs for itself, so those may have other sizes than the next one's.
  if (json !== undefined) return undefined
  const free = signature.outputs.find((spec) => {
    return spec.shape.some((size, d) => size === -1 && d !== itemAxisOf(spec))
  })
  return free && `the output "${free.name}" has a size of its own for each text`
}

/** Throws INVALID_ARGUMENT where the model fails for the largest id of a tokenizer, and does not for the smallest. */
async function requireVocabulary(
  model: LoadedModel,
  { inputs }: ModelSignature,
  texts: readonly TextInput[],
): Promise<void> {
  const others = inputs.filter(({ name }) => !texts.some((text) => text.inputs.includes(name)))
  const rest = others.map(zerosOf)
  const failure = async (largest?: TextInput): Promise<unknown> => {
    const given = [...rest, ...texts.flatMap((text) => text.probe(text === largest))]
    const ordered = inputs.map(({ name }) => given.find((tensor) => tensor.name === name)!)
    return await model.run(ordered, 1).then(
      () => undefined,
      (error: unknown) => error,
    )
  }
  // A model that refuses zeros says nothing about its vocabulary.
  if ((await failure()) !== undefined) return
  for (const text of texts) {
    const error = await failure(text)
    if (error === undefined) continue
    const types = text.largestType === 0 ? '' : ` and types up to ${text.largestType}`
    const message = `transforms: input "${text.specs[0]!.name}": the tokenizer has ids up to ${text.largestId}${types}, which the model does not take (${messageOf(error)}); push the tokenizer that belongs to the model`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
}

/** A tensor of zeros for one item; sizes that a request chooses are 1. */
function zerosOf({ name, datatype, shape: sizes }: TensorSpec): Tensor {
  const shape = sizes.map((size) => (size === -1 ? 1 : size))
  const elements = shape.reduce((product, size) => product * size, 1)
  const data = new Uint8Array(elements * (DATATYPE_BYTES[datatype] || 4))
  return { name, datatype, shape, data }
}

function requireNames(
  specs: readonly TensorSpec[],
  names: readonly string[],
  what: 'input' | 'output',
): void {
  const known = specs.map(({ name }) => name)
  for (const name of names) {
    if (known.includes(name)) continue
    const nearest = nearestWord(name, known)
    const hint =
      nearest === undefined ? `the ${what}s are ${known.join(', ')}` : `did you mean "${nearest}"?`
    const message = `transforms: the model has no ${what} "${name}"; ${hint}`
    throw new WeirError('INVALID_ARGUMENT', message)
  }
}

/** The folder of a version. */
function folderOf(source: ModelSource): string {
  if (source.kind === 'onnx' || source.kind === 'pipeline') return dirname(source.file)
  if (source.kind === 'remote') {
    const message =
      'transforms: labels and tokenizers are files of the version, and a model on another server has none'
    throw new WeirError('INVALID_ARGUMENT', message)
  }
  const { module } = source
  return dirname(module.startsWith('file:') ? fileURLToPath(module) : module)
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw asWeirError(error, 'STORAGE_FAILED', `cannot read the labels ${path}`)
  }
}
