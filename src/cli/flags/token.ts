import { type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import { textOfFile } from '../command/text-file.ts'
import { path } from '../flag-kinds/places.ts'
import { secret } from '../flag-kinds/words.ts'

/** The flags of the token of a client. The token itself is never on the command line. */
export const TOKEN_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  token: { type: 'string', value: secret, isSecret: true, help: 'Token of the query port' },
  'token-file': {
    type: 'string',
    value: path(),
    help: 'File with the token of the query port (or set WEIR_TOKEN)',
  },
}

/** The token of the flags, undefined without one. Throws UsageError for an empty one or a missing file. */
export function tokenOf(flags: Flags): string | undefined {
  const file = flags.optional('token-file')
  const token =
    file === undefined
      ? flags.optional('token')
      : textOfFile('--token-file', file).replace(/\r?\n$/, '')
  if (token !== '') return token
  throw new UsageError(
    `${file === undefined ? 'the token' : `--token-file: ${file}`} is empty; an empty token would let everyone in`,
  )
}

/** The flag of the file that `weir token` reads and writes. */
export const TOKENS_FILE_OPTION: Readonly<Record<string, OptionSpec>> = {
  tokens: {
    type: 'string',
    value: path(),
    default: 'tokens.json',
    help: 'File with the hashes of the tokens, the one of --tokens of a server',
  },
  file: {
    type: 'string',
    value: path(),
    parts: (text) => ({ tokens: text }),
    help: 'Older form of --tokens',
  },
}
