import { printable } from '../../core/text/printable.ts'
import type { ModelInfo } from '../../wire/inference/models.ts'
import { type Command, Flags } from '../command/command.ts'
import { modelReference } from '../flag-kinds/named.ts'
import { bytesText } from '../text/bytes.ts'
import { connectToModels, lineOf, MODELS_OPTIONS } from './flags.ts'

/** `weir model status`: shows the models of a running process. */
export const modelStatusCommand: Command = {
  name: 'model status',
  summary: 'Show the models of "weir run models": versions, states, inputs and outputs',
  positions: [{ value: modelReference, isOptional: true }],
  options: MODELS_OPTIONS,
  details: `Examples:
  weir model status
  weir model status digits --json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    await using client = await connectToModels(flags)
    const [name] = args
    const options = { deadlineMs: flags.number('timeout') }
    const models =
      name === undefined ? await client.models(options) : [await client.signature(name, options)]
    if (models.length === 0) io.err('the repository has no models; add one with "weir model push"')
    for (const model of models) {
      io.out(flags.boolean('json') ? JSON.stringify(model) : lineOf(model))
      if (flags.boolean('json')) continue
      for (const problem of model.problems) io.out(`  problem: ${printable(problem)}`)
      if (model.batching !== '') io.out(`  ${model.batching}`)
      if (model.statistics['shared'] === 1) io.out('  shares a thread with other small models')
      for (const device of model.devices ?? []) io.out(`  ${printable(device)}`)
      const memory = memoryLineOf(model)
      if (memory !== undefined) io.out(`  ${memory}`)
      for (const direction of ['inputs', 'outputs'] as const) {
        for (const tensor of model[direction]) {
          const what = direction === 'inputs' ? 'in ' : 'out'
          io.out(`  ${what} ${tensor.name}  ${tensor.datatype} [${tensor.shape.join(', ')}]`)
        }
      }
    }
    return 0
  },
}

/** Where the process has a limit of memory: what the model takes, and whether it is in memory now. */
function memoryLineOf({ statistics }: ModelInfo): string | undefined {
  const { memoryBytes = 0, resident, loads = 0, loadMs = 0, evictions } = statistics
  if (memoryBytes === 0) return undefined
  const place = resident === 1 ? 'in memory' : 'evicted'
  const mean =
    loads === 0 ? '' : `, loaded again ${loads} times in ${(loadMs / loads).toFixed(1)} ms`
  return `memory ${bytesText(memoryBytes)}, ${place}; ${evictions} evictions${mean}`
}
