import { exportVersion } from '../../models/publish/transfer.ts'
import { type Command, Flags } from '../command/command.ts'
import { versionNamed } from '../flag-kinds/named.ts'
import { output } from '../flag-kinds/places.ts'
import { topicsOf } from '../flags/kafka.ts'
import { administrationOf, REGISTRY_OPTIONS } from '../flags/model-registry.ts'
import { counted } from '../text/counted.ts'

/** `weir model export`: writes a version into a file. */
export const modelExportCommand: Command = {
  name: 'model export',
  summary: 'Write the rows and the lineage of a version into a file',
  positions: [{ value: versionNamed }, { value: output() }],
  options: REGISTRY_OPTIONS,
  details: `The file has the rows as they were published, without later online learning. VERSION is as in "weir model
show".

Example:
  weir model export live als.weirmodel`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = args[1]!
    const { version } = await administrationOf(flags).named(args[0]!)
    await using topics = await topicsOf(flags)
    const rows = await exportVersion(topics, version, file)
    if (flags.boolean('json')) io.out(JSON.stringify({ file, rows, version: version.number }))
    else
      io.out(
        `exported ${counted(rows, 'row')} of version ${version.number} of ${version.name} to ${file}`,
      )
    return 0
  },
}
