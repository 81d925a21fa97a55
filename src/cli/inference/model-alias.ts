import { HIGHEST_VERSION } from '../../core/model-version.ts'
import { nodeFileSystem } from '../../files/node-file-system.ts'
import { changeAlias } from '../../inference/repository/aliases.ts'
import { type Command, Flags, UsageError } from '../command/command.ts'
import { repositoryName } from '../flag-kinds/named.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { REPOSITORY_OPTION, repositoryOf } from './flags.ts'

/** `weir model alias`: lets a name stand for a version. */
export const modelAliasCommand: Command = {
  name: 'model alias',
  summary: 'Let an alias of a model stand for a version: requests ask for NAME@ALIAS',
  positions: [
    { value: repositoryName() },
    { value: repositoryName('ALIAS', 'an alias') },
    { value: wholeNumber({ min: 1, max: HIGHEST_VERSION }, 'VERSION'), isOptional: true },
  ],
  options: {
    ...REPOSITORY_OPTION,
    remove: { type: 'boolean', help: 'Remove the alias' },
  },
  details: `A running "weir run models" keeps the versions of aliases loaded, besides the live one.

Examples:
  weir model alias digits stable 6
  weir model alias digits stable --remove`,
  run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const name = args[0]!
    const alias = args[1]!
    const text = args[2]
    const isRemoved = flags.boolean('remove')
    const version = Number(text)
    if (isRemoved !== (text === undefined)) {
      throw new UsageError('give either the VERSION or --remove')
    }
    const root = repositoryOf(flags)
    const change = { root, name, alias, version: isRemoved ? undefined : version }
    const aliases = changeAlias(nodeFileSystem, change)
    if (flags.boolean('json')) io.out(JSON.stringify({ name, aliases }))
    else io.out(isRemoved ? `removed ${name}@${alias}` : `${name}@${alias} is version ${version}`)
    return Promise.resolve(0)
  },
}
