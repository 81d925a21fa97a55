import { changeTokens, readTokens } from '../../http/access/tokens-on-disk.ts'
import { type Command, Flags, UsageError } from '../command/command.ts'
import { tokenId } from '../flag-kinds/named.ts'
import { TOKENS_FILE_OPTION } from '../flags/token.ts'

/** `weir token revoke`: removes tokens from a file. */
export const tokenRevokeCommand: Command = {
  name: 'token revoke',
  summary: 'Remove tokens from a file, by their ids',
  positions: [{ value: tokenId, isRepeated: true }],
  options: TOKENS_FILE_OPTION,
  details: `The id of a token is its second part: weir_ID_... Servers that use the file refuse the token about a second
later, and close its connections.

Example:
  weir token revoke 0a1b2c3d4e5f --tokens tokens.json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const file = flags.string('tokens')
    const records = readTokens(file)
    const unknown = args.find((id) => !records.some((record) => record.id === id))
    // The word may be a whole token, which must not be repeated.
    if (unknown !== undefined) {
      throw new UsageError(`${file} has no token with this id; "weir token list" shows the ids`)
    }
    const kept = await changeTokens(file, (all) => all.filter(({ id }) => !args.includes(id)))
    if (flags.boolean('json')) io.out(JSON.stringify({ revoked: args, left: kept.length, file }))
    else io.err(`revoked ${args.join(', ')}; ${kept.length} left in ${file}`)
    return 0
  },
}
