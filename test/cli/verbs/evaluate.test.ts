import { describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { recordedIo } from '../recorded-io.ts'

describe('weir evaluate', () => {
  it.each(['5', '5,1', 'low,high'])('refuses the range %s without a server', async (range) => {
    const { io, err } = recordedIo()
    const words = ['evaluate', '--ratings', import.meta.filename, '--port', '1', '--clip', range]
    expect(await runCommandLine(words, io)).toBe(2)
    expect(err.join('\n')).toContain(`--clip must be MIN,MAX such as 1,5, not "${range}"`)
  })

  it.each([
    [['--protocol', 'weak'], '--protocol must be one of strong, not "weak"'],
    [['--protocol', 'strong', '--top', '10'], '--protocol and --top exclude each other'],
    [['--protocol', 'strong', '--fold-in', '1'], '--fold-in must be a share'],
    [['--fold-in', '0.5'], '--fold-in needs --protocol'],
    [['--relevant-from', '4'], '--relevant-from needs --top or --protocol'],
  ])('refuses %j without a server', async (flags, message) => {
    const { io, err } = recordedIo()
    const words = ['evaluate', '--ratings', import.meta.filename, '--port', '1', ...flags]
    expect(await runCommandLine(words, io)).toBe(2)
    expect(err.join('\n')).toContain(message)
  })
})
