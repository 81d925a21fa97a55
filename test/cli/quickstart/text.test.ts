import { describe, expect, it } from 'vitest'
import { invitationText, reportOn } from '../../../src/cli/quickstart/text.ts'
import { recordedIo } from '../recorded-io.ts'

const INVITATION = {
  port: 9069,
  host: '127.0.0.1',
  user: '7',
  items: ['3', '1', '2', '9'],
  testFile: '.weir/held-out.data',
  range: { min: 1, max: 5 },
}

describe('the invitation', () => {
  it('suggests commands with real ids and without default flags', () => {
    expect(invitationText(INVITATION)).toEqual([
      'npm run weir -- predict 7 3 1 2',
      'npm run weir -- recommend 7 --k 5 --exclude 3',
      'npm run -s weir -- query ALS_MODEL 7-U MEAN-I --json',
      'npm run weir -- evaluate --ratings .weir/held-out.data --clip 1,5',
    ])
  })

  it('names port and host if they are not the default, and quotes for the shell', () => {
    const [predict] = invitationText({ ...INVITATION, port: 7, host: '::1', user: "o'neil" })
    expect(predict).toBe("npm run weir -- predict 'o'\\''neil' 3 1 2 --job '[::1]:7'")
  })
})

describe('a report', () => {
  it('goes to standard error if standard output is for JSON', () => {
    const { io, out, err } = recordedIo()
    reportOn(io, true)('serve', 'it')
    reportOn(io, false)('', 'more')
    expect(err).toEqual(['serve       it'])
    expect(out).toEqual(['            more'])
  })
})
