import { WeirError } from '../../core/errors.ts'
import { BatchBuffer, itemsOf } from '../port/batch-buffer.ts'
import type { LoadedModel } from '../port/runner.ts'
import { itemAxisOf, type ModelSignature, type TensorSpec } from '../port/signature.ts'
import type { Tensor } from '../port/tensor.ts'
import type { ImageInput } from './image.ts'
import type { JsonObjects } from './json-objects.ts'
import type { TopLabels } from './labels.ts'
import type { TextInput } from './text.ts'

/** What a model has before and after its runs. */
export interface OpenTransforms {
  readonly images: ReadonlyMap<string, ImageInput>
  readonly texts: readonly TextInput[]
  readonly labels: ReadonlyMap<string, TopLabels>
  readonly json?: JsonObjects | undefined
}

/** A model with what happens before and after its runs. */
export class TransformedModel implements LoadedModel {
  readonly signature: ModelSignature
  readonly refresh?: () => Promise<void>
  private readonly model: LoadedModel
  private readonly bare: ModelSignature
  private readonly transforms: OpenTransforms
  /** What the model takes and gives with all transforms but that of JSON. */
  private readonly tensors: Pick<ModelSignature, 'inputs' | 'outputs'>

  /** `bare`: what is known of the model itself; `alone`: why its requests share no run with these transforms. */
  constructor(
    model: LoadedModel,
    bare: ModelSignature,
    {
      transforms,
      alone,
    }: { readonly transforms: OpenTransforms; readonly alone?: string | undefined },
  ) {
    this.model = model
    this.bare = bare
    this.transforms = transforms
    this.tensors = tensorsWith(bare, transforms)
    const { json } = transforms
    const specs = json === undefined ? undefined : [json.spec]
    this.signature = {
      ...bare,
      inputs: specs ?? this.tensors.inputs,
      outputs: specs ?? this.tensors.outputs,
      ...(alone === undefined ? {} : { alone }),
      bare,
    }
    if (model.refresh !== undefined) this.refresh = () => model.refresh!()
  }

  async run(inputs: readonly Tensor[], items: number): Promise<readonly Tensor[]> {
    const { json, texts } = this.transforms
    if (json !== undefined) return [json.objects(await this.runObjects(json.rows(inputs[0]!)))]
    if (texts.length === 0 || this.signature.alone !== undefined || items === 0) {
      return await this.runWhole(inputs)
    }
    const rows = rowsOfTensors(inputs, this.tensors.inputs, items)
    return tensorsOfRows(await this.runApart(rows), this.tensors.outputs)
  }

  close(): Promise<void> {
    return this.model.close()
  }

  private async runObjects(rows: readonly Row[]): Promise<readonly Row[]> {
    if (rows.length === 0) return []
    if (this.signature.alone === undefined) return await this.runApart(rows)
    const { inputs, outputs } = this.tensors
    requireEqualSizes(rows, inputs)
    const answers = await this.runWhole(tensorsOfRows(rows, inputs))
    answers.forEach((answer, i) => {
      requireRows(answer, outputs[i]!, rows.length)
    })
    return rowsOfTensors(answers, outputs, rows.length)
  }

  /** The outputs of each row; rows whose tensors have equal sizes share a run. */
  private async runApart(rows: readonly Row[]): Promise<Row[]> {
    const given = await Promise.all(rows.map((row) => this.before(row)))
    const { inputs } = this.bare
    const after = {
      run: async (tensors: readonly Tensor[], items: number) =>
        this.after(await this.model.run(tensors, items)),
    }
    return await runRows(after, given, { inputs, outputs: this.tensors.outputs })
  }

  private async runWhole(inputs: readonly Tensor[]): Promise<readonly Tensor[]> {
    const given = await this.before(inputs)
    const { inputs: specs } = this.bare
    const axis = specs.findIndex((spec) => itemAxisOf(spec) !== null)
    const items = axis === -1 ? 1 : (given[axis]!.shape[itemAxisOf(specs[axis]!)!] ?? 1)
    return this.after(await this.model.run(given, items))
  }

  /** The inputs of the model itself, in its order. Texts are as long as the longest of them. */
  private async before(tensors: readonly Tensor[]): Promise<Tensor[]> {
    const { images, texts } = this.transforms
    const made = await Promise.all(
      tensors.map(async (tensor) => {
        const text = texts.find(({ specs }) => specs.some(({ name }) => name === tensor.name))
        if (text === undefined) return [(await images.get(tensor.name)?.apply(tensor)) ?? tensor]
        if (text.specs[0]!.name !== tensor.name) return []
        const given = text.specs.map(({ name }) => tensors.find((one) => one.name === name)!)
        return text.tensors(text.tokens(given))
      }),
    )
    if (texts.length === 0) return made.flat()
    const byName = new Map(made.flat().map((tensor) => [tensor.name, tensor]))
    return this.bare.inputs.map(({ name }) => byName.get(name)!)
  }

  private after(answers: readonly Tensor[]): Tensor[] {
    const { labels } = this.transforms
    return answers.flatMap((tensor) => labels.get(tensor.name)?.apply(tensor) ?? [tensor])
  }
}

function tensorsWith(
  { inputs, outputs }: ModelSignature,
  { images, texts, labels }: OpenTransforms,
): Pick<ModelSignature, 'inputs' | 'outputs'> {
  return {
    inputs: inputs.flatMap((spec) => {
      const text = texts.find((one) => one.inputs.includes(spec.name))
      if (text === undefined) return [images.get(spec.name)?.spec ?? spec]
      return text.inputs[0] === spec.name ? text.specs : []
    }),
    outputs: outputs.flatMap(
      (spec): readonly TensorSpec[] => labels.get(spec.name)?.specs ?? [spec],
    ),
  }
}

/** Objects of a model whose rows are not independent are one run. Throws INVALID_ARGUMENT where they cannot be. */
function requireEqualSizes(rows: readonly Row[], specs: readonly TensorSpec[]): void {
  for (const [r, row] of rows.entries()) {
    for (const [i, { name, shape, data }] of row.entries()) {
      const first = rows[0]![i]!
      const isEqual = shape.join() === first.shape.join()
      const isSame = itemAxisOf(specs[i]!) !== null || Buffer.compare(data, first.data) === 0
      if (isEqual && isSame) continue
      const message = `json: "${name}" of object ${r} has another ${isEqual ? 'value' : 'size'} than that of object 0; send each in a request of its own`
      throw new WeirError('INVALID_ARGUMENT', message)
    }
  }
}

/** Throws MODEL_FAILED for an output of which it is not known what belongs to which object. */
function requireRows({ name, shape }: Tensor, spec: TensorSpec, objects: number): void {
  const axis = itemAxisOf(spec)
  if (axis === null ? objects === 1 : shape[axis] === objects) return
  const remedy =
    axis === null
      ? 'send each object in a request of its own'
      : `if they are of one object, write "item-axes: { ${name}: null }" into the settings`
  const message = `json: the output "${name}" has the shape [${shape.join(', ')}] for ${objects} objects; ${remedy}`
  throw new WeirError('MODEL_FAILED', message)
}

/** The tensors of one item. */
type Row = readonly Tensor[]

/** The rows of tensors along the axes of their items. Inputs without items are the same in each row. */
function rowsOfTensors(
  tensors: readonly Tensor[],
  specs: readonly TensorSpec[],
  total: number,
): Row[] {
  return Array.from({ length: total }, (_, first) =>
    tensors.map((tensor, i) => itemsOf(tensor, specs[i]!, { first, items: 1, total })),
  )
}

/** One tensor for each of the specs: those of the rows one after the other. */
function tensorsOfRows(rows: readonly Row[], specs: readonly TensorSpec[]): readonly Tensor[] {
  return new BatchBuffer().gather(specs, rows)
}

/**
 * Runs a model whose rows are independent. Rows of equal sizes share a run: the sizes of a row follow from that row alone,
 * and so does what is answered for it, whatever comes with it.
 */
async function runRows(
  model: Pick<LoadedModel, 'run'>,
  rows: readonly Row[],
  {
    inputs,
    outputs,
  }: { readonly inputs: readonly TensorSpec[]; readonly outputs: readonly TensorSpec[] },
): Promise<Row[]> {
  const groups = new Map<string, number[]>()
  rows.forEach((row, r) => {
    const sizes = sizesOf(row, inputs)
    const group = groups.get(sizes)
    if (group === undefined) groups.set(sizes, [r])
    else group.push(r)
  })
  const answers: Row[] = []
  for (const group of groups.values()) {
    const given = tensorsOfRows(
      group.map((r) => rows[r]!),
      inputs,
    )
    const answer = await model.run(given, group.length)
    const parts = rowsOfTensors(answer, outputs, group.length)
    group.forEach((r, i) => {
      answers[r] = parts[i]!
    })
  }
  return answers
}

/** All that must be equal within a run: sizes but for that of the items, and inputs without items. */
function sizesOf(row: Row, specs: readonly TensorSpec[]): string {
  return row
    .map(({ shape, data }, i) => {
      const axis = itemAxisOf(specs[i]!)
      const content = axis === null ? Buffer.from(data).toString('latin1') : ''
      return `${shape.filter((_, d) => d !== axis).join()}:${content}`
    })
    .join(';')
}
