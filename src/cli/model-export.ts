import { exportVersion } from '../jobs/model-transfer.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { topicsOf } from './kafka-flags.ts'
import { REGISTRY_OPTIONS, registryOf, versionNamed } from './model-registry-flags.ts'

/** `weir model export`: a version in a file. */
export const modelExportCommand: Command = {
  name: 'model export',
  summary: "Write a version's rows and lineage into a file",
  usage: 'VERSION FILE',
  options: REGISTRY_OPTIONS,
  details: `Rows are exported as they were published, without what was learned online since. VERSION is as in "weir
model show".

Example:
  weir model export live als.weirmodel`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [word, file] = args
    if (word === undefined || file === undefined) throw new UsageError('give a version and a file')
    const { version } = await versionNamed(flags, registryOf(flags), word)
    await using topics = await topicsOf(flags)
    const rows = await exportVersion(topics, version, file)
    if (flags.boolean('json')) io.out(JSON.stringify({ file, rows, version: version.number }))
    else io.out(`${rows} rows of version ${version.number} of ${version.name} in ${file}`)
    return 0
  },
}
