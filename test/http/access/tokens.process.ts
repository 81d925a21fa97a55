import { changeTokens } from '../../../src/http/access/tokens-on-disk.ts'
import { tokenOf } from './tokens.ts'

/* Main module of a process that adds tokens to a file, one after the other. */

const [file = '', first = '0', count = '0'] = process.argv.slice(2)
for (let i = 0; i < Number(count); i++) {
  const { record } = tokenOf(Number(first) + i)
  await changeTokens(file, (records) => [...records, record])
}
