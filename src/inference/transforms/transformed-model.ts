import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asWeirError, WeirError } from '../../core/errors.ts'
import { nearestWord } from '../../core/text/nearest-word.ts'
import type { ModelSource } from '../port/model.ts'
import type { LoadedModel } from '../port/runner.ts'
import type { ModelSignature, TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { Transforms } from '../port/transforms.ts'
import { ImageInput, loadDecoder } from './image.ts'
import { TopLabels } from './labels.ts'

/**
 * A model with what happens before and after its runs. `signature` is what is known of the model itself. Throws
 * INVALID_ARGUMENT for a transform that does not fit the model, FILE_NOT_FOUND for labels that are not there.
 */
export async function withTransforms(
  model: LoadedModel,
  signature: ModelSignature,
  {
    transforms,
    source,
  }: { readonly transforms?: Transforms | undefined; readonly source: ModelSource },
): Promise<LoadedModel> {
  const { images = {}, labels = {} } = transforms ?? {}
  if (Object.keys(images).length + Object.keys(labels).length === 0) {
    return signature === model.signature ? model : new TransformedModel(model, signature, {})
  }
  requireNames(signature.inputs, Object.keys(images), 'input')
  requireNames(signature.outputs, Object.keys(labels), 'output')
  const decoder = Object.keys(images).length === 0 ? undefined : await loadDecoder()
  const inputs = new Map<string, ImageInput>()
  for (const spec of signature.inputs) {
    const transform = images[spec.name]
    if (transform !== undefined) inputs.set(spec.name, new ImageInput(spec, transform, decoder!))
  }
  const outputs = new Map<string, TopLabels>()
  for (const spec of signature.outputs) {
    const transform = labels[spec.name]
    if (transform === undefined) continue
    const text = await textOf(join(folderOf(source), transform.file))
    outputs.set(spec.name, new TopLabels(spec, transform, text))
  }
  return new TransformedModel(model, signature, { inputs, outputs })
}

class TransformedModel implements LoadedModel {
  readonly signature: ModelSignature
  readonly refresh?: () => Promise<void>
  private readonly model: LoadedModel
  private readonly inputs: ReadonlyMap<string, ImageInput>
  private readonly outputs: ReadonlyMap<string, TopLabels>

  constructor(
    model: LoadedModel,
    signature: ModelSignature,
    {
      inputs = new Map(),
      outputs = new Map(),
    }: {
      readonly inputs?: ReadonlyMap<string, ImageInput>
      readonly outputs?: ReadonlyMap<string, TopLabels>
    },
  ) {
    this.model = model
    this.inputs = inputs
    this.outputs = outputs
    this.signature = {
      ...signature,
      inputs: signature.inputs.map((spec) => inputs.get(spec.name)?.spec ?? spec),
      outputs: signature.outputs.flatMap((spec) => outputs.get(spec.name)?.specs ?? [spec]),
      bare: signature,
    }
    if (model.refresh !== undefined) this.refresh = () => model.refresh!()
  }

  async run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> {
    const given = await Promise.all(
      inputs.map((tensor) => this.inputs.get(tensor.name)?.apply(tensor) ?? tensor),
    )
    const answers = await this.model.run(given, items)
    return answers.flatMap((tensor) => this.outputs.get(tensor.name)?.apply(tensor) ?? [tensor])
  }

  close(): Promise<void> {
    return this.model.close()
  }
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
  if (source.kind === 'onnx') return dirname(source.file)
  if (source.kind === 'remote') {
    const message =
      'transforms: labels are a file of the version, and a model on another server has none'
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
