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
    // A long summary goes on in the next line.
    const text = help.out.replaceAll(/\s+/g, ' ')
    for (const { name, summary } of COMMANDS) expect(text).toContain(`${name} ${summary}`)
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

  it.each([
    [['--json', 'topic', 'list', 'more']],
    [['topic', '--json', 'list', 'more']],
    [['--data-dir', 'list', 'topic', 'list', 'more']],
  ])('takes flags before and within a verb: %j', async (words) => {
    const { err, code } = await run(...words)
    expect(code).toBe(2)
    // The command was found: what is wrong is the word behind it.
    expect(err).toContain('Usage: weir topic list')
  })

  it.each([
    [['topics'], 'topic list'],
    [['topics', 'list'], 'topic list'],
    [['topic', 'lst'], 'topic list'],
    [['model', 'ls'], 'model list'],
    [['models', 'remove'], 'model drop'],
    [['token', 'rm'], 'token revoke'],
    [['topic', 'cat'], 'topic consume'],
    [['cluster', 'down'], 'cluster stop'],
  ])('guesses what %j means', async (words, meant) => {
    expect((await run(...words)).err).toMatch(new RegExp(`did you mean "(weir )?${meant}"\\?`))
  })

  it('prints help within 80 columns, in groups', async () => {
    const help = await run('--help')
    expect(help.out).toContain('\nTopics:\n  topic list')
    for (const words of [[], ['learn', 'als'], ['run'], ['train', 'als'], ['gateway']]) {
      const { out } = await run(...words, '--help')
      const long = out.split('\n').filter((line) => line.length > 80 && / /.test(line.trim()))
      expect(long).toEqual([])
    }
  })

  it.each([
    [['topic', 'nonsense', '--json'], 'INVALID_ARGUMENT'],
    [['topic', 'list', '--json', '--nonsense'], 'INVALID_ARGUMENT'],
    [['log', 'check', '--data-dir', '/nowhere', '--json'], expect.any(String)],
  ])('prints the error of %j as JSON', async (words, code) => {
    const { out, err } = await run(...words)
    expect(out).toBe('')
    expect(JSON.parse(err)).toMatchObject({ error: { code, message: expect.any(String) } })
  })

  it('suggests the most similar verb', async () => {
    expect(await run('recomend', '1')).toMatchObject({ code: 2, out: '' })
    expect((await run('recomend', '1')).err).toContain('did you mean "recommend"?')
    expect((await run('train', 'asl')).err).toContain('expected als')
  })
})
