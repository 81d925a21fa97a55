import { nodeFileSystem } from '../../files/node-file-system.ts'
import { changeAlias } from '../../inference/repository/aliases.ts'
import { type Command, Flags, missingArguments, UsageError } from '../command/command.ts'
import { REPOSITORY_OPTION, repositoryOf } from './flags.ts'

/** `weir model alias`: lets a name stand for a version. */
export const modelAliasCommand: Command = {
  name: 'model alias',
  summary: 'Let an alias of a model stand for a version: requests ask for NAME@ALIAS',
  usage: 'NAME ALIAS [VERSION]',
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
    const [name, alias, text] = args
    if (name === undefined || alias === undefined) throw missingArguments(modelAliasCommand)
    const isRemoved = flags.boolean('remove')
    const version = Number(text)
    if (isRemoved !== (text === undefined) || (!isRemoved && !/^[1-9][0-9]*$/.test(text!))) {
      throw new UsageError('give the VERSION, a whole number from 1, or --remove')
    }
    const root = repositoryOf(flags)
    const change = { root, name, alias, version: isRemoved ? undefined : version }
    const aliases = changeAlias(nodeFileSystem, change)
    if (flags.boolean('json')) io.out(JSON.stringify({ name, aliases }))
    else io.out(isRemoved ? `removed ${name}@${alias}` : `${name}@${alias} is version ${version}`)
    return Promise.resolve(0)
  },
}
