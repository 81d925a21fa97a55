import { systemClock } from '../core/clock.ts'
import { importVersion } from '../jobs/model-transfer.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { topicsOf } from './kafka-flags.ts'
import { adoptedState, REGISTRY_OPTIONS, registryOf } from './model-registry-flags.ts'

/** `weir model import`: a version from a file. */
export const modelImportCommand: Command = {
  name: 'model import',
  summary: 'Publish the version of an exported file as a candidate',
  usage: 'FILE',
  options: REGISTRY_OPTIONS,
  details: `The version keeps its id and lineage and gets the next free number; it goes live by "weir model promote".
A version of the same inputs that is there already is not imported again.

Example:
  weir model import als.weirmodel --data-dir other`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [file] = args
    if (file === undefined) throw new UsageError('give a file that "weir model export" wrote')
    const registry = registryOf(flags)
    await adoptedState(flags, registry)
    await using topics = await topicsOf(flags)
    const model = flags.string('model')
    const outcome = await importVersion(topics, registry, { file, model, clock: systemClock })
    const { number } = outcome.version
    if (flags.boolean('json')) io.out(JSON.stringify({ event: outcome.kind, version: number }))
    else if (outcome.kind === 'exists') {
      io.out(`version ${number} of ${model} came from the same inputs: nothing to do`)
    } else io.out(`${outcome.rows} rows as version ${number} of ${model}, a candidate`)
    return 0
  },
}
