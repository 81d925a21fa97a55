import { diffVersions } from '../../models/registry/diff.ts'
import { type Command, Flags, missingArguments } from '../command/command.ts'
import { administrationOf, REGISTRY_OPTIONS } from '../flags/model-registry.ts'

/** `weir model diff`: shows the differences of two versions. */
export const modelDiffCommand: Command = {
  name: 'model diff',
  summary: 'Show the differences of two versions: data, parameters, metrics, checks',
  usage: 'VERSION [VERSION]',
  options: REGISTRY_OPTIONS,
  details: `VERSION is as in "weir model show". The second one is the live version by default.

Example:
  weir model diff 2 3`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [left, right = 'live'] = args
    if (left === undefined) throw missingArguments(modelDiffCommand)
    const administration = administrationOf(flags)
    const { version: first } = await administration.named(left)
    const { version: second } = await administration.named(right)
    const differences = diffVersions(first, second)
    if (flags.boolean('json')) {
      for (const difference of differences) io.out(JSON.stringify(difference))
      return 0
    }
    const width = Math.max(0, ...differences.map(({ field }) => field.length))
    io.out(`${''.padEnd(width)}  version ${first.number} -> version ${second.number}`)
    for (const difference of differences) {
      io.out(`${difference.field.padEnd(width)}  ${difference.left} -> ${difference.right}`)
    }
    return 0
  },
}
