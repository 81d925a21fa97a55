import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
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
  it('prints its version', async () => {
    const { version } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { version: string }
    expect(await run('--version')).toMatchObject({ code: 0, out: `weir ${version}` })
  })

  it('lists every verb with --help, and as an error if no verb is given', async () => {
    const help = await run('--help')
    for (const { name, summary } of COMMANDS) {
      expect(help.out).toContain(name)
      expect(help.out).toContain(summary)
    }
    const nothing = await run()
    expect(nothing).toMatchObject({ code: 2, out: '', err: help.out })
  })

  it.each(COMMANDS.map(({ name }) => name))(
    'shows the help of %s in both ways, with an example',
    async (name) => {
      const words = name.split(' ')
      const after = await run(...words, '--help')
      expect(after.code).toBe(0)
      expect(after.out).toContain(`Usage: weir ${name}`)
      expect(after.out, 'an example').toMatch(new RegExp(`^ {2}(\\S.* )?weir ${name}\\b`, 'm'))
      expect(await run('help', ...words)).toEqual(after)
    },
  )

  it('lists the verbs of a group with help', async () => {
    const { out } = await run('help', 'topic')
    expect(out).toContain('topic consume')
    expect(out).not.toContain('quickstart')
    for (const flag of ['--help', '-h']) {
      expect(await run('topic', flag)).toMatchObject({ code: 0, out, err: '' })
    }
  })

  it('lists the subcommands of a group when one is missing or unknown', async () => {
    expect(await run('topic')).toMatchObject({
      code: 2,
      err: 'weir: missing subcommand for "weir topic"; expected list, create, produce, consume',
    })
    expect((await run('topic', 'remove')).err).toContain(
      'unknown subcommand "remove" for "weir topic"',
    )
  })

  it('refuses an argument that the command does not take', async () => {
    for (const words of [
      ['topic', 'list', 'foo'],
      ['run', 'als-serving', 's'],
      ['train', 'als', 'u'],
    ]) {
      expect(await run(...words)).toMatchObject({
        code: 2,
        err: expect.stringContaining(`unexpected argument "${words.at(-1)}". Usage: weir`),
      })
    }
  })

  it('ends a command that waits as soon as Ctrl-C comes', async () => {
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const { io, err } = recordedIo({ interrupted: Promise.resolve() })
    expect(await runCommandLine(['predict', '1', '2', '--port', String(port)], io)).toBe(130)
    expect(err).toEqual(['weir: interrupted'])
    silent.close()
  })

  it('suggests the most similar verb', async () => {
    expect(await run('recomend', '1')).toMatchObject({ code: 2, out: '' })
    expect((await run('recomend', '1')).err).toContain('did you mean "recommend"?')
    expect((await run('train', 'asl')).err).toContain('expected als')
  })
})
