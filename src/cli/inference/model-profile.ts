import type { WeirClient } from '../../client/weir-client.ts'
import { requireArgument } from '../../core/errors.ts'
import type { ModelInfo, TensorSignature } from '../../wire/inference/models.ts'
import { DATATYPES, type RawTensor } from '../../wire/inference/tensor.ts'
import { type Command, Flags } from '../command/command.ts'
import { modelReference } from '../flag-kinds/named.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { input } from '../flag-kinds/places.ts'
import { connectToModels, MODELS_OPTIONS } from './flags.ts'
import { readInputFile } from './input-file.ts'

/** Measured runs of one size. */
export interface ProfiledSize {
  readonly items: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly itemsPerSecond: number
}

/** `weir model profile`: measures the run time of a model by the size of its batches. */
export const modelProfileCommand: Command = {
  name: 'model profile',
  summary: 'Measure how long a model of "weir run models" runs, by the number of items',
  positions: [{ value: modelReference }],
  options: {
    input: {
      type: 'string',
      value: input(),
      help: 'JSON file with the inputs of one item (default: zeros, free sizes 1)',
    },
    'max-items': {
      type: 'string',
      value: wholeNumber({ min: 1, max: 65_536 }),
      default: '64',
      help: 'Largest number of items',
    },
    runs: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 100_000 }),
      default: '50',
      help: 'Runs of each size',
    },
    ...MODELS_OPTIONS,
  },
  details: `Sizes are 1, 2, 4 and so on; requests go one by one, so each is a batch. The times are those of the
worker, without the network. A size that the model refuses ends the list.

Examples:
  weir model profile digits
  weir model profile ocr --input line.json --max-items 8 --json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const model = args[0]!
    const runs = flags.number('runs')
    const largest = flags.number('max-items')
    const file = flags.optional('input')
    const deadlineMs = flags.number('timeout')
    await using client = await connectToModels(flags)
    const info = await client.signature(model, { deadlineMs })
    const one = file === undefined ? zerosOf(info) : await readInputFile(file, info.inputs)
    for (let items = 1; items <= largest; items *= 2) {
      const inputs = one.map((tensor) => repeated(tensor, items))
      const size = await profiled(client, { model, inputs, items, runs, deadlineMs })
      if (typeof size === 'string') {
        requireArgument(items > 1, `the model refuses one item: ${size}`)
        io.err(`${items} items: ${size}`)
        return 0
      }
      io.out(flags.boolean('json') ? JSON.stringify({ model, ...size }) : lineOf(size))
    }
    return 0
  },
}

function lineOf({ items, p50Ms, p99Ms, itemsPerSecond }: ProfiledSize): string {
  return `${String(items).padStart(5)} items  p50 ${p50Ms.toFixed(3)} ms  p99 ${p99Ms.toFixed(3)} ms  ${Math.round(itemsPerSecond)} items/s`
}

interface Profiling {
  readonly model: string
  readonly inputs: readonly RawTensor[]
  readonly items: number
  readonly runs: number
  readonly deadlineMs: number
}

/** Times of one size, or why the model refuses it. The first run is not counted: it allocates. */
async function profiled(
  client: WeirClient,
  { model, inputs, items, runs, deadlineMs }: Profiling,
): Promise<ProfiledSize | string> {
  const times: number[] = []
  for (let run = 0; run <= runs; run++) {
    try {
      const { runMicros } = await client.infer(model, inputs, { deadlineMs })
      if (run > 0) times.push(runMicros / 1000)
    } catch (error) {
      if (run > 0) throw error
      return (error as Error).message
    }
  }
  times.sort((a, b) => a - b)
  const total = times.reduce((sum, time) => sum + time, 0)
  return {
    items,
    p50Ms: times[Math.floor(times.length / 2)]!,
    p99Ms: times[Math.min(times.length - 1, Math.ceil(times.length * 0.99) - 1)]!,
    itemsPerSecond: (items * times.length * 1000) / total,
  }
}

/** One item of zeros; sizes that a request chooses are 1. */
function zerosOf({ name, inputs }: ModelInfo): RawTensor[] {
  return inputs.map((tensor) => {
    const shape = sizesOf(tensor)
    const each = DATATYPES[tensor.datatype].bytes
    requireArgument(each > 0, `${name}: input "${tensor.name}" takes texts; give --input`)
    const elements = shape.reduce((count, size) => count * size, 1)
    return {
      name: tensor.name,
      datatype: tensor.datatype,
      shape,
      data: new Uint8Array(elements * each),
    }
  })
}

function sizesOf({ shape }: TensorSignature): number[] {
  return shape.map((size) => (size < 0 ? 1 : size))
}

/** The tensor with its first dimension repeated; one without dimensions, or with a fixed size, stays. */
function repeated(tensor: RawTensor, items: number): RawTensor {
  const { shape, data } = tensor
  if (items === 1 || shape.length === 0 || shape[0] !== 1) return tensor
  const all = new Uint8Array(data.length * items)
  for (let i = 0; i < items; i++) all.set(data, i * data.length)
  return { ...tensor, shape: [items, ...shape.slice(1)], data: all }
}
