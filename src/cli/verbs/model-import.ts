import { systemClock } from '../../core/clock.ts'
import { importVersion } from '../../models/publish/transfer.ts'
import { type Command, Flags } from '../command/command.ts'
import { input } from '../flag-kinds/places.ts'
import { topicsOf } from '../flags/kafka.ts'
import { KEY_LENGTH_OPTION, maxKeyBytesOf } from '../flags/key-length.ts'
import { administrationOf, REGISTRY_OPTIONS, registryOf } from '../flags/model-registry.ts'
import { counted } from '../text/counted.ts'

/** `weir model import`: publishes the version of a file. */
export const modelImportCommand: Command = {
  name: 'model import',
  summary: 'Publish the version of an exported file as a candidate',
  positions: [{ value: input() }],
  options: { ...KEY_LENGTH_OPTION, ...REGISTRY_OPTIONS },
  details: `FILE is a file that "weir model export" wrote. The version keeps its id and lineage and gets the next free
number. "weir model promote" makes it live. If a version with the same inputs exists, nothing is
imported.

Example:
  weir model import als.weirmodel --data-dir other`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = args[0]!
    const registry = registryOf(flags)
    await administrationOf(flags).register()
    await using topics = await topicsOf(flags)
    const model = flags.string('model')
    const outcome = await importVersion(topics, registry, {
      file,
      model,
      clock: systemClock,
      maxKeyBytes: maxKeyBytesOf(flags),
      onWarning: (warning) => io.err(warning),
    })
    const { number } = outcome.version
    if (flags.boolean('json')) io.out(JSON.stringify({ event: outcome.kind, version: number }))
    else if (outcome.kind === 'exists') {
      io.out(`version ${number} of ${model} has the same inputs: nothing to do`)
    } else
      io.out(
        `imported ${counted(outcome.rows, 'row')} as version ${number} of ${model}, a candidate`,
      )
    return 0
  },
}
