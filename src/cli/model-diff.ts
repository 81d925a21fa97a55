import { diffVersions } from '../models/registry-diff.ts'
import { type Command, Flags, UsageError } from './command.ts'
import { REGISTRY_OPTIONS, registryOf, versionNamed } from './model-registry-flags.ts'

/** `weir model diff`: in what two versions differ. */
export const modelDiffCommand: Command = {
  name: 'model diff',
  summary: 'Show in what two versions differ: data, parameters, metrics, checks',
  usage: 'VERSION [VERSION]',
  options: REGISTRY_OPTIONS,
  details: `The second version is the live one unless another is named.

Example:
  weir model diff 2 3`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const [left, right = 'live'] = args
    if (left === undefined) throw new UsageError('give one or two versions')
    const registry = registryOf(flags)
    const { version: first } = await versionNamed(flags, registry, left)
    const { version: second } = await versionNamed(flags, registry, right)
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
