import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { jsonOfRaw } from '../../wire/inference/json-tensor.ts'
import { stringifyExactly } from '../../wire/inference/json-values.ts'
import type { TensorSignature } from '../../wire/inference/models.ts'
import type { RawTensor } from '../../wire/inference/tensor.ts'
import {
  type InferResult,
  type OutputTensor,
  rawTensorOf,
} from '../../wire/inference/typed-tensor.ts'
import { type Command, Flags, UsageError } from '../command/command.ts'
import { modelReference } from '../flag-kinds/named.ts'
import { milliseconds, wholeNumber } from '../flag-kinds/numbers.ts'
import { input } from '../flag-kinds/places.ts'
import { anyText } from '../flag-kinds/words.ts'
import { connectToModels, MODELS_OPTIONS } from './flags.ts'
import { plainInputs, readInputFile } from './input-file.ts'

/** Elements of an output that are shown as text. */
const SHOWN = 10

/** `weir infer`: runs a served model on the inputs of a file. */
export const inferCommand: Command = {
  name: 'infer',
  summary: 'Run a model of "weir run models" on the inputs of a JSON file, on texts or on images',
  positions: [
    { value: modelReference },
    { value: anyText('TEXT|FILE'), isOptional: true, isRepeated: true },
  ],
  options: {
    input: { type: 'string', value: input(), help: 'JSON file with the inputs' },
    version: {
      type: 'string',
      value: wholeNumber({ min: 1, max: HIGHEST_VERSION }),
      help: 'Version (default: the live one)',
    },
    deadline: {
      type: 'string',
      value: milliseconds(),
      help: 'Time in which the model must answer (default: its latency goal)',
    },
    ...MODELS_OPTIONS,
  },
  details: `MODEL is a name, or a name and an alias: digits@stable. The file holds values by input, {"x": [[0.5, 1]]},
or a body of the Open Inference Protocol, {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data":
[0.5, 1]}]}. A model with one input of bytes takes it as it is: a model with a tokenizer takes each TEXT, one of pairs
two for each item, one with json each object, and any other, such as one that decodes images, the content of each FILE.
A file that has the name of a text is not read. The exit status is 1 when the model does not answer.

Examples:
  weir infer digits --input digit.json
  weir infer photo-model cat.jpg
  weir infer text-model "a text" "another text"
  weir infer reranker "a question" "a passage" "a question" "another passage"
  weir infer digits@stable --input digit.json --deadline 20 --json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const model = args[0]!
    const given = args.slice(1)
    const file = flags.optional('input')
    if ((file === undefined) === (given.length === 0)) {
      throw new UsageError(
        'give --input FILE, or texts or files for a model that takes them as they are',
      )
    }
    const version = flags.optionalNumber('version')
    const deadlineMs = flags.optionalNumber('deadline')
    await using client = await connectToModels(flags)
    const { inputs } = await client.signature(model, { deadlineMs: flags.number('timeout') })
    const result = await client.infer(model, await inputsOfFiles(file, given, inputs), {
      ...(version === undefined ? {} : { version }),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    })
    if (flags.boolean('json')) io.out(stringifyExactly(jsonOf(model, result)))
    else for (const line of textOf(model, result)) io.out(line)
    return 0
  },
}

/** The inputs of a JSON file, or texts and files as they are. */
const inputsOfFiles = (
  file: string | undefined,
  given: readonly string[],
  inputs: readonly TensorSignature[],
): Promise<RawTensor[]> =>
  file === undefined ? plainInputs(given, inputs) : readInputFile(file, inputs)

function jsonOf(model: string, { outputs, modelVersion, ...facts }: InferResult) {
  return {
    model,
    version: modelVersion,
    ...facts,
    outputs: outputs.map((output) => ({ ...output, data: elementsOf(output) })),
  }
}

function textOf(model: string, result: InferResult): string[] {
  const { modelVersion, queueMicros, runMicros, batchItems, isDefault, isCached, reason } = result
  const how = isDefault
    ? `default, ${reason}`
    : isCached
      ? 'from the cache'
      : `batch of ${batchItems}`
  return [
    `${model} version ${modelVersion}: ${how}, waited ${(queueMicros / 1000).toFixed(2)} ms, ran ${(runMicros / 1000).toFixed(2)} ms`,
    ...result.outputs.map((output) => {
      const elements = elementsOf(output)
      const more = elements.length > SHOWN ? ` ... (${elements.length} elements)` : ''
      const { name, datatype, shape } = output
      return `${name}  ${datatype} [${shape.join(', ')}]  ${elements.slice(0, SHOWN).join(' ')}${more}`
    }),
  ]
}

/** Elements as JSON has them. */
const elementsOf = (output: OutputTensor): unknown[] => jsonOfRaw(rawTensorOf(output))
