import { systemClock } from '../../core/clock.ts'
import { dropVersion } from '../../models/retention/drop-version.ts'
import { type Command, Flags } from '../command/command.ts'
import { versionNamed } from '../flag-kinds/named.ts'
import { topicsOf } from '../flags/kafka.ts'
import { administrationOf, REGISTRY_OPTIONS, registryOf } from '../flags/model-registry.ts'
import { counted } from '../text/counted.ts'

/** `weir model drop`: deletes the rows of a version. */
export const modelDropCommand: Command = {
  name: 'model drop',
  summary: 'Delete the rows of a version, or what an interrupted publication has left',
  positions: [{ value: versionNamed }],
  options: {
    ...REGISTRY_OPTIONS,
    'publisher-gone': {
      type: 'boolean',
      help: 'The process that published the version on another machine has ended',
    },
  },
  details: `Jobs drop the version at once and free its memory; the log frees the disk when it is compacted. VERSION is as in
"weir model show". Refused are the live version, the one that a rollback makes live, and one whose publisher runs. The
record of the version stays, as retired.

Example:
  weir model drop 4`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const word = args[0]!
    const model = flags.string('model')
    const administration = administrationOf(flags)
    await administration.register()
    await using topics = await topicsOf(flags)
    const { number, rows, wasDropped } = await dropVersion({
      ...{ topics, model, word, clock: systemClock, registry: registryOf(flags) },
      isGone: flags.boolean('publisher-gone'),
      versions: await administration.all(),
    })
    if (flags.boolean('json')) io.out(JSON.stringify({ model, version: number, rows, wasDropped }))
    else if (wasDropped) io.out(`version ${number} of ${model} was dropped before: nothing to do`)
    else io.out(`dropped version ${number} of ${model}: ${counted(rows, 'row')} deleted`)
    return 0
  },
}
