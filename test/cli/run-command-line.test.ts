import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { runCommandLine } from '../../src/cli/run-command-line.ts'
import { recordedIo } from './recorded-io.ts'

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(argv, io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

describe('weir', () => {
  it('says its version', async () => {
    const { version } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { version: string }
    expect(await run('--version')).toMatchObject({ code: 0, out: `weir ${version}` })
  })

  it('lists every verb with --help, and as an error where no verb is given', async () => {
    const help = await run('--help')
    for (const { name, summary } of COMMANDS) {
      expect(help.out).toContain(name)
      expect(help.out).toContain(summary)
    }
    const nothing = await run()
    expect(nothing).toMatchObject({ code: 2, out: '', err: help.out })
  })

  it.each(COMMANDS.map(({ name }) => name))('shows the help of %s in both ways', async (name) => {
    const words = name.split(' ')
    const after = await run(...words, '--help')
    expect(after.code).toBe(0)
    expect(after.out).toContain(`Usage: weir ${name}`)
    expect(await run('help', ...words)).toEqual(after)
  })

  it('lists the verbs of a group with help', async () => {
    const { out } = await run('help', 'topic')
    expect(out).toContain('topic consume')
    expect(out).not.toContain('quickstart')
  })

  it('says what follows a group that is given alone or wrongly', async () => {
    expect(await run('topic')).toMatchObject({
      code: 2,
      err: 'weir: weir topic is followed by list, create, produce, consume',
    })
    expect((await run('topic', 'remove')).err).toContain('not "remove"')
  })

  it('names the nearest verb', async () => {
    expect(await run('recomend', '1')).toMatchObject({ code: 2, out: '' })
    expect((await run('recomend', '1')).err).toContain('did you mean "recommend"?')
    expect((await run('train', 'asl')).err).toContain('followed by als')
  })
})
